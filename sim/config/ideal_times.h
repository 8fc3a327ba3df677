// The least time that a flow can take: that of an idle fabric whose slowest link on the path is never without a packet of it. It
// is the sum of
//
//  - the sender's work until the first packet is at its port, and the receiver's until the acknowledgement is (LightDelays);
//  - all packets but the last one behind each other at the slowest link of the path: headers, padding, preambles and gaps count;
//  - the last packet from there to the receiver, and the acknowledgement back: bytes that each link must wait for, cables,
//    transceivers and switches;
//  - the completion at the sender.
//
// Waiting for the next edge of a clock is left out, and so are limits within an adapter (PCI Express, stages, caches), telemetry,
// and credits: a lone flow takes a little longer than its ideal time, and never less, but for some nanoseconds of a whole
// adapter's gather of a short message.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/simulation.h"
#include "sim/hca/light/light_delays.h"
#include "sim/workload/traffic.h"

namespace verbatim::config {

class IdealTimes {
 public:
  // The simulation outlives it.
  explicit IdealTimes(Simulation& simulation);

  // From the start of the flow to its finish, as workload::Flow has them. None: it has no end, or no route leads there and back.
  // Where the packets of a flow may take several paths, links between switches count as if they were fast.
  std::optional<Duration> of(const workload::FlowKind& kind, const workload::FlowPlan& flow);

 private:
  struct Hop {
    const fabric::LinkParams* link = nullptr;
    Duration forwarding{0};  // of the switch ahead of it; 0 at an adapter
    bool waits_for_tail = false;  // that switch stores packets before it forwards them
  };
  // Wire bytes of all packets but the last one, and how many they are; wire bytes of the first and of the last one.
  struct Packets {
    std::uint64_t bytes_before_last = 0, before_last = 0;
    std::uint32_t first_payload = 0;
    std::uint32_t first = 0, last = 0;
  };

  // Empty: there is no route.
  const std::vector<Hop>& path(std::size_t from, std::size_t to);
  static Packets packets_of(const workload::FlowKind& kind, std::uint64_t bytes, std::uint32_t mtu, bool is_roce);
  static Duration time_of_path(const std::vector<Hop>& path, const Packets& packets, bool has_one_path);
  const hca::LightDelays& delays(std::size_t adapter);

  Simulation& simulation_;
  const TopologySpec& topology_;
  const CableIndex cables_;
  std::vector<fabric::LinkParams> links_;                 // by place in the topology
  std::vector<Duration> forwarding_;                      // by switch
  std::map<std::string, hca::LightDelays> delays_;        // by the profile's reference
  std::vector<const hca::LightDelays*> of_adapter_;       // null: not asked for yet
  std::vector<Hop> path_;                                 // the last one asked for
};

}  // namespace verbatim::config
