#include "sim/core/event_queue.h"

#include <algorithm>
#include <utility>

#include "sim/core/check.h"

namespace verbatim {

void EventQueue::insert_among(EventKey key, Queueable* event) {
  if (near_count_ == kNearEvents) {
    const Entry latest = near_[0];
    if (!(key < latest.key)) return insert_far(key, event);
    // Its latest makes room.
    insert_far(latest.key, latest.event);
    std::copy(near_.begin() + 1, near_.end(), near_.begin());
    --near_count_;
  } else if (insert_behind_far(key, event)) {
    return;
  }
  insert_near(key, event);
}

bool EventQueue::insert_behind_far(EventKey key, Queueable* event) {
  if (!front_is_spent_) {
    if (far_.empty() || key < far_.front().key) return false;
    insert_far(key, event);
    return true;
  }
  if (far_.size() == 1) return false;
  const std::uint32_t least = least_child(1, static_cast<std::uint32_t>(far_.size()));
  if (key < far_[least].key) return false;
  front_is_spent_ = false;
  place(0, far_[least].key, far_[least].event);
  sift_down(least, key, event);
  return true;
}

void EventQueue::insert_far(EventKey key, Queueable* event) {
  if (std::exchange(front_is_spent_, false)) return sift_down(0, key, event);
  far_.emplace_back();
  sift_up(static_cast<std::uint32_t>(far_.size() - 1), key, event);
}

void EventQueue::remove(Queueable& event) {
  const std::uint32_t place = std::exchange(event.place, Queueable::kIdle);
  if (place != Queueable::kNear) return remove_far(place);
  std::size_t at = near_count_;
  do {
    CHECK(at > 0);
    --at;
  } while (near_[at].event != &event);
  std::copy(near_.begin() + static_cast<std::ptrdiff_t>(at) + 1,
            near_.begin() + static_cast<std::ptrdiff_t>(near_count_), near_.begin() + static_cast<std::ptrdiff_t>(at));
  if (--near_count_ == 0) refill();
}

void EventQueue::remove_far(std::uint32_t hole) {
  CHECK(hole < far_.size());
  const Entry last = far_.back();
  far_.pop_back();
  if (hole == far_.size()) return;
  if (hole > 0 && last.key < far_[(hole - 1) / kArity].key) {
    sift_up(hole, last.key, last.event);
  } else {
    sift_down(hole, last.key, last.event);
  }
}

void EventQueue::refill() {
  if (std::exchange(front_is_spent_, false)) remove_far(0);
  if (far_.empty()) return;
  if (far_.size() > kNearEvents / 2) {
    insert_near(far_.front().key, far_.front().event);
    front_is_spent_ = true;
    return;
  }
  for (const Entry& entry : far_) insert_near(entry.key, entry.event);
  far_.clear();
}

void EventQueue::sift_up(std::uint32_t index, EventKey key, Queueable* event) {
  while (index > 0) {
    const std::uint32_t parent = (index - 1) / kArity;
    if (!(key < far_[parent].key)) break;
    place(index, far_[parent].key, far_[parent].event);
    index = parent;
  }
  place(index, key, event);
}

std::uint32_t EventQueue::least_child(std::uint32_t first, std::uint32_t size) const {
  static_assert(kArity == 4);
  const auto lesser = [this](std::uint32_t a, std::uint32_t b) { return far_[b].key < far_[a].key ? b : a; };
  if (first + kArity <= size) [[likely]] return lesser(lesser(first, first + 1), lesser(first + 2, first + 3));
  std::uint32_t least = first;
  for (std::uint32_t child = first + 1; child < size; ++child) least = lesser(least, child);
  return least;
}

void EventQueue::sift_down(std::uint32_t index, EventKey key, Queueable* event) {
  const auto size = static_cast<std::uint32_t>(far_.size());
  for (std::uint32_t first = index * kArity + 1; first < size; first = index * kArity + 1) {
    const std::uint32_t least = least_child(first, size);
    if (!(far_[least].key < key)) break;
    place(index, far_[least].key, far_[least].event);
    index = least;
  }
  place(index, key, event);
}

}  // namespace verbatim
