#include "tools/verbatim/run_congestion.h"

#include <map>
#include <utility>

#include "sim/fabric/port.h"
#include "sim/observe/drop_names.h"
#include "tools/verbatim/run_cause.h"

namespace verbatim::cli {

using Json = nlohmann::ordered_json;

nlohmann::ordered_json congestion_of(const observe::Congestion& congestion) {
  const observe::Congestion::Most pausing = congestion.longest_pausing(), marking = congestion.most_marking();
  const observe::Congestion::Rate lowest = congestion.lowest_rate();
  nlohmann::ordered_json json = {{"pauses", congestion.pauses()},           {"paused_ps", congestion.paused_ps()},
                                 {"longest_pausing_port", nullptr},         {"packets_marked", congestion.packets_marked()},
                                 {"most_marking_port", nullptr},            {"rate_changes", congestion.rate_changes()},
                                 {"lowest_rate", nullptr},                  {"pause_storms", congestion.storms()}};
  json["text"] = congestion_text(congestion);
  if (!pausing.component.empty()) json["longest_pausing_port"] = {{"port", pausing.component}, {"paused_ps", pausing.value}};
  if (!marking.component.empty()) json["most_marking_port"] = {{"port", marking.component}, {"packets", marking.value}};
  if (congestion.route_changes() != 0) json["route_changes"] = congestion.route_changes();
  if (!lowest.adapter.empty()) {
    json["lowest_rate"] = {{"adapter", lowest.adapter}, {"qpn", lowest.qpn}, {"mbps", lowest.mbps}, {"when_ps", lowest.when_ps}};
  }
  return json;
}

namespace {

// Greatest number of bytes in the output queues of each port and lane.
using DeepestQueues = std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>;

void add_queues(DeepestQueues& deepest, const fabric::Port& port) {
  if (!port.connected()) return;
  for (std::uint32_t lane = 0; lane < port.operational_lanes(); ++lane) {
    if (const auto bytes = port.most_queued_bytes(ib::VirtualLane{static_cast<std::uint8_t>(lane)}); bytes != 0)
      deepest[{port.id().value, lane}] = bytes;
  }
}

}  // namespace

Json ports_of(config::Simulation& simulation, const observe::Congestion& congestion) {
  DeepestQueues deepest;
  auto lanes = congestion.lanes();
  for (std::size_t i = 0; i < simulation.topology().switches.size(); ++i) {
    fabric::Switch& one = simulation.fabric_switch(i);
    for (std::uint32_t port = 1; port <= simulation.topology().switches[i].ports; ++port)
      add_queues(deepest, one.port(fabric::PortNumber{static_cast<std::uint8_t>(port)}));
  }
  for (const auto& [lane, bytes] : deepest) {
    if (bytes > fabric::kLeastInputBufferBytes) lanes[lane];
  }
  for (std::size_t i = 0; i < simulation.topology().adapters.size(); ++i) add_queues(deepest, simulation.host_port(i));
  Json ports = Json::array();
  std::uint32_t last = 0;
  for (const auto& [place, lane] : lanes) {
    if (ports.empty() || place.first != last)
      ports.push_back({{"port", simulation.components().name(ComponentId{place.first})}, {"lanes", Json::array()}});
    last = place.first;
    Json row = {{"lane", place.second}};
    if (lane.pauses != 0) {
      row["pauses"] = lane.pauses;
      row["paused_ps"] = lane.paused_ps;
      row["longest_pause_ps"] = lane.longest_pause_ps;
    }
    if (lane.marked != 0) row["packets_marked"] = lane.marked;
    for (const auto& [reason, packets] : lane.dropped) row["packets_dropped"][observe::drop_name(reason)] = packets;
    if (const auto queue = deepest.find(place); queue != deepest.end()) row["deepest_queue_bytes"] = queue->second;
    ports.back()["lanes"].push_back(std::move(row));
  }
  return ports;
}

Json congestion_counters_of(config::Simulation& simulation) {
  Json list = Json::array();
  for (std::size_t i = 0; i < simulation.topology().adapters.size(); ++i) {
    const hca::CongestionCounters& counters = simulation.endpoint(i).congestion_counters();
    if (counters == hca::CongestionCounters{}) continue;
    list.push_back({{"adapter", simulation.components().name(simulation.endpoint(i).component())},
                    {"np_ecn_marked_roce_packets", counters.np_ecn_marked_roce_packets},
                    {"np_cnp_sent", counters.np_cnp_sent},
                    {"rp_cnp_handled", counters.rp_cnp_handled},
                    {"rp_cnp_ignored", counters.rp_cnp_ignored}});
  }
  return list;
}

}  // namespace verbatim::cli
