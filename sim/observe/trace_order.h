// Sorts a run's output in the order of traces: by time, component, and the component's sequence number
// (comes_before()). Records of different components at one instant may arrive in any order, and the output
// does not depend on it.
//
// Items of an instant are kept until a later instant begins, so memory is bounded by the items of one
// instant.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/core/trace.h"

namespace verbatim::observe {

template <class Item>
class TraceOrder {
 public:
  // `write` is called with the items in their order.
  explicit TraceOrder(std::function<void(Item&)> write) : write_(std::move(write)) {}

  void add(const TraceRecord& record, Item item) {
    // Times of records never decrease.
    if (record.time_ps > now_ps_) {
      write_before(record.time_ps);
      now_ps_ = record.time_ps;
    }
    insert({{record.time_ps, record.component, record.number}, std::move(item)});
  }
  // Adds an item that is not a record, after the items of its component with this time. Its time may be later
  // than that of following records; an earlier time than the current instant counts as that instant.
  void add_behind(std::int64_t time_ps, std::uint32_t component, Item item) {
    std::uint64_t number = 0;
    for (const Entry& entry : waiting_) {
      const auto& [when, whose, own] = entry.place;
      if (when == time_ps && whose == component) number = std::max(number, own);
    }
    insert({{time_ps, component, number}, std::move(item)});
  }
  // Writes all pending items.
  void flush() { write_before(std::numeric_limits<std::int64_t>::max()); }

 private:
  struct Entry {
    std::tuple<std::int64_t, std::uint32_t, std::uint64_t> place;  // as in comes_before()
    Item item;
  };

  void insert(Entry entry) {
    std::int64_t& time_ps = std::get<0>(entry.place);
    time_ps = std::max(time_ps, now_ps_);
    waiting_.push_back(std::move(entry));
  }
  void write_before(std::int64_t time_ps) {
    if (waiting_.size() > 1) std::ranges::stable_sort(waiting_, {}, &Entry::place);
    std::size_t written = 0;
    for (; written < waiting_.size() && std::get<0>(waiting_[written].place) < time_ps; ++written) write_(waiting_[written].item);
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(written));
  }

  std::function<void(Item&)> write_;
  std::int64_t now_ps_ = std::numeric_limits<std::int64_t>::min();
  std::vector<Entry> waiting_;
};

}  // namespace verbatim::observe
