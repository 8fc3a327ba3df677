// The least time that a flow can take: its time in an idle fabric in which the slowest link of the path always has a
// packet of it to send. It is the sum of
//
//  - the sender's time until the first packet is at its port, and the receiver's until the acknowledgement is
//    (LightDelays). A READ takes the requester's time, the request's path, and the responder's time;
//  - the time of all packets but the last one, back to back, on the slowest link of the path, with headers, padding,
//    preambles and gaps;
//  - the time of the last packet from there to the receiver, and of the acknowledgement (not of a READ) back: the bytes
//    that each link must wait for, cables, transceivers and switches;
//  - the time until the completion is posted at the requester.
//
// Waiting for clock edges is left out, and so are limits within an adapter (PCI Express, stages, caches), telemetry
// and credits. A lone flow therefore takes a little longer than its ideal time, and never less, except for some
// nanoseconds when a whole adapter gathers a short message.
// adapter's gather of a short message.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/simulation.h"
#include "sim/hca/light/light_delays.h"
#include "sim/ib/opcode.h"
#include "sim/workload/traffic.h"

namespace verbatim::config {

class IdealTimes {
 public:
  // The simulation must outlive this object.
  explicit IdealTimes(Simulation& simulation);

  // Time from the start of the flow to its finish, as in workload::Flow. nullopt if the flow has no end, or
  // if there is no route in one direction. If packets of a flow may take several paths, links between
  // switches count as infinitely fast.
  std::optional<Duration> of(const workload::FlowKind& kind, const workload::FlowPlan& flow);

 private:
  struct Hop {
    const fabric::LinkParams* link = nullptr;
    Duration forwarding{0};  // of the switch before the link; 0 at an adapter
    bool waits_for_tail = false;  // that switch stores a whole packet before it forwards it
  };
  // Wire bytes and number of all packets but the last one; wire bytes of the first and of the last one.
  struct Packets {
    std::uint64_t bytes_before_last = 0, before_last = 0;
    std::uint32_t first_payload = 0;
    std::uint32_t first = 0, last = 0;
  };

  // Empty if there is no route.
  const std::vector<Hop>& path(std::size_t from, std::size_t to);
  static Packets one_packet(ib::Opcode opcode, bool is_roce);
  static Packets packets_of(const workload::FlowKind& kind, std::uint64_t bytes, std::uint32_t mtu, bool is_roce);
  static Duration time_of_path(const std::vector<Hop>& path, const Packets& packets, bool has_one_path);
  const hca::LightDelays& delays(std::size_t adapter);

  Simulation& simulation_;
  const TopologySpec& topology_;
  const CableIndex cables_;
  std::vector<fabric::LinkParams> links_;                 // by place in the topology
  std::vector<Duration> forwarding_;                      // by switch
  std::map<std::string, hca::LightDelays> delays_;        // by the profile's reference
  std::vector<const hca::LightDelays*> of_adapter_;       // null: not computed yet
  std::vector<Hop> path_;                                 // the last requested one
};

}  // namespace verbatim::config
