#include "sim/supervisor/net/interface_statistics.h"

#include <utility>

#include "sim/core/check.h"
#include "sim/core/words.h"

namespace verbatim::supervisor {

namespace {

std::uint64_t microseconds(Duration duration) {
  constexpr std::int64_t kPsPerMicrosecond = 1'000'000;
  return static_cast<std::uint64_t>(duration.count() / kPsPerMicrosecond);
}

}  // namespace

std::vector<InterfaceStatistic> interface_statistics(const ib::PortCounters& counters, Instant now) {
  CHECK(counters.priorities != nullptr);
  const ib::PriorityCounters& priorities = *counters.priorities;
  ib::PriorityCounts sum;
  for (const ib::PriorityCounts& one : priorities) {
    sum.xmit_bytes += one.xmit_bytes;
    sum.rcv_bytes += one.rcv_bytes;
    sum.rcv_discards += one.rcv_discards;
  }
  std::vector<InterfaceStatistic> all;
  const auto add = [&](std::string name, std::uint64_t value) { all.push_back({std::move(name), value}); };
  add("tx_packets_phy", counters.xmit_packets);
  add("rx_packets_phy", counters.rcv_packets);
  add("rx_crc_errors_phy", counters.rcv_errors);
  add("tx_bytes_phy", sum.xmit_bytes);
  add("rx_bytes_phy", sum.rcv_bytes);
  add("tx_multicast_phy", counters.multicast_xmit_packets);
  add("rx_multicast_phy", counters.multicast_rcv_packets);
  add("rx_symbol_err_phy", counters.symbol_errors);
  // Pause frames for all traffic (IEEE 802.3 30.3.4); those of PFC follow below.
  add("rx_pause_ctrl_phy", 0);
  add("tx_pause_ctrl_phy", 0);
  add("rx_discards_phy", sum.rcv_discards);
  add("tx_discards_phy", counters.xmit_discards);
  add("link_down_events_phy", counters.link_downed);
  for (std::size_t i = 0; i < priorities.size(); ++i) {
    const ib::PriorityCounts& one = priorities[i];
    const std::string rx = join("rx_prio", i, "_"), tx = join("tx_prio", i, "_");
    add(rx + "bytes", one.rcv_bytes);
    add(rx + "packets", one.rcv_packets);
    add(rx + "discards", one.rcv_discards);
    add(tx + "bytes", one.xmit_bytes);
    add(tx + "packets", one.xmit_packets);
  }
  for (std::size_t i = 0; i < priorities.size(); ++i) {
    const ib::PriorityCounts& one = priorities[i];
    const std::string rx = join("rx_prio", i, "_"), tx = join("tx_prio", i, "_");
    add(rx + "pause", one.rcv_pauses.frames);
    add(rx + "pause_duration", microseconds(one.rcv_pauses.total(now)));
    add(tx + "pause", one.xmit_pauses.frames);
    add(tx + "pause_duration", microseconds(one.xmit_pauses.total(now)));
    add(rx + "pause_transition", one.rcv_pauses.ended);
  }
  return all;
}

}  // namespace verbatim::supervisor
