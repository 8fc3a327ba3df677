// How a switch chooses among equally good outputs (topology key `load_balancing`):
//  - flow: by the hash of the flow, which keeps its path and order (flow_hash.h);
//  - flowlet: a flow that has been idle for `gap` may change its output (Vanini et al., Let It Flow, NSDI
//    2017);
//  - packet: each packet gets its own output if its sender permits it (ib::Packet::may_take_any_path); other packets
//    follow the path of their flow. On InfiniBand this is adaptive routing: the outputs are a group
//    (Switch::set_groups), and other packets leave by the port of the forwarding table.
//
// A new output is drawn among those with the lowest grade: the bytes queued there on the packet's lane, in
// steps of `grade_bytes`, seven at most.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/core/rng.h"
#include "sim/core/time.h"
#include "sim/fabric/packet_sink.h"
#include "sim/ib/packet.h"

namespace verbatim::fabric {

struct LoadBalancing {
  std::string by = "flow";
  Duration gap{100'000'000};
  std::int64_t grade_bytes = 16'384;  // 0: all outputs have the same grade

  bool is_by_flowlet() const { return by == "flowlet"; }
  bool is_by_packet() const { return by == "packet"; }
};

class LoadBalancer {
 public:
  static constexpr std::uint32_t kGrades = 8;

  LoadBalancer(const LoadBalancing& params, Rng random) : params_(params), random_(random) {}

  // Whether it chooses for a packet; otherwise the hash of the flow or the forwarding table does.
  bool chooses_for(const ib::Packet& packet) const {
    return packet.may_take_any_path || (params_.is_by_flowlet() && packet.ethernet.has_value());
  }

  // One of `ports`, which must not be empty, for a packet with its flow hash. queued(port) returns the
  // bytes queued there.
  template <class Queued>
  PortNumber choose(std::span<const PortNumber> ports, const ib::Packet& packet, Instant now, Queued queued) {
    if (!params_.is_by_flowlet()) return best(ports, queued);
    if (flowlets_.size() >= kMostFlows) forget_old(now);
    Flowlet& flowlet = flowlets_[packet.flow_hash];
    const bool goes_on = flowlet.port.value != 0 && now < flowlet.last + params_.gap && contains(ports, flowlet.port);
    flowlet.last = now;
    if (!goes_on) flowlet.port = best(ports, queued);
    return flowlet.port;
  }

 private:
  struct Flowlet {
    PortNumber port;  // 0: none yet
    Instant last{};   // last packet of the flow
  };
  static constexpr std::size_t kMostFlows = 1 << 16;  // above it, idle flows are forgotten

  static bool contains(std::span<const PortNumber> ports, PortNumber port);
  void forget_old(Instant now);

  template <class Queued>
  PortNumber best(std::span<const PortNumber> ports, Queued queued) {
    std::uint32_t lowest = std::numeric_limits<std::uint32_t>::max();
    best_.clear();
    for (const PortNumber port : ports) {
      const std::uint32_t grade = grade_of(queued(port));
      if (grade > lowest) continue;
      if (grade < lowest) best_.clear();
      lowest = grade;
      best_.push_back(port);
    }
    return best_.size() == 1 ? best_.front() : best_[random_.below(best_.size())];
  }
  std::uint32_t grade_of(std::uint64_t bytes) const;

  const LoadBalancing params_;
  Rng random_;
  std::unordered_map<std::uint64_t, Flowlet> flowlets_;  // by the flow's hash
  std::vector<PortNumber> best_;
};

}  // namespace verbatim::fabric
