#include "sim/core/event_queue.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/core/check.h"

namespace verbatim {

namespace {
constexpr int kLeastBucketBits = 6;
constexpr int kMostBucketBits = 44;
}  // namespace

std::uint64_t EventQueue::Wheel::find(std::uint64_t from, std::uint64_t end) const {
  while (from < end) {
    const std::size_t place = from % kBuckets;
    const std::uint64_t rest = occupied[place / kWordBits] >> place % kWordBits;
    if (rest != 0) return std::min(end, from + static_cast<std::uint64_t>(std::countr_zero(rest)));
    from += kWordBits - place % kWordBits;
  }
  return end;
}

// The key is passed in registers: an entry stored in parts and then loaded as a whole waits for the stores.
void EventQueue::insert_near(EventKey key, Queueable& event) {
  event.slot = kNear;
  Entry* const begin = near_.data() + near_begin_;
  const std::size_t count = near_end_ - near_begin_;
  if (count > kFewNear || near_begin_ == 0) [[unlikely]] return insert_among_many(key, event);
  // Most events are among the next ones, so the few before it move.
  Entry* at = begin;
  for (const Entry* const end = begin + count; at != end && at->key < key; ++at) at[-1] = *at;
  at[-1].key = key;
  at[-1].event = &event;
  --near_begin_;
}

void EventQueue::insert_among_many(EventKey key, Queueable& event) {
  if (near_end_ - near_begin_ >= spill_size_) [[unlikely]] {
    spill();
    if (bucket_of(key) >= first_bucket_) return insert_behind(key, event);
  }
  const std::size_t before = count_before(key);
  const std::size_t count = near_end_ - near_begin_;
  if (count < spill_size_ / 4) spill_size_ = std::max(kMostNear, spill_size_ / 2);
  if (near_begin_ > 0 && before <= count / 2) {
    Entry* const begin = near_.data() + near_begin_--;
    std::copy(begin, begin + before, begin - 1);
    begin[static_cast<std::ptrdiff_t>(before) - 1] = {key, &event};
    return;
  }
  reserve_near();
  Entry* const at = near_.data() + near_begin_ + before;
  std::copy_backward(at, near_.data() + near_end_, near_.data() + near_end_ + 1);
  *at = {key, &event};
  ++near_end_;
}

// Halves the range without branches that depend on keys, which the processor could not predict.
std::size_t EventQueue::count_before(const EventKey& key) const {
  const Entry* const begin = near_.data() + near_begin_;
  const Entry* from = begin;
  std::size_t rest = near_end_ - near_begin_;
  while (rest > 0) {
    const std::size_t half = (rest + 1) / 2;
    from += from[half - 1].key < key ? half : 0;
    rest -= half;
  }
  return static_cast<std::size_t>(from - begin);
}

void EventQueue::move_near() {
  constexpr std::size_t kRoomBefore = 32, kLeastSize = 256;
  const std::size_t used = near_end_ - near_begin_;
  std::vector<Entry> larger;
  const bool grows = 2 * (kRoomBefore + used) > near_.size();
  if (grows) larger.resize(std::max(kLeastSize, 4 * (kRoomBefore + used)));
  std::copy(near_.begin() + static_cast<std::ptrdiff_t>(near_begin_), near_.begin() + static_cast<std::ptrdiff_t>(near_end_),
            (grows ? larger : near_).begin() + kRoomBefore);
  if (grows) near_ = std::move(larger);
  near_begin_ = kRoomBefore;
  near_end_ = kRoomBefore + used;
}

void EventQueue::spill() {
  const Entry* const begin = near_.data() + near_begin_;
  const std::size_t count = near_end_ - near_begin_;
  // The span of a bucket is such that it holds about four events of the first half.
  const std::int64_t span = to_ps(begin[count / 2].key.when) - to_ps(begin[0].key.when);
  const std::int64_t fitting = std::max<std::int64_t>(span * 8 / static_cast<std::int64_t>(count), 1);
  int bits = std::clamp(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(fitting))), kLeastBucketBits, kMostBucketBits);
  const auto bucket_at = [](const Entry& entry, int width) { return static_cast<std::uint64_t>(to_ps(entry.key.when)) >> width; };
  const auto kept_with = [&](int width) {
    const std::uint64_t last = bucket_at(begin[kKeptNear], width);
    return static_cast<std::size_t>(
        std::partition_point(begin, begin + count, [&](const Entry& entry) { return bucket_at(entry, width) <= last; }) - begin);
  };
  const bool has_wheel = behind_count_ != far_.size();
  if (has_wheel && kept_with(bucket_bits_) <= 2 * kKeptNear) bits = bucket_bits_;
  const std::size_t kept = kept_with(bits);
  if (kept == count) {  // they are of nearly one instant
    spill_size_ = 2 * count;
    return;
  }
  spill_size_ = std::max(kMostNear, 2 * kept);
  const std::uint64_t first = bucket_at(begin[kKeptNear], bits) + 1;
  if (has_wheel && (bits != bucket_bits_ || last_bucket_ >= first + Wheel::kBuckets)) {
    set_buckets(bits, first);
  } else {
    bucket_bits_ = bits;
    first_bucket_ = first;
    if (!has_wheel) last_bucket_ = 0;
  }
  const std::size_t end = std::exchange(near_end_, near_begin_ + kept);
  for (std::size_t i = near_end_; i < end; ++i) insert_behind(near_[i].key, *near_[i].event);
}

void EventQueue::insert_behind(EventKey key, Queueable& event) {
  const std::uint32_t slot = take_slot();
  slots_[slot].key = key;
  slots_[slot].event = &event;
  event.slot = slot;
  ++behind_count_;
  put_behind(slot);
}

void EventQueue::put_behind(std::uint32_t number) {
  Slot& slot = slots_[number];
  const std::uint64_t bucket = bucket_of(slot.key);
  if (bucket - first_bucket_ >= Wheel::kBuckets) {
    slot.next = kInHeap;
    return insert_far({slot.key, number});
  }
  if (wheel_ == nullptr) [[unlikely]] wheel_ = std::make_unique<Wheel>();
  last_bucket_ = std::max(last_bucket_, bucket);
  const std::size_t place = bucket % Wheel::kBuckets;
  slot.next = std::exchange(wheel_->heads[place], number);
  slot.previous = kNone;
  if (slot.next != kNone) slots_[slot.next].previous = number;
  wheel_->occupied[place / Wheel::kWordBits] |= std::uint64_t{1} << place % Wheel::kWordBits;
}

std::uint32_t EventQueue::take_slot() {
  if (free_slot_ == kNone) [[unlikely]] {
    slots_.emplace_back();
    return static_cast<std::uint32_t>(slots_.size() - 1);
  }
  return std::exchange(free_slot_, slots_[free_slot_].next);
}

void EventQueue::unlink(std::uint32_t number) {
  const Slot& slot = slots_[number];
  if (slot.next != kNone) slots_[slot.next].previous = slot.previous;
  if (slot.previous != kNone) {
    slots_[slot.previous].next = slot.next;
    return;
  }
  const std::size_t place = bucket_of(slot.key) % Wheel::kBuckets;
  wheel_->heads[place] = slot.next;
  if (slot.next == kNone) wheel_->occupied[place / Wheel::kWordBits] &= ~(std::uint64_t{1} << place % Wheel::kWordBits);
}

void EventQueue::remove(Queueable& event) {
  const std::uint32_t number = std::exchange(event.slot, Queueable::kIdle);
  CHECK(number != Queueable::kIdle);
  if (number == kNear) {
    Entry* at = near_.data() + near_begin_;
    Entry* const end = near_.data() + near_end_;
    while (at != end && at->event != &event) ++at;
    CHECK(at != end);
    std::copy(at + 1, end, at);
    --near_end_;
    return keep_near();
  }
  slots_[number].next == kInHeap ? remove_far(slots_[number].previous) : unlink(number);
  give_back_slot(number);
  if (--behind_count_ == 0) leave_buckets();
}

void EventQueue::refill() {
  const std::size_t wanted = is_large() ? kRefilledNear : kLeastNear / 2;
  while (near_end_ - near_begin_ < wanted && behind_count_ != 0) {
    const std::uint64_t bucket = next_bucket();
    // Events far off may stay in the heap: earlier ones will be scheduled first.
    if (near_begin_ != near_end_ && bucket - first_bucket_ >= Wheel::kBuckets) break;
    take_bucket(bucket);
  }
  behind_count_ == 0 ? leave_buckets() : judge_buckets();
}

std::uint64_t EventQueue::next_bucket() const {
  std::uint64_t bucket = kNoBucket;
  if (behind_count_ != far_.size()) bucket = wheel_->find(first_bucket_, last_bucket_ + 1);
  if (!far_.empty()) bucket = std::min(bucket, bucket_of(far_.front().key));
  return bucket;
}

void EventQueue::take_bucket(std::uint64_t bucket) {
  constexpr std::size_t kFewToSort = 24;
  const std::size_t behind = behind_count_;
  const std::size_t before = near_end_ - near_begin_;
  const auto take = [this](std::uint32_t number) {
    reserve_near();
    near_[near_end_++] = {slots_[number].key, slots_[number].event};
    slots_[number].event->slot = kNear;
    give_back_slot(number);
    --behind_count_;
  };
  if (behind_count_ != far_.size() && bucket - first_bucket_ < Wheel::kBuckets) {
    const std::size_t place = bucket % Wheel::kBuckets;
    std::uint32_t slot = std::exchange(wheel_->heads[place], kNone);
    while (slot != kNone) take(std::exchange(slot, slots_[slot].next));
    wheel_->occupied[place / Wheel::kWordBits] &= ~(std::uint64_t{1} << place % Wheel::kWordBits);
  }
  while (!far_.empty() && bucket_of(far_.front().key) == bucket) {
    const std::uint32_t slot = far_.front().slot;
    remove_far(0);
    take(slot);
    ++refilled_from_heap_;
  }
  first_bucket_ = bucket + 1;
  Entry* const first = near_.data() + near_begin_ + before;
  const std::size_t count = near_end_ - near_begin_ - before;
  if (count > kFewToSort) {
    std::sort(first, first + count, [](const Entry& a, const Entry& b) { return a.key < b.key; });
  } else {
    for (std::size_t i = 1; i < count; ++i) {
      const Entry entry = first[i];
      Entry* at = first + i;
      for (; at > first && entry.key < at[-1].key; --at) at[0] = at[-1];
      *at = entry;
    }
  }
  refilled_ += behind - behind_count_;
  // Narrower buckets do not part events of one instant.
  const Duration spread = first[count - 1].key.when - first[0].key.when;
  const bool is_crowded = count > kMostNear && (to_ps(spread) >> std::max(bucket_bits_ - 1, 0)) > 0;
  crowded_buckets_ = is_crowded ? crowded_buckets_ + 1 : crowded_buckets_ / 2;
}

void EventQueue::judge_buckets() {
  constexpr std::size_t kJudged = 1024;  // events
  constexpr std::size_t kMostCrowded = 8;
  constexpr int kChange = 2;  // bits
  if (crowded_buckets_ >= kMostCrowded && bucket_bits_ >= kLeastBucketBits + kChange) {
    set_buckets(bucket_bits_ - kChange, first_bucket_ << kChange);
  } else if (refilled_ >= kJudged) {
    if (refilled_from_heap_ > refilled_ / 2 && bucket_bits_ + kChange <= kMostBucketBits) {
      // Buckets that the next one of the wider ones would join are taken before.
      const std::uint64_t aligned = (first_bucket_ + (1u << kChange) - 1) >> kChange << kChange;
      for (std::uint64_t bucket = next_bucket(); bucket < aligned; bucket = next_bucket()) take_bucket(bucket);
      set_buckets(bucket_bits_ + kChange, aligned >> kChange);
    }
    refilled_ = refilled_from_heap_ = 0;
  }
}

void EventQueue::set_buckets(int bits, std::uint64_t first) {
  std::vector<std::uint32_t> moved;
  if (wheel_ != nullptr) {
    for (std::uint32_t& head : wheel_->heads) {
      for (std::uint32_t slot = std::exchange(head, kNone); slot != kNone; slot = slots_[slot].next) moved.push_back(slot);
    }
    wheel_->occupied.fill(0);
  }
  bucket_bits_ = bits;
  first_bucket_ = first;
  last_bucket_ = 0;
  refilled_ = refilled_from_heap_ = crowded_buckets_ = 0;
  for (const std::uint32_t slot : moved) put_behind(slot);
}

void EventQueue::insert_far(const HeapEntry& entry) {
  far_.emplace_back();
  sift_up(static_cast<std::uint32_t>(far_.size() - 1), entry);
}

void EventQueue::remove_far(std::uint32_t hole) {
  CHECK(hole < far_.size());
  const HeapEntry last = far_.back();
  far_.pop_back();
  if (hole == far_.size()) return;
  if (hole > 0 && last.key < far_[(hole - 1) / kArity].key) {
    sift_up(hole, last);
  } else {
    sift_down(hole, last);
  }
}

void EventQueue::sift_up(std::uint32_t index, const HeapEntry& entry) {
  while (index > 0) {
    const std::uint32_t parent = (index - 1) / kArity;
    if (!(entry.key < far_[parent].key)) break;
    place(index, far_[parent]);
    index = parent;
  }
  place(index, entry);
}

std::uint32_t EventQueue::least_child(std::uint32_t first, std::uint32_t size) const {
  static_assert(kArity == 4);
  const auto lesser = [this](std::uint32_t a, std::uint32_t b) { return far_[b].key < far_[a].key ? b : a; };
  if (first + kArity <= size) [[likely]] return lesser(lesser(first, first + 1), lesser(first + 2, first + 3));
  std::uint32_t least = first;
  for (std::uint32_t child = first + 1; child < size; ++child) least = lesser(least, child);
  return least;
}

void EventQueue::sift_down(std::uint32_t index, const HeapEntry& entry) {
  const auto size = static_cast<std::uint32_t>(far_.size());
  for (std::uint32_t first = index * kArity + 1; first < size; first = index * kArity + 1) {
    const std::uint32_t least = least_child(first, size);
    if (!(far_[least].key < entry.key)) break;
    place(index, far_[least]);
    index = least;
  }
  place(index, entry);
}

}  // namespace verbatim
