#include "sim/core/engine.h"

#include <algorithm>

namespace verbatim {

namespace {
constexpr std::uint32_t kArity = 4;
constexpr int kNumberBits = 40;
constexpr int kSourceBits = 20;
}  // namespace

void Engine::insert(Timer& timer, Instant when) {
  CHECK(!timer.scheduled());
  CHECK(when >= now_);
  const std::uint32_t source = timer.source_.value;
  CHECK(source < (1u << kSourceBits));
  if (next_numbers_.size() <= source) next_numbers_.resize(source + 1);
  const std::uint64_t number = ++next_numbers_[source];
  CHECK(number < (1ull << kNumberBits));
  timer.key_.when = when;
  timer.key_.order = (static_cast<std::uint64_t>(timer.event_class_) << (kSourceBits + kNumberBits)) |
                     (static_cast<std::uint64_t>(source) << kNumberBits) | number;
  if (front_is_spent_) {
    front_is_spent_ = false;
    sift_down(0, Entry{timer.key_, &timer});
    return;
  }
  heap_.emplace_back();
  sift_up(static_cast<std::uint32_t>(heap_.size() - 1), Entry{timer.key_, &timer});
}

void Engine::remove(Timer& timer) {
  const std::uint32_t hole = timer.heap_index_;
  CHECK(hole < heap_.size() && heap_[hole].timer == &timer);
  timer.heap_index_ = Timer::kIdle;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (last.timer == &timer) return;
  if (hole > 0 && last.key < heap_[(hole - 1) / kArity].key) {
    sift_up(hole, last);
  } else {
    sift_down(hole, last);
  }
}

void Engine::sift_up(std::uint32_t index, Entry entry) {
  while (index > 0) {
    const std::uint32_t parent = (index - 1) / kArity;
    if (!(entry.key < heap_[parent].key)) break;
    place(index, heap_[parent]);
    index = parent;
  }
  place(index, entry);
}

void Engine::sift_down(std::uint32_t index, Entry entry) {
  const auto size = static_cast<std::uint32_t>(heap_.size());
  while (true) {
    const std::uint32_t first = index * kArity + 1;
    if (first >= size) break;
    const std::uint32_t end = std::min(first + kArity, size);
    std::uint32_t least = first;
    for (std::uint32_t child = first + 1; child < end; ++child) {
      if (heap_[child].key < heap_[least].key) least = child;
    }
    if (!(heap_[least].key < entry.key)) break;
    place(index, heap_[least]);
    index = least;
  }
  place(index, entry);
}

void Engine::drop_front() {
  front_is_spent_ = false;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) sift_down(0, last);
}

Instant Engine::next_event_time() const {
  if (!front_is_spent_) return heap_.empty() ? kNever : heap_.front().key.when;
  Instant next = kNever;
  for (std::size_t i = 1; i < std::min<std::size_t>(heap_.size(), 1 + kArity); ++i) {
    next = std::min(next, heap_[i].key.when);
  }
  return next;
}

bool Engine::step() {
  CHECK(!front_is_spent_);
  if (heap_.empty()) return false;
  Timer& timer = *heap_.front().timer;
  CHECK(timer.key_.when >= now_);
  now_ = timer.key_.when;
  timer.heap_index_ = Timer::kIdle;
  front_is_spent_ = true;
  ++events_executed_;
  check_context = {to_ps(now_), timer.source_.value};
  timer.callback_(timer.owner_);
  if (front_is_spent_) drop_front();
  return true;
}

void Engine::run_until(Instant end) {
  CHECK(end >= now_);
  while (next_event_time() <= end) step();
  now_ = end;
}

ComponentTable::ComponentTable(std::vector<std::string> names) : names_(std::move(names)) {
  std::sort(names_.begin(), names_.end());
  CHECK(std::adjacent_find(names_.begin(), names_.end()) == names_.end());
}

ComponentId ComponentTable::id(std::string_view name) const {
  const auto it = std::lower_bound(names_.begin(), names_.end(), name);
  CHECK(it != names_.end() && *it == name);
  return ComponentId{static_cast<std::uint32_t>(it - names_.begin())};
}

}  // namespace verbatim
