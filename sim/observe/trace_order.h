// Puts what files get of a run in the order of traces: by time, component and the component's own number (comes_before()). At one
// instant records of different components come as it happens to suit the simulator; what is written does not depend on that.
//
// Everything of an instant is kept until something of a later one comes: memory is bounded by what happens at one instant.
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
  // Gets the items in their order.
  explicit TraceOrder(std::function<void(Item&)> write) : write_(std::move(write)) {}

  void add(const TraceRecord& record, Item item) {
    // Times of records never go back.
    if (record.time_ps > now_ps_) {
      write_before(record.time_ps);
      now_ps_ = record.time_ps;
    }
    insert({record.time_ps, record.component, record.number, std::move(item)});
  }
  // Something that is no record goes behind those of its component that have come and belong to this time. It may be of a later
  // time than records that follow; if it comes too late it is written as soon as it comes.
  void add_behind(std::int64_t time_ps, std::uint32_t component, Item item) {
    std::uint64_t number = 0;
    for (const Entry& entry : waiting_) {
      if (entry.time_ps == time_ps && entry.component == component) number = std::max(number, entry.number);
    }
    insert({time_ps, component, number, std::move(item)});
  }
  // Writes what waits.
  void flush() { write_before(std::numeric_limits<std::int64_t>::max()); }

 private:
  struct Entry {
    std::int64_t time_ps = 0;
    std::uint32_t component = 0;
    std::uint64_t number = 0;
    Item item;
  };
  static bool comes_before(const Entry& a, const Entry& b) {
    return std::tie(a.time_ps, a.component, a.number) < std::tie(b.time_ps, b.component, b.number);
  }

  void insert(Entry entry) {
    entry.time_ps = std::max(entry.time_ps, now_ps_);
    waiting_.push_back(std::move(entry));
  }
  void write_before(std::int64_t time_ps) {
    if (waiting_.size() > 1) std::stable_sort(waiting_.begin(), waiting_.end(), comes_before);
    std::size_t written = 0;
    for (; written < waiting_.size() && waiting_[written].time_ps < time_ps; ++written) write_(waiting_[written].item);
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(written));
  }

  std::function<void(Item&)> write_;
  std::int64_t now_ps_ = std::numeric_limits<std::int64_t>::min();
  std::vector<Entry> waiting_;
};

}  // namespace verbatim::observe
