// Congestion of a run, from its trace records: how long priorities were paused and by which ports, packets
// that switches marked, packets that were dropped, and rates of queue pairs.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "sim/core/trace.h"
#include "sim/ib/packet_observer.h"

namespace verbatim::observe {

class Congestion final : public TraceSink, public ib::PacketObserver, public ib::DropObserver {
 public:
  explicit Congestion(const ComponentTable& components) : components_(components) {}

  TraceEvents events() const override {
    return bits_of(TraceEvent::kPauseFrame, TraceEvent::kPacketMarked, TraceEvent::kRate,
                   TraceEvent::kPauseWatchdog, TraceEvent::kRoutesChanged);
  }
  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;
  // Counts marks by lane.
  TraceEvents packet_events() const override { return bits_of(TraceEvent::kPacketMarked); }
  void on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId port) override;
  void on_drop(const ib::Packet& packet, std::uint64_t reason, ComponentId component, Instant now) override;
  // Ends the run at that time; pauses that are still on count until then. Call once, before the functions
  // below.
  void finish(std::int64_t end_ps);

  struct Most {
    std::string component;  // "port/leaf0:1"; empty: there is none
    std::uint64_t value = 0;
  };
  // Number of pauses, each of one priority of one port. Frames that prolong a pause are not counted.
  std::uint64_t pauses() const { return pauses_; }
  // Sum over the priorities of all ports, from the first frame of a pause to its end.
  std::int64_t paused_ps() const { return paused_ps_; }
  // Sum of the pauses that one port requested of its far end.
  std::int64_t paused_ps_by(ComponentId port) const {
    const auto found = ports_.find(port.value);
    return found == ports_.end() ? 0 : found->second.paused_ps;
  }
  // The port with the largest paused_ps_by().
  Most longest_pausing() const;
  std::uint64_t packets_marked() const { return packets_marked_; }
  // The port that marked the most packets.
  Most most_marking() const;
  std::uint64_t rate_changes() const { return rate_changes_; }
  struct Rate {
    std::string adapter;  // "hca/h1"; empty: no rate has changed
    std::uint64_t qpn = 0, mbps = 0;
    std::int64_t when_ps = 0;
  };
  // The lowest rate of all queue pairs; the first of equal ones.
  Rate lowest_rate() const;
  // Number of times at which switches changed routes: after a sweep of the subnet manager, or when a port
  // left or rejoined its groups.
  std::uint64_t route_changes() const { return route_changes_; }
  // Pause storms that switches' watchdogs detected.
  std::uint64_t storms() const { return storms_; }
  // A lane, or priority, of a component.
  struct Lane {
    std::uint64_t pauses = 0;  // requested of the far end
    std::int64_t paused_ps = 0, longest_pause_ps = 0;
    std::uint64_t marked = 0;
    std::map<std::uint64_t, std::uint64_t> dropped;  // by reason; only losses (drop_names.h)
  };
  // By component and number; only lanes with a nonzero value.
  const std::map<std::pair<std::uint32_t, std::uint32_t>, Lane>& lanes() const { return lanes_; }
  bool any() const { return pauses_ + packets_marked_ + rate_changes_ + storms_ + route_changes_ != 0; }

 private:
  static constexpr std::size_t kPriorities = 8;
  struct Port {
    std::array<std::int64_t, kPriorities> paused_since{};
    std::uint8_t paused = 0;
    std::int64_t paused_ps = 0;
    std::uint64_t marked = 0;
  };

  void end_pause(std::uint32_t component, Port& port, std::size_t priority, std::int64_t now);
  template <class Value>
  Most most(Value value) const;

  const ComponentTable& components_;
  std::map<std::uint32_t, Port> ports_;  // by component
  std::map<std::pair<std::uint32_t, std::uint32_t>, Lane> lanes_;
  std::uint64_t pauses_ = 0, packets_marked_ = 0, rate_changes_ = 0, storms_ = 0, route_changes_ = 0;
  std::int64_t paused_ps_ = 0;
  std::uint32_t lowest_of_ = 0;  // component of the adapter with the lowest rate
  Rate lowest_;
};

}  // namespace verbatim::observe
