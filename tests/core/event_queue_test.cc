// The queue returns events in the order of their keys, for any number of events and any delays.
#include "sim/core/event_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "sim/core/rng.h"

namespace verbatim {
namespace {

// A queue, checked against an ordered map of the same events.
class CheckedQueue {
 public:
  bool empty() const { return order_.empty(); }
  std::size_t size() const { return order_.size(); }

  void insert(std::int64_t when_ps, std::uint64_t order) {
    const EventKey key{instant_from_ps(when_ps), order};
    auto event = std::make_unique<Queueable>();
    queue_.insert(key, *event);
    order_.emplace(key, std::move(event));
  }
  // Removes the next event and returns its time.
  std::int64_t pop() {
    const auto first = order_.begin();
    EXPECT_EQ(queue_.front().event, first->second.get());
    const std::int64_t when = to_ps(queue_.front().key.when);
    queue_.pop();
    EXPECT_EQ(first->second->slot, Queueable::kIdle);
    order_.erase(first);
    EXPECT_EQ(queue_.empty(), order_.empty());
    return when;
  }
  // Removes the event at this place in the order, or the last one if there are fewer.
  void remove(std::size_t place) {
    const auto event = std::next(order_.begin(), static_cast<std::ptrdiff_t>(std::min(place, order_.size() - 1)));
    queue_.remove(*event->second);
    order_.erase(event);
  }
  void check_upcoming() const {
    std::size_t place = 0;
    auto expected = order_.begin();
    for (const EventQueue::Entry& entry : queue_.upcoming()) {
      ASSERT_TRUE(expected != order_.end() && entry.event == expected->second.get()) << place;
      ++expected;
      ++place;
    }
  }
  // Each event before the limit is visited exactly once.
  void check_visit(std::int64_t limit_ps) const {
    std::vector<std::uint64_t> seen, expected;
    queue_.for_each_before(instant_from_ps(limit_ps), [&](const EventQueue::Entry& entry) {
      seen.push_back(entry.key.order);
      return instant_from_ps(limit_ps);
    });
    for (const auto& [key, event] : order_) {
      if (to_ps(key.when) < limit_ps) expected.push_back(key.order);
    }
    std::ranges::sort(seen);
    std::ranges::sort(expected);
    EXPECT_TRUE(seen == expected) << seen.size() << " of " << expected.size();
    // The visitor lowers the limit to the event's time, so the result is the least time.
    const Instant least = queue_.for_each_before(kNever, [](const EventQueue::Entry& entry) { return entry.key.when; });
    EXPECT_EQ(least, order_.empty() ? kNever : order_.begin()->first.when);
  }

 private:
  EventQueue queue_;
  std::map<EventKey, std::unique_ptr<Queueable>> order_;
};

TEST(EventQueue, random_events_come_in_the_order_of_their_keys) {
  // Delays are below 2^n ps; numbers of events.
  constexpr int kDelayBits[] = {3, 10, 18, 24, 40};
  constexpr std::size_t kSizes[] = {3, 40, 60, 500, 6000};
  for (const int bits : kDelayBits) {
    for (const std::size_t size : kSizes) {
      SCOPED_TRACE(testing::Message() << "delays of " << bits << " bits, " << size << " events");
      CheckedQueue queue;
      Rng random(1, "queue");
      std::int64_t now = 0;
      std::uint64_t number = 0;
      for (std::size_t step = 0; step < 20'000; ++step) {
        // One delay in 20 may be up to a thousand times as long, like that of a timeout.
        const std::int64_t most = (std::int64_t{1} << bits) * (random.below(20) == 0 ? 1000 : 1);
        if (queue.size() < size || random.below(8) == 0) {
          queue.insert(now + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most))), ++number);
        } else if (random.below(6) == 0) {
          queue.remove(random.below(queue.size()));
        } else {
          now = queue.pop();
        }
        if (step % 997 == 0) {
          queue.check_upcoming();
          queue.check_visit(now + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most))));
        }
        ASSERT_FALSE(testing::Test::HasFailure()) << step;
      }
      while (!queue.empty()) queue.pop();
    }
  }
}

TEST(EventQueue, events_of_one_instant_come_by_their_order_however_many_they_are) {
  CheckedQueue queue;
  Rng random(2, "queue");
  for (std::uint64_t i = 0; i < 3000; ++i) queue.insert(1'000'000, i * 7919 % 3000);
  for (std::uint64_t i = 0; i < 3000; ++i) queue.insert(1'000'000 + static_cast<std::int64_t>(i % 3), 4000 + i);
  queue.check_visit(1'000'002);
  while (!queue.empty()) queue.pop();
}

TEST(EventQueue, a_change_of_density_keeps_the_order) {
  CheckedQueue queue;
  Rng random(3, "queue");
  std::int64_t now = 0;
  std::uint64_t number = 0;
  for (int phase = 0; phase < 12; ++phase) {
    const std::uint64_t most = phase % 3 == 0 ? 100 : phase % 3 == 1 ? 1'000'000'000 : 50'000;
    for (int i = 0; i < 3000; ++i) queue.insert(now + static_cast<std::int64_t>(random.below(most)), ++number);
    queue.check_upcoming();
    for (int i = 0; i < 2500; ++i) now = queue.pop();
    for (int i = 0; i < 200; ++i) queue.remove(random.below(queue.size()));
    queue.check_visit(now + static_cast<std::int64_t>(most));
  }
  while (!queue.empty()) queue.pop();
}

}  // namespace
}  // namespace verbatim
