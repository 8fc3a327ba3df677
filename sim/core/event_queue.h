// Queue of one kind of engine events: a sorted array of the next events, and a heap of the later ones.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/time.h"

namespace verbatim {

// Phase classes order the events of one instant. The order is part of the model: classes that free a
// resource run before classes that request it, and programs run last, after all hardware events of the
// instant.
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
  // Times are not negative. The key is compared as one number, without an unpredictable branch.
  friend constexpr bool operator<(const EventKey& a, const EventKey& b) { return a.number() < b.number(); }

 private:
  constexpr unsigned __int128 number() const {
    return static_cast<unsigned __int128>(static_cast<std::uint64_t>(to_ps(when))) << 64 | order;
  }
};

// Base of an event; it is in at most one queue at a time.
struct Queueable {
  static constexpr std::uint32_t kIdle = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t slot = kIdle;  // its index in the queue's slots_
};

class EventQueue {
 public:
  struct Entry {  // holds a copy of the key: comparisons stay within the queue's own cache lines
    EventKey key;
    std::uint32_t slot;
  };
  static_assert(sizeof(Entry) == 24);

  bool empty() const { return near_count_ == 0; }
  // The next event; the queue must not be empty.
  const Entry& front() const { return near_[near_count_ - 1]; }
  Queueable& front_event() const { return *slots_[front().slot].event; }
  // Whether many events are scheduled.
  bool is_large() const { return far_.size() >= kLarge; }
  // The event with `before` events ahead of it; null: it is not in the sorted array.
  Queueable* upcoming(std::size_t before) const {
    return before < near_count_ ? slots_[near_[near_count_ - 1 - before].slot].event : nullptr;
  }

  // The event must be idle.
  void insert(EventKey key, Queueable& event) {
    const Entry entry{key, take_slot(event)};
    if (near_count_ == kNearEvents || !far_.empty()) return insert_among(entry);
    insert_near(entry);
  }
  // The event must be in this queue.
  void remove(Queueable& event);
  // Removes the next event.
  void pop() {
    give_back_slot(front().slot);
    if (--near_count_ < kLeastNear && !far_.empty()) refill();
  }

  // Calls visit(entry) for events before `limit`, in no particular order. visit() returns the new limit,
  // which may be earlier; events at or after it are not visited. Returns the last limit.
  template <class Visit>
  Instant for_each_before(Instant limit, Visit visit) const {
    for (std::size_t i = near_count_; i > 0 && near_[i - 1].key.when < limit; --i) limit = visit(near_[i - 1]);
    // Descendants of a heap entry are not earlier than the entry.
    const auto visit_heap = [&](const auto& self, std::size_t at) -> void {
      if (at >= far_.size() || far_[at].key.when >= limit) return;
      limit = visit(far_[at]);
      for (std::size_t child = kArity * at + 1; child <= kArity * at + kArity; ++child) self(self, child);
    };
    visit_heap(visit_heap, 0);
    return limit;
  }

 private:
  static constexpr std::uint32_t kNear = std::numeric_limits<std::uint32_t>::max();

  // A scheduled event. Events are scattered in memory, so a move within the heap updates this slot and not
  // the event.
  struct Slot {
    Queueable* event = nullptr;
    std::uint32_t place = kNear;  // index in the heap; kNear: in the array
  };

  std::uint32_t take_slot(Queueable& event) {
    if (free_slots_.empty()) [[unlikely]] add_slot();
    event.slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[event.slot].event = &event;
    return event.slot;
  }
  void add_slot();
  void give_back_slot(std::uint32_t slot) {
    slots_[slot].event->slot = Queueable::kIdle;
    free_slots_.push_back(slot);
  }
  void insert_near(const Entry& entry) {
    Entry* at = near_.data() + near_count_;
    for (; at > near_.data() && at[-1].key < entry.key; --at) at[0] = at[-1];
    *at = entry;
    ++near_count_;
    slots_[entry.slot].place = kNear;
  }
  // For a full array or a non-empty heap: inserts into the array or the heap.
  void insert_among(const Entry& entry);
  void insert_far(const Entry& entry);
  void remove_far(std::uint32_t hole);
  // Moves the next events from the heap, which is not empty, to the array, which has fewer than kLeastNear.
  void refill();
  void sift_up(std::uint32_t index, const Entry& entry);
  void sift_down(std::uint32_t index, const Entry& entry);
  std::uint32_t least_child(std::uint32_t first, std::uint32_t size) const;
  void place(std::uint32_t index, const Entry& entry) {
    far_[index] = entry;
    slots_[entry.slot].place = index;
  }

  // The next events, the very next at the end, and a 4-ary heap of the later ones. With few scheduled
  // events, or for an event of the near future, a few comparisons find its place in the array, and it never
  // enters the heap. The array is empty only if nothing is scheduled, and has at least kLeastNear events if
  // that many are scheduled.
  static constexpr std::size_t kNearEvents = 48, kRefilledNear = 24, kLeastNear = 18;
  static constexpr std::size_t kLarge = 512;
  std::array<Entry, kNearEvents> near_;
  std::size_t near_count_ = 0;
  static constexpr std::uint32_t kArity = 4;
  std::vector<Entry> far_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
};

}  // namespace verbatim
