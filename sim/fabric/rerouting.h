// Links that are down, at a switch of Ethernet: it avoids them in two steps, as its line cards and its routing protocol do.
//
// A port whose own link is down leaves the groups of equally good outputs `delay` after the link went down, and returns `delay`
// after it came up, if the link has been so all the time. Failures elsewhere change all routes, at times that are known before
// the run (sim/config/reroutes.h): a routing protocol has converged then.
//
// The hash of a flow chooses among all outputs that lead to its destination while every link is up. Where this output is not in
// use, a second hash chooses among those that are. So flows on other outputs stay where they are (resilient hashing), and a flow
// returns to its output when this is in use again.
//
// On InfiniBand switches do nothing by themselves. All routes change when the subnet manager has swept after a failure or repair,
// which is known before the run, too.
//
// Nothing here is an event: what has come into effect is worked out when a packet asks. The trace has it from then on: one record
// (routes-changed) of each port that has left its groups or has returned, or of the sweep.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/time.h"
#include "sim/fabric/packet_sink.h"
#include "sim/fabric/route_table.h"

namespace verbatim::fabric {

// Tables that a subnet manager has written to all switches at one time. The first switch that uses them records it.
struct RouteSweep {
  ComponentId manager;       // port of its adapter
  std::uint64_t tables = 0;  // switches whose tables differ from those before
  bool is_recorded = false;
};

// Routes, and the spanning tree for packets to groups, from a time on.
struct RouteChange {
  Instant at{};
  std::shared_ptr<const RouteTable> routes;  // null: those of the beginning, and its tree
  std::vector<PortNumber> multicast_ports;
  std::shared_ptr<const RouteTable> groups;  // of adaptive routing; null: none
  std::shared_ptr<RouteSweep> sweep;  // null: nobody has swept
};

class Rerouting {
 public:
  explicit Rerouting(Duration delay) : delay_(delay) {}

  // Ascending times; before the first event.
  void set_changes(std::vector<RouteChange> changes) {
    changes_ = std::move(changes);
    next_ = 0;
    current_ = nullptr;
    sweep_ = nullptr;
    normal_until_ = next_change();
  }
  // The link of a port has gone down, or come up.
  void on_link(PortNumber port, bool up, Instant now);

  // record(port) for each port that has left its groups, or has returned, since the last call.
  template <class Record>
  void record_changes(Instant now, Record record) {
    for (ChangedPort& changed : changed_) {
      if (is_in_use(changed, now) == changed.is_recorded_in_use) continue;
      changed.is_recorded_in_use = !changed.is_recorded_in_use;
      record(changed.port);
    }
  }

  // Before this time every link is taken to be up; it moves.
  Instant normal_until() const { return normal_until_; }

  // By which port a flow leaves; kNoRoute: none leads there. `all` are the routes of the beginning. A port that is down is the
  // answer where no other leads there.
  PortNumber output(const RouteTable& all, std::uint64_t destination, std::uint64_t hash, std::uint64_t salt, Instant now);
  // All outputs in use that lead there; where none is in use, all that would lead there.
  std::vector<PortNumber> outputs_in_use(const RouteTable& all, std::uint64_t destination, Instant now);
  bool has_changes() const { return !changes_.empty(); }
  // Null: those of the beginning.
  const RouteTable* routes(Instant now) {
    catch_up(now);
    return current_ == nullptr ? nullptr : current_->routes.get();
  }
  // Null: that of the beginning.
  const std::vector<PortNumber>* multicast_ports(Instant now);
  // `first`: the groups of the beginning.
  const RouteTable* groups(const RouteTable* first, Instant now) {
    if (now < normal_until_) return first;
    catch_up(now);
    return current_ == nullptr ? first : current_->groups.get();
  }
  // The sweep that has brought about the current routes, until it is recorded; null: there is none.
  RouteSweep* unrecorded_sweep() const { return sweep_ == nullptr || sweep_->is_recorded ? nullptr : sweep_; }

 private:
  struct ChangedPort {
    PortNumber port;
    bool is_up = true, was_in_use = true, is_recorded_in_use = true;
    Instant since{};
  };

  Instant next_change() const { return next_ < changes_.size() ? changes_[next_].at : kNever; }
  void catch_up(Instant now);
  bool is_in_use(const ChangedPort& changed, Instant now) const {
    return now >= changed.since + delay_ ? changed.is_up : changed.was_in_use;
  }
  bool is_in_use(PortNumber port, Instant now) const;

  const Duration delay_;
  Instant normal_until_ = kNever;
  std::vector<ChangedPort> changed_;  // ports that are not up and in use for long
  std::vector<RouteChange> changes_;
  std::size_t next_ = 0;                   // the first that has not come into effect
  const RouteChange* current_ = nullptr;  // null: the routes of the beginning
  RouteSweep* sweep_ = nullptr;           // of the last change
};

}  // namespace verbatim::fabric
