// The event engine: executes timers in a total order made of simulated facts only,
// (time, phase class, source component, per-source number). No pointer, hash or construction order takes part,
// and a tie is impossible because the last two numbers name one scheduling call.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/check.h"
#include "sim/core/ids.h"
#include "sim/core/time.h"

namespace verbatim {

// Phase classes order the events of one instant. The order is part of the model: what frees a resource comes
// before what asks for it, and programs run last, after everything the hardware does at that instant.
enum class EventClass : std::uint8_t { kCredit, kArrival, kTransmitDone, kDma, kStage, kTimeout, kSupervisor, kProgram };

struct EventKey {
  Instant when{};
  static constexpr int kSourceBits = 20;
  static constexpr int kNumberBits = 40;
  std::uint64_t order = 0;  // class (4 bits), source (20 bits), per-source number (40 bits)

  constexpr EventClass event_class() const { return static_cast<EventClass>(order >> (kSourceBits + kNumberBits)); }
  constexpr ComponentId source() const {
    return ComponentId{static_cast<std::uint32_t>(order >> kNumberBits & ((1u << kSourceBits) - 1))};
  }
  // Times are not negative. Compared as one number, without a branch that the processor would have to guess.
  friend constexpr bool operator<(const EventKey& a, const EventKey& b) { return a.number() < b.number(); }

 private:
  constexpr unsigned __int128 number() const {
    return static_cast<unsigned __int128>(static_cast<std::uint64_t>(to_ps(when))) << 64 | order;
  }
};

class Engine;

// A timer is a member of the component it wakes. Destroying or cancelling it takes it off the queue.
class Timer {
 public:
  using Callback = void (*)(void* owner);

  Timer(Engine& engine, ComponentId source, EventClass event_class, void* owner, Callback callback);

  // Timer t = Timer::of<&Port::on_transmit_done>(engine, id, EventClass::kTransmitDone, this);
  template <auto Method, class Owner>
  static Timer of(Engine& engine, ComponentId source, EventClass event_class, Owner* owner) {
    return Timer(engine, source, event_class, owner, [](void* p) { (static_cast<Owner*>(p)->*Method)(); });
  }

  ~Timer() { cancel(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // The timer must be idle; `when` must not lie in the past.
  void schedule_at(Instant when);
  void schedule_after(Duration delay);
  // Like schedule_at, but an already scheduled timer is moved.
  void reschedule_at(Instant when) {
    cancel();
    schedule_at(when);
  }
  void cancel();
  bool scheduled() const { return place_ != kIdle; }
  Instant when() const {
    CHECK(scheduled());
    return key_.when;
  }

 private:
  friend class Engine;
  static constexpr std::uint32_t kIdle = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t kNear = kIdle - 1;  // else its place in the heap

  Engine& engine_;
  const std::uint64_t order_;  // of its keys, all but the number
  EventKey key_{};
  const ComponentId source_;
  std::uint32_t place_ = kIdle;
  const EventClass event_class_;
  void* owner_;
  Callback callback_;
};

class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Instant now() const { return now_; }
  std::uint64_t events_executed() const { return events_executed_; }

  bool empty() const { return near_count_ == 0; }
  // Time of the next event, kNever when there is none.
  Instant next_event_time() const { return empty() ? kNever : near_[near_count_ - 1].key.when; }

  // Calls visit(when, event_class, source) for scheduled events before `limit`, in no particular order: for questions
  // about the future whose answer does not depend on the order, such as a minimum. visit() returns the new limit, which may
  // be earlier; what lies behind it is not visited. Returns the last limit.
  template <class Visit>
  Instant for_each_before(Instant limit, Visit visit) const {
    const auto visit_entry = [&](const Entry& entry) {
      limit = visit(entry.key.when, entry.key.event_class(), entry.key.source());
    };
    for (std::size_t i = near_count_; i > 0 && near_[i - 1].key.when < limit; --i) visit_entry(near_[i - 1]);
    // What lies below an event of the heap does not come before it.
    const auto visit_heap = [&](const auto& self, std::size_t at) -> void {
      if (at >= far_.size() || far_[at].key.when >= limit) return;
      if (at > 0 || !front_is_spent_) visit_entry(far_[at]);
      for (std::size_t child = kArity * at + 1; child <= kArity * at + kArity; ++child) self(self, child);
    };
    visit_heap(visit_heap, 0);
    return limit;
  }

  // Whether an event of `timer` at this very time would have come before the one that is being executed.
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
  struct Entry {  // the key is kept beside the pointer: comparisons stay within the queue's own cache lines
    EventKey key;
    Timer* timer;
  };

  void add_source(ComponentId source);
  void execute_next();
  void insert(Timer& timer, Instant when);
  void insert_near(EventKey key, Timer* timer);
  // Into the array or the heap, when the array is full or the heap is not empty.
  void insert_among(EventKey key, Timer* timer);
  void insert_far(EventKey key, Timer* timer);
  void remove(Timer& timer);
  void remove_far(std::uint32_t hole);
  // Where an event belongs that comes behind one of the heap; false for another, which goes nowhere.
  bool insert_behind_far(EventKey key, Timer* timer);
  // Moves the next event from the heap to the empty array, or all when they are few.
  void refill();
  void sift_up(std::uint32_t index, EventKey key, Timer* timer);
  void sift_down(std::uint32_t index, EventKey key, Timer* timer);
  std::uint32_t least_child(std::uint32_t first, std::uint32_t size) const;
  void place(std::uint32_t index, EventKey key, Timer* timer) {
    far_[index] = {key, timer};
    timer->place_ = index;
  }

  Instant now_{};
  std::uint64_t events_executed_ = 0;
  std::uint64_t current_order_ = 0;  // of the timer whose event is being executed
  // The next events, the very next at the end, and a 4-ary heap of those behind them. Where little is scheduled, or for
  // shortly after, a few comparisons put an event where it belongs in the array, and it never sees the heap. The array is
  // empty only when nothing is scheduled.
  static constexpr std::size_t kNearEvents = 24;
  std::array<Entry, kNearEvents> near_;
  std::size_t near_count_ = 0;
  static constexpr std::uint32_t kArity = 4;
  std::vector<Entry> far_;
  // The heap's front has gone to the array. The next that comes to the heap takes its place, which costs one descent
  // where removing and adding would cost two.
  bool front_is_spent_ = false;
  std::vector<std::uint64_t> next_numbers_;  // per source, so unrelated components never shift each other's keys
};

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
