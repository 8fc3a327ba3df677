#include "tools/verbatim/run_links.h"

#include <algorithm>
#include <string>

#include "sim/config/link_params.h"
#include "sim/core/words.h"
#include "sim/ib/drop_reason.h"
#include "sim/ib/header_sizes.h"

namespace verbatim::cli {

namespace {

// Whether the packet was dropped at the port's output, or lost on its link by a scripted fault. A switch records a drop
// before it has chosen an output's queue as its own, with the port that the packet arrived at.
bool is_of_output(ib::DropReason reason, bool is_by_port) {
  using enum ib::DropReason;
  return (reason == kLinkDown && is_by_port) || reason == kFault || reason == kHeadLifetime || reason == kSwitchLifetime ||
         reason == kPauseWatchdog;
}

fabric::Port& port_of(config::Simulation& simulation, const config::Endpoint& end) {
  if (!end.is_switch) return simulation.host_port(end.node);
  return simulation.fabric_switch(end.node).port(fabric::PortNumber{static_cast<std::uint8_t>(end.port)});
}

std::string name_of(const config::TopologySpec& topology, const config::Endpoint& end) {
  return join(topology.node_name(end), ":", end.port);
}

// Share of the run during which the line carried packets, in 1/10,000.
std::uint64_t utilisation_of(const fabric::LinkParams& link, const ib::PortCounters& counters,
                             std::uint64_t wire_bytes, Instant end) {
  if (end <= Instant{}) return 0;
  const std::uint64_t bytes = wire_bytes + counters.xmit_packets * (link.bytes_before + link.bytes_after);
  const auto busy = static_cast<unsigned __int128>(link.byte_time.time_for(bytes).count());
  return std::min<std::uint64_t>(
      10'000, static_cast<std::uint64_t>(busy * 10'000 / static_cast<std::uint64_t>(to_ps(end))));
}

}  // namespace

// Drops inside adapters do not count: the transport recovers from them, or the specification requires them.
void LinkCounts::on_packet(const TraceRecord& record, const ib::Packet&, ComponentId port) {
  if (record.event == TraceEvent::kPacketMarked) ++ports_[record.component].marked;
  if (record.event != TraceEvent::kPacketDropped) return;
  const auto reason = static_cast<ib::DropReason>(record.values[3]);
  if (reason >= ib::DropReason::kCorrupted) return;
  Port& of = ports_[port.value];
  ++(is_of_output(reason, record.component == port.value) ? of.lost_sending : of.lost_arriving);
}

void LinkCounts::write_table(std::FILE* file, config::Simulation& simulation,
                             const observe::Congestion& congestion, Instant end) const {
  const config::TopologySpec& topology = simulation.topology();
  std::fputs(
      "from,to,bits_per_second,packets,bytes,utilisation,longest_queue_bytes,wait_ps,paused_ps,marked,dropped\n",
      file);
  for (const config::LinkSpec& link : topology.links) {
    for (const auto& [from, to] : {std::pair(link.end_a, link.end_b), std::pair(link.end_b, link.end_a)}) {
      fabric::Port &near = port_of(simulation, from), &far = port_of(simulation, to);
      const ib::PortCounters& counters = near.counters();
      // Port counters do not include the VCRC, not even on Ethernet.
      const std::uint64_t bytes = counters.xmit_bytes + counters.xmit_packets * ib::kVcrcBytes;
      std::uint32_t queue = 0;
      for (std::uint32_t lane = 0; lane < near.operational_lanes(); ++lane)
        queue = std::max(queue, near.most_queued_bytes(ib::VirtualLane{static_cast<std::uint8_t>(lane)}));
      const std::uint64_t utilisation = utilisation_of(near.link(), counters, bytes, end);
      const Port &of_near = ports_[near.id().value], &of_far = ports_[far.id().value];
      const std::string line =
          join(name_of(topology, from), ",", name_of(topology, to), ",", config::bits_per_second(link.rate),
               ",", counters.xmit_packets, ",", bytes, ",", utilisation / 10'000, ".",
               std::to_string(10'000 + utilisation % 10'000).substr(1), ",", queue, ",",
               counters.xmit_wait.count(), ",", congestion.paused_ps_by(far.id()), ",", of_near.marked, ",",
               of_near.lost_sending + of_far.lost_arriving, "\n");
      std::fputs(line.c_str(), file);
    }
  }
}

}  // namespace verbatim::cli
