#include "sim/core/engine.h"

#include <algorithm>

namespace verbatim {

namespace {
constexpr int kNumberBits = EventKey::kNumberBits;
constexpr int kSourceBits = EventKey::kSourceBits;
}  // namespace

Timer::Timer(Engine& engine, ComponentId source, EventClass event_class, void* owner, const Kind& kind)
    : engine_(engine),
      order_(static_cast<std::uint64_t>(event_class) << (kSourceBits + kNumberBits) |
             static_cast<std::uint64_t>(source.value) << kNumberBits),
      owner_(owner),
      kind_(&kind) {
  engine.add_source(source);
}

void Engine::add_source(ComponentId source) {
  CHECK(source.value < (1u << kSourceBits));
  if (next_numbers_.size() <= source.value) next_numbers_.resize(source.value + 1);
}

bool Engine::step() {
  EventQueue* const queue = next_queue();
  if (queue == nullptr) return false;
  execute_next(*queue);
  return true;
}

void Engine::execute_next(EventQueue& queue) {
  Timer& timer = static_cast<Timer&>(*queue.front().event);
  const Instant when = queue.front().key.when;
  CHECK(when >= now_);
  now_ = when;
  queue.pop();
  if (queue.is_large()) prefetch_next(queue);
  ++events_executed_;
  current_order_ = timer.order_;
  check_context = {to_ps(now_), EventKey{{}, timer.order_}.source().value};
  timer.kind_->callback(timer.owner_);
}

void Engine::prefetch_next(const EventQueue& queue) {
  // In events: between two prefetch steps, and from the last step to the event.
  constexpr std::size_t kDistance = 2;
  constexpr std::size_t kFirst = kDistance * (kPrefetchSteps + 1);
  const std::span<const EventQueue::Entry> upcoming = queue.upcoming();
  if (upcoming.size() <= kFirst) return;
  __builtin_prefetch(upcoming[kFirst].event, 1);
  for (std::size_t step = 0; step < kPrefetchSteps; ++step) {
    const auto* const timer = static_cast<const Timer*>(upcoming[kDistance * (kPrefetchSteps - step)].event);
    if (timer->kind_->prefetch != nullptr) timer->kind_->prefetch(timer->owner_, static_cast<int>(step));
  }
}

void Engine::run_until(Instant end) {
  CHECK(end >= now_);
  for (EventQueue* queue = next_queue(); queue != nullptr && queue->front().key.when <= end; queue = next_queue()) {
    execute_next(*queue);
  }
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
