#include "sim/core/engine.h"

#include <algorithm>

namespace verbatim {

namespace {
constexpr std::uint32_t kArity = 4;
constexpr int kNumberBits = 40;
constexpr int kSourceBits = 20;
}  // namespace

Timer::Timer(Engine& engine, ComponentId source, EventClass event_class, void* owner, Callback callback)
    : engine_(engine),
      order_(static_cast<std::uint64_t>(event_class) << (kSourceBits + kNumberBits) |
             static_cast<std::uint64_t>(source.value) << kNumberBits),
      source_(source),
      event_class_(event_class),
      owner_(owner),
      callback_(callback) {
  engine.add_source(source);
}

void Engine::add_source(ComponentId source) {
  CHECK(source.value < (1u << kSourceBits));
  if (next_numbers_.size() <= source.value) next_numbers_.resize(source.value + 1);
}

void Engine::insert(Timer& timer, Instant when) {
  CHECK(!timer.scheduled());
  CHECK(when >= now_);
  const std::uint64_t number = ++next_numbers_[timer.source_.value];
  CHECK(number < (1ull << kNumberBits));
  const EventKey key{when, timer.order_ | number};
  if (front_is_spent_) {
    front_is_spent_ = false;
    sift_down(0, key, &timer);
    return;
  }
  heap_.emplace_back();
  sift_up(static_cast<std::uint32_t>(heap_.size() - 1), key, &timer);
}

void Engine::remove(Timer& timer) {
  const std::uint32_t hole = timer.heap_index_;
  CHECK(hole < heap_.size() && heap_[hole].timer == &timer);
  timer.heap_index_ = Timer::kIdle;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (last.timer == &timer) return;
  if (hole > 0 && last.key < heap_[(hole - 1) / kArity].key) {
    sift_up(hole, last.key, last.timer);
  } else {
    sift_down(hole, last.key, last.timer);
  }
}

void Engine::sift_up(std::uint32_t index, EventKey key, Timer* timer) {
  while (index > 0) {
    const std::uint32_t parent = (index - 1) / kArity;
    if (!(key < heap_[parent].key)) break;
    place(index, heap_[parent].key, heap_[parent].timer);
    index = parent;
  }
  place(index, key, timer);
}

std::uint32_t Engine::least_child(std::uint32_t first, std::uint32_t size) const {
  static_assert(kArity == 4);
  const auto lesser = [this](std::uint32_t a, std::uint32_t b) { return heap_[b].key < heap_[a].key ? b : a; };
  if (first + kArity <= size) [[likely]] return lesser(lesser(first, first + 1), lesser(first + 2, first + 3));
  std::uint32_t least = first;
  for (std::uint32_t child = first + 1; child < size; ++child) least = lesser(least, child);
  return least;
}

void Engine::sift_down(std::uint32_t index, EventKey key, Timer* timer) {
  const auto size = static_cast<std::uint32_t>(heap_.size());
  for (std::uint32_t first = index * kArity + 1; first < size; first = index * kArity + 1) {
    const std::uint32_t least = least_child(first, size);
    if (!(heap_[least].key < key)) break;
    place(index, heap_[least].key, heap_[least].timer);
    index = least;
  }
  place(index, key, timer);
}

void Engine::drop_front() {
  front_is_spent_ = false;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) sift_down(0, last.key, last.timer);
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
  if (heap_.empty()) return false;
  execute_front();
  return true;
}

void Engine::execute_front() {
  CHECK(!front_is_spent_);
  const Entry& front = heap_.front();
  Timer& timer = *front.timer;
  CHECK(front.key.when >= now_);
  now_ = front.key.when;
  timer.heap_index_ = Timer::kIdle;
  front_is_spent_ = true;
  ++events_executed_;
  check_context = {to_ps(now_), timer.source_.value};
  timer.callback_(timer.owner_);
  if (front_is_spent_) drop_front();
}

void Engine::run_until(Instant end) {
  CHECK(end >= now_ && !front_is_spent_);
  while (!heap_.empty() && heap_.front().key.when <= end) execute_front();
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
