// Queue of one kind of engine events. The next events are in a sorted array, later ones in a wheel of buckets, each
// of which covers a span of time, and those beyond the wheel in a heap. A bucket is sorted when its time is near, so
// an event costs about the same however many are scheduled. With few events there is only the array.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
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
  std::uint32_t slot = kIdle;  // its place in the queue
};

class EventQueue {
 public:
  struct Entry {  // holds a copy of the key: comparisons stay within the queue's own cache lines
    EventKey key;
    Queueable* event;
  };
  static_assert(sizeof(Entry) == 24);

  bool empty() const { return near_begin_ == near_end_; }
  // The next event; the queue must not be empty.
  const Entry& front() const { return near_[near_begin_]; }
  // Whether many events are scheduled.
  bool is_large() const { return behind_count_ >= kLarge; }
  // The sorted events, the next one first; usually at least kLeastNear if the queue is large.
  std::span<const Entry> upcoming() const { return {near_.data() + near_begin_, near_end_ - near_begin_}; }

  // The event must be idle.
  void insert(EventKey key, Queueable& event) {
    if (bucket_of(key) >= first_bucket_) return insert_behind(key, event);
    insert_near(key, event);
  }
  // The event must be in this queue.
  void remove(Queueable& event);
  // Removes the next event.
  void pop() {
    front().event->slot = Queueable::kIdle;
    ++near_begin_;
    keep_near();
  }

  // Calls visit(entry) for events before `limit`, in no particular order. visit() returns the new limit, which may be
  // earlier; later events are not visited. Returns the last limit.
  template <class Visit>
  Instant for_each_before(Instant limit, Visit visit) const;

 private:
  static constexpr std::uint32_t kNear = Queueable::kIdle - 1;   // in Queueable::slot: the event is in the array
  static constexpr std::uint32_t kNone = Queueable::kIdle;       // no slot
  static constexpr std::uint32_t kInHeap = Queueable::kIdle - 1;  // in Slot::next: the event is in the heap
  static constexpr std::uint64_t kNoBucket = std::numeric_limits<std::uint64_t>::max();

  // An event behind the array. Events are scattered in memory, so links between the events of a bucket and moves
  // within the heap change slots only.
  struct Slot {
    EventKey key;
    Queueable* event = nullptr;
    std::uint32_t next = kNone;      // of the bucket, or of the free slots
    std::uint32_t previous = kNone;  // of the bucket; in the heap: the place
  };
  static_assert(sizeof(Slot) == 32);

  // Buckets in a circle, from first_bucket_ on.
  struct Wheel {
    static constexpr std::size_t kBuckets = 1024;
    static constexpr std::size_t kWordBits = 64;

    Wheel() { heads.fill(kNone); }
    // The first bucket from `from` on that is not empty, if it is before `end`; `end` otherwise.
    std::uint64_t find(std::uint64_t from, std::uint64_t end) const;

    std::array<std::uint32_t, kBuckets> heads;                     // slots
    std::array<std::uint64_t, kBuckets / kWordBits> occupied{};  // a bit for each bucket
  };

  struct HeapEntry {
    EventKey key;
    std::uint32_t slot;
  };

  std::uint64_t bucket_of(const EventKey& key) const { return static_cast<std::uint64_t>(to_ps(key.when)) >> bucket_bits_; }

  // The array.
  void insert_near(EventKey key, Queueable& event);
  void insert_among_many(EventKey key, Queueable& event);
  // Number of its entries before the key.
  std::size_t count_before(const EventKey& key) const;
  // Moves all but the first events into buckets, unless they are of nearly one instant.
  void spill();
  // Makes room for an entry behind the array's last one.
  void reserve_near() {
    if (near_end_ == near_.size()) [[unlikely]] move_near();
  }
  void move_near();
  void keep_near() {
    const std::size_t left = near_end_ - near_begin_;
    if (left < kLeastNear && behind_count_ != 0 && (left == 0 || is_large())) refill();
  }
  // Moves whole buckets to the array until it has what it needs.
  void refill();
  // The first bucket that has events in the wheel or the heap, which are not both empty.
  std::uint64_t next_bucket() const;
  // Moves the events of the first bucket that has any to the end of the array and sorts them there.
  void take_bucket(std::uint64_t bucket);
  // Changes the span of buckets if they have held too many events, or the wheel ends too early.
  void judge_buckets();

  // Events behind the array.
  void insert_behind(EventKey key, Queueable& event);
  void put_behind(std::uint32_t slot);
  std::uint32_t take_slot();
  void give_back_slot(std::uint32_t slot) {
    slots_[slot].next = free_slot_;
    free_slot_ = slot;
  }
  void unlink(std::uint32_t slot);
  // No event is behind the array.
  void leave_buckets() {
    first_bucket_ = kNoBucket;
    last_bucket_ = 0;
  }
  // Changes the span of buckets and moves the events in them. `first` becomes the first bucket: the array has all
  // earlier events and no others.
  void set_buckets(int bits, std::uint64_t first);

  // The heap.
  void insert_far(const HeapEntry& entry);
  void remove_far(std::uint32_t hole);
  void sift_up(std::uint32_t index, const HeapEntry& entry);
  void sift_down(std::uint32_t index, const HeapEntry& entry);
  std::uint32_t least_child(std::uint32_t first, std::uint32_t size) const;
  void place(std::uint32_t index, const HeapEntry& entry) {
    far_[index] = entry;
    slots_[entry.slot].previous = index;
  }

  static constexpr std::size_t kFewNear = 12;      // with so few entries a search takes longer than moves
  static constexpr std::size_t kLeastNear = 18;    // least entries of the array of a large queue
  static constexpr std::size_t kRefilledNear = 24;
  static constexpr std::size_t kMostNear = 64;     // most entries, unless they are of nearly one instant
  static constexpr std::size_t kKeptNear = 16;     // entries that spill() leaves
  // With fewer events their memory mostly stays in the caches, and prefetching costs more than it saves.
  static constexpr std::size_t kLarge = 3000;
  static constexpr std::uint32_t kArity = 4;

  // Entries from near_begin_ to near_end_ by key: all events of the buckets before first_bucket_. Empty only when nothing is
  // scheduled.
  std::vector<Entry> near_;
  std::size_t near_begin_ = 0, near_end_ = 0;
  std::size_t spill_size_ = kMostNear;  // with so many entries spill() is tried
  std::uint64_t first_bucket_ = kNoBucket;
  std::uint64_t last_bucket_ = 0;  // no event of the wheel is in a later one
  int bucket_bits_ = 0;            // a bucket covers 2^bucket_bits_ ps
  std::size_t behind_count_ = 0;   // events in the wheel and the heap
  std::unique_ptr<Wheel> wheel_;   // null: not needed yet
  std::vector<Slot> slots_;
  std::uint32_t free_slot_ = kNone;
  std::vector<HeapEntry> far_;  // 4-ary heap, the least first
  // For judge_buckets(), since the buckets got their span: events moved to the array, those of them that were in the
  // heap, and buckets in a row with too many events.
  std::size_t refilled_ = 0, refilled_from_heap_ = 0, crowded_buckets_ = 0;
};

template <class Visit>
Instant EventQueue::for_each_before(Instant limit, Visit visit) const {
  for (std::size_t i = near_begin_; i < near_end_ && near_[i].key.when < limit; ++i) limit = visit(near_[i]);
  if (behind_count_ != far_.size()) {  // the wheel is not empty
    const std::uint64_t end = last_bucket_ + 1;
    for (std::uint64_t bucket = wheel_->find(first_bucket_, end); bucket < end; bucket = wheel_->find(bucket + 1, end)) {
      if (instant_from_ps(static_cast<std::int64_t>(bucket << bucket_bits_)) >= limit) break;
      for (std::uint32_t slot = wheel_->heads[bucket % Wheel::kBuckets]; slot != kNone; slot = slots_[slot].next) {
        if (slots_[slot].key.when < limit) limit = visit(Entry{slots_[slot].key, slots_[slot].event});
      }
    }
  }
  // Descendants of a heap entry are not earlier than the entry.
  const auto visit_heap = [&](const auto& self, std::size_t at) -> void {
    if (at >= far_.size() || far_[at].key.when >= limit) return;
    limit = visit(Entry{far_[at].key, slots_[far_[at].slot].event});
    for (std::size_t child = kArity * at + 1; child <= kArity * at + kArity; ++child) self(self, child);
  };
  visit_heap(visit_heap, 0);
  return limit;
}

}  // namespace verbatim
