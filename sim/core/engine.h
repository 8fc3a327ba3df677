// The event engine: executes timers in a total order made of simulated facts only,
// (time, phase class, source component, per-source number). No pointer, hash or construction order takes part,
// and a tie is impossible because the last two numbers name one scheduling call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/check.h"
#include "sim/core/event_queue.h"
#include "sim/core/ids.h"
#include "sim/core/time.h"

namespace verbatim {

class Engine;

inline constexpr int kPrefetchSteps = 7;  // see Timer::with_prefetch()

// A timer is a member of the component that it wakes. Destroying or cancelling it removes it from the
// queue.
class Timer : private Queueable {
 public:
  // `callback(void* owner)` must not capture anything.
  template <class Callback>
  Timer(Engine& engine, ComponentId source, EventClass event_class, void* owner, Callback)
      : Timer(engine, source, event_class, owner, kKindOf<Callback>) {}

  // Timer t = Timer::of<&Port::on_transmit_done>(engine, id, EventClass::kTransmitDone, this);
  template <auto Method, class Owner>
  static Timer of(Engine& engine, ComponentId source, EventClass event_class, Owner* owner) {
    return Timer(engine, source, event_class, owner, [](void* p) { (static_cast<Owner*>(p)->*Method)(); });
  }
  // As of(), with cache hints: Owner::Prefetch(step) is called some events ahead, with steps 0 …
  // kPrefetchSteps - 1. Each step prefetches the memory whose addresses are in the memory of earlier steps.
  // Results do not depend on it.
  template <auto Method, auto Prefetch, class Owner>
  static Timer with_prefetch(Engine& engine, ComponentId source, EventClass event_class, Owner* owner) {
    return Timer(engine, source, event_class, owner, kPrefetchedKind<Method, Prefetch, Owner>);
  }

  ~Timer() { cancel(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // The timer must be idle; `when` must not be in the past.
  void schedule_at(Instant when);
  void schedule_after(Duration delay);
  // As schedule_at(), but an already scheduled timer is moved.
  void reschedule_at(Instant when) {
    cancel();
    schedule_at(when);
  }
  void cancel();
  bool scheduled() const { return slot != kIdle; }
  Instant when() const {
    CHECK(scheduled());
    return when_;
  }

 private:
  friend class Engine;

  struct Kind {
    void (*callback)(void* owner);
    void (*prefetch)(void* owner, int step);  // null: none
  };
  template <class Callback>
  static constexpr Kind kKindOf{[](void* owner) { Callback{}(owner); }, nullptr};
  template <auto Method, auto Prefetch, class Owner>
  static constexpr Kind kPrefetchedKind{[](void* owner) { (static_cast<Owner*>(owner)->*Method)(); },
                                        [](void* owner, int step) { (static_cast<Owner*>(owner)->*Prefetch)(step); }};
  Timer(Engine& engine, ComponentId source, EventClass event_class, void* owner, const Kind& kind);

  Engine& engine_;
  const std::uint64_t order_;  // key without the per-source number
  Instant when_{};
  void* owner_;
  const Kind* kind_;
};
static_assert(sizeof(Timer) <= 48);

class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Instant now() const { return now_; }
  std::uint64_t events_executed() const { return events_executed_; }

  bool empty() const { return hardware_.empty() && programs_.empty(); }
  // Time of the next event, kNever when there is none.
  Instant next_event_time() const {
    return empty() ? kNever : (a_program_is_next() ? programs_ : hardware_).front().key.when;
  }

  // Calls visit(when, event_class, source) for scheduled events before `limit`, in no particular order: for
  // results that do not depend on the order, such as a minimum. visit() returns the new limit, which may be
  // earlier; events at or after it are not visited. Returns the last limit. The first function visits all
  // classes but kProgram, the second one kProgram alone.
  template <class Visit>
  Instant for_each_hardware_event_before(Instant limit, Visit visit) const {
    return for_each_before(hardware_, limit, visit);
  }
  template <class Visit>
  Instant for_each_program_event_before(Instant limit, Visit visit) const {
    return for_each_before(programs_, limit, visit);
  }

  // Runs work early, when no component can observe the difference: while an Ahead exists, now() is a later
  // instant, and events are scheduled relative to it. Aheads do not nest.
  class Ahead {
   public:
    // `now` must not be in the past.
    Ahead(Engine& engine, Instant now) : engine_(engine), before_(engine.now_) {
      CHECK(now >= before_);
      engine_.now_ = now;
      engine_.earliest_inserted_ = kNever;
    }
    ~Ahead() { engine_.now_ = before_; }
    Ahead(const Ahead&) = delete;
    Ahead& operator=(const Ahead&) = delete;

    // Time of the earliest event scheduled during this Ahead; kNever: none.
    Instant earliest_scheduled() const { return engine_.earliest_inserted_; }

   private:
    Engine& engine_;
    const Instant before_;
  };

  // Whether an event of `timer` at the current instant would have run before the event being executed.
  bool has_passed(const Timer& timer) const { return timer.order_ < current_order_; }

  // Executes the next event; false when there is none.
  bool step();
  // Executes every event up to and including `end`; afterwards now() == end.
  void run_until(Instant end);
  // Executes until no event is left.
  void run() {
    while (step()) {
    }
  }

 private:
  friend class Timer;
  template <class Visit>
  static Instant for_each_before(const EventQueue& queue, Instant limit, Visit visit) {
    return queue.for_each_before(limit, [&](const EventQueue::Entry& entry) {
      return visit(entry.key.when, entry.key.event_class(), entry.key.source());
    });
  }

  void add_source(ComponentId source);
  // The queue with the next event; null: no event is scheduled.
  EventQueue* next_queue() {
    if (programs_.empty()) [[likely]] return hardware_.empty() ? nullptr : &hardware_;
    return a_program_is_next() ? &programs_ : &hardware_;
  }
  // The queue must not be empty.
  void execute_next(EventQueue& queue);
  // A large fabric exceeds the processor's caches: memory of upcoming events is prefetched while earlier
  // events are executed.
  void prefetch_next(const EventQueue& queue);
  void insert(Timer& timer, Instant when);
  void remove(Timer& timer) { queue_of(timer).remove(timer); }
  EventQueue& queue_of(const Timer& timer) {
    return EventKey{{}, timer.order_}.event_class() == EventClass::kProgram ? programs_ : hardware_;
  }
  // At least one queue must not be empty.
  bool a_program_is_next() const {
    if (programs_.empty()) return false;
    return hardware_.empty() || programs_.front().key < hardware_.front().key;
  }

  Instant now_{};
  std::uint64_t events_executed_ = 0;
  std::uint64_t current_order_ = 0;  // key of the timer whose event is being executed
  Instant earliest_inserted_ = kNever;  // since the last Ahead was made
  // Separate queues, so that a search among hardware events does not visit thousands of programs.
  EventQueue hardware_;
  EventQueue programs_;
  // Per source, so that unrelated components never shift each other's keys.
  std::vector<std::uint64_t> next_numbers_;
};

inline void Engine::insert(Timer& timer, Instant when) {
  CHECK(!timer.scheduled());
  CHECK(when >= now_);
  const std::uint64_t number = ++next_numbers_[EventKey{{}, timer.order_}.source().value];
  CHECK(number < (1ull << EventKey::kNumberBits));
  const EventKey key{when, timer.order_ | number};
  timer.when_ = when;
  if (when < earliest_inserted_) [[unlikely]]
    earliest_inserted_ = when;
  queue_of(timer).insert(key, timer);
}

inline void Timer::schedule_at(Instant when) { engine_.insert(*this, when); }
inline void Timer::schedule_after(Duration delay) { engine_.insert(*this, engine_.now() + delay); }
inline void Timer::cancel() {
  if (scheduled()) engine_.remove(*this);
}

// Names of all components, sorted; a component's id is its index. Built once, before the first component.
class ComponentTable {
 public:
  explicit ComponentTable(std::vector<std::string> names);

  // `name` must be in the table.
  ComponentId id(std::string_view name) const;
  const std::string& name(ComponentId id) const { return names_.at(id.value); }
  std::size_t size() const { return names_.size(); }

 private:
  std::vector<std::string> names_;
};

}  // namespace verbatim
