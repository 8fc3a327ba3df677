// Failed links at an Ethernet switch, which avoids them in two steps, as its line cards and its routing
// protocol do.
//
// A port whose own link is down leaves the groups of equally good outputs `delay` after the failure, and
// returns `delay` after the repair if the link has stayed up meanwhile. Failures elsewhere change all
// routes, at times that are known before the run (sim/config/reroutes.h): those at which a routing protocol
// has converged.
//
// The hash of a flow chooses among all outputs that lead to its destination with every link up. If this
// output is not in use, a second hash chooses among those that are. Flows on other outputs keep theirs
// (resilient hashing), and the flow returns to its first output once this is in use again.
//
// InfiniBand switches do not react themselves. All routes change when the subnet manager has swept after a
// failure or repair, at a time that is also known before the run.
//
// None of this is an event: the changes in effect are computed when a packet is looked up. At that time
// they are traced: one record (routes-changed) for each port that has left its groups or returned, or for
// the sweep.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/time.h"
#include "sim/fabric/packet_sink.h"
#include "sim/fabric/route_table.h"

namespace verbatim::fabric {

// Tables that a subnet manager has written to all switches at one time; recorded by the first switch that
// uses them.
struct RouteSweep {
  ComponentId manager;       // port of the manager's adapter
  std::uint64_t tables = 0;  // switches with changed tables
  bool is_recorded = false;
};

// Routes from a time on, and the spanning tree for multicast packets.
struct RouteChange {
  Instant at{};
  std::shared_ptr<const RouteTable> routes;  // null: the initial routes and tree
  std::vector<PortNumber> multicast_ports;
  std::shared_ptr<const RouteTable> groups;  // adaptive routing; null: none
  std::shared_ptr<RouteSweep> sweep;  // null: no sweep
};

class Rerouting {
 public:
  explicit Rerouting(Duration delay) : delay_(delay) {}

  // `changes` by ascending times; before the first event.
  void set_changes(std::vector<RouteChange> changes) {
    changes_ = std::move(changes);
    next_ = 0;
    current_ = nullptr;
    sweep_ = nullptr;
    normal_until_ = next_change();
  }
  // The link of a port has gone down or come up.
  void on_link(PortNumber port, bool up, Instant now);

  // Calls record(port) for each port that has left its groups or returned since the last call.
  template <class Record>
  void record_changes(Instant now, Record record) {
    for (ChangedPort& changed : changed_) {
      if (is_in_use(changed, now) == changed.is_recorded_in_use) continue;
      changed.is_recorded_in_use = !changed.is_recorded_in_use;
      record(changed.port);
    }
  }

  // Before this time the initial routes apply and no port has left its groups. Link changes and catching up
  // with `changes` move it.
  Instant normal_until() const { return normal_until_; }

  // The port by which a flow leaves; kNoRoute: none leads there. `all`: the initial routes. A port that is
  // down is returned if no other leads there.
  PortNumber output(const RouteTable& all, std::uint64_t destination, std::uint64_t hash, std::uint64_t salt, Instant now);
  // All outputs in use that lead to a destination; if none is in use, all outputs that lead there.
  std::vector<PortNumber> outputs_in_use(const RouteTable& all, std::uint64_t destination, Instant now);
  bool has_changes() const { return !changes_.empty(); }
  // Null: the initial routes.
  const RouteTable* routes(Instant now) {
    catch_up(now);
    return current_ == nullptr ? nullptr : current_->routes.get();
  }
  // Null: the initial tree.
  const std::vector<PortNumber>* multicast_ports(Instant now);
  // `first`: the initial groups.
  const RouteTable* groups(const RouteTable* first, Instant now) {
    if (now < normal_until_) return first;
    catch_up(now);
    return current_ == nullptr ? first : current_->groups.get();
  }
  // The sweep that produced the current routes, until it is recorded; null: none.
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
  std::vector<ChangedPort> changed_;  // ports that are down or have changed recently
  std::vector<RouteChange> changes_;
  std::size_t next_ = 0;                   // the next change
  const RouteChange* current_ = nullptr;  // null: the initial routes
  RouteSweep* sweep_ = nullptr;           // of the last change
};

}  // namespace verbatim::fabric
