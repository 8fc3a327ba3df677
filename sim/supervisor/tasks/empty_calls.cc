#include "sim/supervisor/tasks/empty_calls.h"

#include <algorithm>
#include <utility>

namespace verbatim::supervisor {

bool EmptyCall::is_still_empty() const {
  for (std::size_t i = 0; i < files.size(); ++i) {
    const VirtualFilePtr file = files[i].lock();
    if (file == nullptr || file->wait_queue.generation() != generations[i]) return false;
  }
  return repeats;
}

std::uint32_t known_places(const KnownCalls& known) {
  std::uint32_t places = 0;
  for (std::size_t i = 0; i < known.size(); ++i)
    places |= static_cast<std::uint32_t>(known[i] != nullptr) << i;
  return places;
}

std::size_t EmptyCalls::place_of(const PendingCall& call) const {
  const auto same = std::ranges::find_if(calls_, [&](const EmptyCall& other) {
    return other.call.number == call.number &&
           protocol::ask_the_same(call.number, call.arguments, other.call.arguments);
  });
  return static_cast<std::size_t>(same - calls_.begin());
}

bool EmptyCalls::add(const PendingCall& call, bool is_empty) {
  if (!is_empty) {
    calls_.clear();
    oldest_ = 0;
    return false;
  }
  const std::size_t place = place_of(call);
  const bool again = place != calls_.size();
  if (again) {
    last_ = place;
  } else if (calls_.size() < protocol::kMostKnownCalls) {
    last_ = calls_.size();
    calls_.emplace_back();
  } else {
    last_ = std::exchange(oldest_, (oldest_ + 1) % calls_.size());
  }
  calls_[last_] = EmptyCall{.call = call};
  return again;
}

std::uint32_t EmptyCalls::keep_result(std::int64_t result, Duration slept, std::vector<std::uint8_t> memory,
                                      const std::vector<VirtualFilePtr>& files) {
  EmptyCall& call = calls_.at(last_);
  call.result = result;
  call.slept = slept;
  call.memory = std::move(memory);
  for (const VirtualFilePtr& file : files) {
    call.files.push_back(file);
    call.generations.push_back(file->wait_queue.generation());
  }
  call.repeats = true;
  const auto place = static_cast<std::uint32_t>(last_ + 1);
  return known_places(still_empty(protocol::kAllKnownCalls)) | place << protocol::kKeptAtShift;
}

KnownCalls EmptyCalls::still_empty(std::uint32_t places) const {
  KnownCalls known{};
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    if ((places >> i & 1) != 0 && calls_[i].is_still_empty()) known[i] = &calls_[i];
  }
  return known;
}

}  // namespace verbatim::supervisor
