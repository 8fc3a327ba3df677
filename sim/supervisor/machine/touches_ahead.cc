#include "sim/supervisor/machine/touches_ahead.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "verbs_shim/protocol/touches.h"

namespace verbatim::supervisor {

std::size_t TouchesAhead::most(std::span<const PlannedTouch> touches) {
  std::size_t count = 0, bytes = 0;
  for (const PlannedTouch& touch : touches) {
    bytes += touch.length;
    if (count == protocol::kMostTouches || bytes > protocol::kTouchedBytes) break;
    ++count;
  }
  return count;
}

Instant TouchesAhead::list(ProcessRegion& region, std::span<const PlannedTouch> touches) {
  if (touches.empty() && listed_.empty()) return kNever;
  protocol::TouchList& list = region.touches();
  listed_.assign(touches.begin(), touches.end());
  offsets_.clear();
  done_ = 0;
  std::uint32_t offset = 0;
  for (std::size_t i = 0; i < listed_.size(); ++i) {
    PlannedTouch& touch = listed_[i];
    const bool is_write = touch.written != nullptr;
    list.touches[i] = {to_ps(touch.when), touch.address, touch.length, offset, is_write ? 1u : 0u, 0};
    if (is_write) std::memcpy(list.bytes + offset, touch.written, touch.length);
    offsets_.push_back(offset);
    offset += touch.length;
  }
  list.done = 0;
  list.count = static_cast<std::uint32_t>(listed_.size());
  return next();
}

bool TouchesAhead::collect(ProcessRegion& region) {
  if (done_ == listed_.size()) return true;
  const protocol::TouchList& list = region.touches();
  const std::uint32_t done = list.done;
  if (done < done_ || done > listed_.size()) return false;
  for (; done_ < done; ++done_) {
    const PlannedTouch& touch = listed_[done_];
    const auto* const bytes = reinterpret_cast<const std::byte*>(list.bytes + offsets_[done_]);
    std::vector<std::byte> read;
    if (touch.written == nullptr) read.assign(bytes, bytes + touch.length);
    done_ahead_.push_back({touch, std::move(read)});
  }
  return true;
}

TouchesAhead::Done* TouchesAhead::find(Instant now, host::ProgramAddress address, std::size_t length, bool is_write) {
  // The adapter has dropped touches whose time has passed.
  while (!done_ahead_.empty() && done_ahead_.front().touch.when < now) done_ahead_.pop_front();
  if (done_ahead_.empty()) return nullptr;
  Done& done = done_ahead_.front();
  const PlannedTouch& touch = done.touch;
  const bool is_same = touch.when == now && touch.address == address && touch.length == length;
  return is_same && (touch.written != nullptr) == is_write ? &done : nullptr;
}

bool TouchesAhead::take_read(Instant now, host::ProgramAddress from, std::span<std::byte> to) {
  const Done* const done = find(now, from, to.size(), false);
  if (done == nullptr) return false;
  std::ranges::copy(done->bytes, to.begin());
  done_ahead_.pop_front();
  return true;
}

bool TouchesAhead::take_write(Instant now, host::ProgramAddress to, std::size_t length) {
  if (find(now, to, length, true) == nullptr) return false;
  done_ahead_.pop_front();
  return true;
}

}  // namespace verbatim::supervisor
