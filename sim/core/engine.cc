#include "sim/core/engine.h"

#include <algorithm>
#include <utility>

namespace verbatim {

namespace {
constexpr int kNumberBits = EventKey::kNumberBits;
constexpr int kSourceBits = EventKey::kSourceBits;
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
  timer.key_ = key;
  if (near_count_ == kNearEvents || !far_.empty()) [[unlikely]]
    return insert_among(key, &timer);
  insert_near(key, &timer);
}

inline void Engine::insert_near(EventKey key, Timer* timer) {
  Entry* at = near_.data() + near_count_;
  for (; at > near_.data() && at[-1].key < key; --at) at[0] = at[-1];
  *at = {key, timer};
  ++near_count_;
  timer->place_ = Timer::kNear;
}

void Engine::insert_among(EventKey key, Timer* timer) {
  if (near_count_ == kNearEvents) {
    const Entry latest = near_[0];
    if (!(key < latest.key)) return insert_far(key, timer);
    // Its latest makes room.
    insert_far(latest.key, latest.timer);
    std::copy(near_.begin() + 1, near_.end(), near_.begin());
    --near_count_;
  } else if (insert_behind_far(key, timer)) {
    return;
  }
  insert_near(key, timer);
}

bool Engine::insert_behind_far(EventKey key, Timer* timer) {
  if (!front_is_spent_) {
    if (far_.empty() || key < far_.front().key) return false;
    insert_far(key, timer);
    return true;
  }
  if (far_.size() == 1) return false;
  const std::uint32_t least = least_child(1, static_cast<std::uint32_t>(far_.size()));
  if (key < far_[least].key) return false;
  front_is_spent_ = false;
  place(0, far_[least].key, far_[least].timer);
  sift_down(least, key, timer);
  return true;
}

void Engine::insert_far(EventKey key, Timer* timer) {
  if (std::exchange(front_is_spent_, false)) return sift_down(0, key, timer);
  far_.emplace_back();
  sift_up(static_cast<std::uint32_t>(far_.size() - 1), key, timer);
}

void Engine::remove(Timer& timer) {
  const std::uint32_t place = std::exchange(timer.place_, Timer::kIdle);
  if (place != Timer::kNear) return remove_far(place);
  std::size_t at = near_count_;
  do {
    CHECK(at > 0);
    --at;
  } while (near_[at].timer != &timer);
  std::copy(near_.begin() + static_cast<std::ptrdiff_t>(at) + 1,
            near_.begin() + static_cast<std::ptrdiff_t>(near_count_), near_.begin() + static_cast<std::ptrdiff_t>(at));
  if (--near_count_ == 0) refill();
}

void Engine::remove_far(std::uint32_t hole) {
  CHECK(hole < far_.size());
  const Entry last = far_.back();
  far_.pop_back();
  if (hole == far_.size()) return;
  if (hole > 0 && last.key < far_[(hole - 1) / kArity].key) {
    sift_up(hole, last.key, last.timer);
  } else {
    sift_down(hole, last.key, last.timer);
  }
}

void Engine::refill() {
  if (std::exchange(front_is_spent_, false)) remove_far(0);
  if (far_.empty()) return;
  if (far_.size() > kNearEvents / 2) {
    insert_near(far_.front().key, far_.front().timer);
    front_is_spent_ = true;
    return;
  }
  for (const Entry& entry : far_) insert_near(entry.key, entry.timer);
  far_.clear();
}

void Engine::sift_up(std::uint32_t index, EventKey key, Timer* timer) {
  while (index > 0) {
    const std::uint32_t parent = (index - 1) / kArity;
    if (!(key < far_[parent].key)) break;
    place(index, far_[parent].key, far_[parent].timer);
    index = parent;
  }
  place(index, key, timer);
}

std::uint32_t Engine::least_child(std::uint32_t first, std::uint32_t size) const {
  static_assert(kArity == 4);
  const auto lesser = [this](std::uint32_t a, std::uint32_t b) { return far_[b].key < far_[a].key ? b : a; };
  if (first + kArity <= size) [[likely]] return lesser(lesser(first, first + 1), lesser(first + 2, first + 3));
  std::uint32_t least = first;
  for (std::uint32_t child = first + 1; child < size; ++child) least = lesser(least, child);
  return least;
}

void Engine::sift_down(std::uint32_t index, EventKey key, Timer* timer) {
  const auto size = static_cast<std::uint32_t>(far_.size());
  for (std::uint32_t first = index * kArity + 1; first < size; first = index * kArity + 1) {
    const std::uint32_t least = least_child(first, size);
    if (!(far_[least].key < key)) break;
    place(index, far_[least].key, far_[least].timer);
    index = least;
  }
  place(index, key, timer);
}

bool Engine::step() {
  if (empty()) return false;
  execute_next();
  return true;
}

void Engine::execute_next() {
  const Entry& next = near_[near_count_ - 1];
  Timer& timer = *next.timer;
  CHECK(next.key.when >= now_);
  now_ = next.key.when;
  timer.place_ = Timer::kIdle;
  if (--near_count_ == 0) refill();
  ++events_executed_;
  current_order_ = timer.order_;
  check_context = {to_ps(now_), timer.source_.value};
  timer.callback_(timer.owner_);
}

void Engine::run_until(Instant end) {
  CHECK(end >= now_);
  while (next_event_time() <= end) execute_next();
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
