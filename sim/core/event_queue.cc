#include "sim/core/event_queue.h"

#include <algorithm>

#include "sim/core/check.h"

namespace verbatim {

void EventQueue::add_slot() {
  free_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
  slots_.emplace_back();
}

void EventQueue::insert_among(const Entry& entry) {
  const Entry latest = near_[0];
  if (latest.key < entry.key) return insert_far(entry);
  if (near_count_ == kNearEvents) {
    // The array is full: its latest event moves to the heap.
    insert_far(latest);
    std::copy(near_.begin() + 1, near_.end(), near_.begin());
    --near_count_;
  }
  insert_near(entry);
}

void EventQueue::insert_far(const Entry& entry) {
  far_.emplace_back();
  sift_up(static_cast<std::uint32_t>(far_.size() - 1), entry);
}

void EventQueue::remove(Queueable& event) {
  const std::uint32_t slot = event.slot;
  const std::uint32_t place = slots_[slot].place;
  give_back_slot(slot);
  if (place != kNear) return remove_far(place);
  std::size_t at = near_count_;
  do {
    CHECK(at > 0);
    --at;
  } while (near_[at].slot != slot);
  std::copy(near_.begin() + static_cast<std::ptrdiff_t>(at) + 1,
            near_.begin() + static_cast<std::ptrdiff_t>(near_count_), near_.begin() + static_cast<std::ptrdiff_t>(at));
  if (--near_count_ < kLeastNear && !far_.empty()) refill();
}

void EventQueue::remove_far(std::uint32_t hole) {
  CHECK(hole < far_.size());
  const Entry last = far_.back();
  far_.pop_back();
  if (hole == far_.size()) return;
  if (hole > 0 && last.key < far_[(hole - 1) / kArity].key) {
    sift_up(hole, last);
  } else {
    sift_down(hole, last);
  }
}

void EventQueue::refill() {
  const std::size_t more = std::min(kRefilledNear, far_.size());
  std::copy_backward(near_.begin(), near_.begin() + static_cast<std::ptrdiff_t>(near_count_),
                     near_.begin() + static_cast<std::ptrdiff_t>(near_count_ + more));
  near_count_ += more;
  for (std::size_t at = more; at > 0; --at) {
    near_[at - 1] = far_.front();
    slots_[far_.front().slot].place = kNear;
    remove_far(0);
  }
}

void EventQueue::sift_up(std::uint32_t index, const Entry& entry) {
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

void EventQueue::sift_down(std::uint32_t index, const Entry& entry) {
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
