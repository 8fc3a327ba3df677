#include "tools/verbatim/flow_facts.h"

#include <algorithm>

#include "sim/core/words.h"
#include "sim/ib/packet.h"
#include "sim/ib/types.h"

namespace verbatim::cli {

namespace {

constexpr std::uint32_t kNoComponent = ~0u;
constexpr std::size_t kMostAtPlace = 8;            // switches at one distance that are listed
constexpr std::string_view kSwitch = "switch/";  // prefix of a component's name

std::uint64_t address_of(const ib::Packet& packet) {
  return packet.ethernet ? packet.ethernet->destination.value : packet.lrh.destination.value;
}

bool is_marked(const ib::Packet& packet) {
  constexpr std::uint8_t kCongestionExperienced = 3;
  if (!packet.ethernet) return packet.bth.fecn;
  return packet.grh && (packet.grh->traffic_class & kCongestionExperienced) == kCongestionExperienced;
}

}  // namespace

FlowFacts::FlowFacts(config::Simulation& simulation, const workload::Traffic& traffic,
                     std::span<const workload::Flow* const> flows)
    : simulation_(simulation),
      adapter_of_port_(simulation.components().size(), kNoAdapter),
      far_switch_(simulation.components().size(), kNoComponent),
      targets_(simulation.topology().adapters.size()),
      flows_(flows.size()) {
  const config::TopologySpec& topology = simulation.topology();
  for (std::uint32_t i = 0; i < topology.adapters.size(); ++i) {
    const hca::PortAddress& address = simulation.endpoint(i).address();
    adapters_[address.roce ? address.mac.value : address.lid.value] = i;
    adapter_of_port_[simulation.host_port(i).id().value] = i;
  }
  const ComponentTable& components = simulation.components();
  const auto port = [&](const config::Endpoint& end) {
    return components.id(config::Simulation::port_name(topology.node_name(end), end.port)).value;
  };
  for (const config::LinkSpec& link : topology.links) {
    for (const auto& [near, far] : {std::pair(link.end_a, link.end_b), std::pair(link.end_b, link.end_a)}) {
      if (far.is_switch)
        far_switch_[port(near)] =
            components.id(std::string(kSwitch) + topology.switches[far.node].name).value;
    }
  }
  for (std::uint32_t i = 0; i < flows.size(); ++i) {
    const workload::FlowPlan& plan = traffic.flows[i];
    places_[flows[i]] = i;
    flows_[i].sender = plan.from;
    const bool is_read = traffic.kinds[plan.kind].operation == hca::SourceWork::Operation::kRead;
    for (const workload::Flow::Ends& ends : flows[i]->ends()) {
      target(plan.from, is_read ? ends.to : ends.from) = {i, false};
      target(plan.to, is_read ? ends.from : ends.to) = {i, true};
    }
  }
}

FlowFacts::Target& FlowFacts::target(std::uint32_t adapter, std::uint32_t qpn) {
  std::vector<Target>& of = targets_[adapter];
  const std::size_t place = qpn - hca::kFirstQueuePairNumber;
  if (place >= of.size()) of.resize(place + 1);
  return of[place];
}

const FlowFacts::Target* FlowFacts::find(std::uint32_t adapter, std::uint32_t qpn) const {
  const std::vector<Target>& of = targets_[adapter];
  const std::size_t place =
      std::size_t{qpn} - hca::kFirstQueuePairNumber;  // wraps beyond all numbers if negative
  return place < of.size() && of[place].flow != Target::kNone ? &of[place] : nullptr;
}

const FlowFacts::Target* FlowFacts::addressee(const ib::Packet& packet) const {
  const auto adapter = adapters_.find(address_of(packet));
  return adapter == adapters_.end() ? nullptr : find(adapter->second, packet.bth.destination.value);
}

void FlowFacts::on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId port) {
  if (packet.is_frame) return;
  switch (record.event) {
    case TraceEvent::kPacketForwarded: {
      const Target* const target = addressee(packet);
      if (target != nullptr && target->receives_data)
        add_crossing(flows_[target->flow], record.component, port);
      return;
    }
    case TraceEvent::kPacketTransmitted:
      if (packet.retransmission == 0 || adapter_of_port_[record.component] == kNoAdapter) return;
      if (const Target* const target = addressee(packet)) ++flows_[target->flow].facts.sent_again;
      return;
    case TraceEvent::kPacketReceived: {
      const bool is_notification = ib::is_notification(packet.bth.opcode);
      if (!is_notification && !packet.bth.becn && !is_marked(packet)) return;
      const std::uint32_t adapter = adapter_of_port_[record.component];
      if (adapter == kNoAdapter) return;
      const Target* const target = find(adapter, packet.bth.destination.value);
      if (target == nullptr) return;
      Facts& facts = flows_[target->flow].facts;
      if (target->receives_data)
        facts.marked += is_marked(packet) ? 1 : 0;
      else
        facts.notified += is_notification || packet.bth.becn ? 1 : 0;
      return;
    }
    default:
      return;
  }
}

// The packet came from the switch of an earlier crossing, because it crosses switches in order; the new
// switch is the next one.
void FlowFacts::add_crossing(Flow& flow, std::uint32_t component, ComponentId input) {
  std::vector<Crossing>& all = flow.crossings;
  const auto of = [&](std::uint32_t one) { return std::ranges::find(all, one, &Crossing::component); };
  if (of(component) != all.end()) return;
  const std::uint32_t before = far_switch_[input.value];
  if (before == kNoComponent) return all.push_back({component, 1});
  if (const auto previous = of(before); previous != all.end())
    all.push_back({component, previous->place + 1});
}

void FlowFacts::on_flow_started(const workload::Flow& flow) {
  Flow& of = flows_[places_.at(&flow)];
  of.is_under_way = true;
  of.wait_before = wait_of(of.sender);
}

void FlowFacts::on_flow_ended(const workload::Flow& flow) {
  Flow& of = flows_[places_.at(&flow)];
  if (!of.is_under_way) return;
  of.is_under_way = false;
  of.facts.held = wait_of(of.sender) - of.wait_before;
}

std::vector<FlowFacts::Facts> FlowFacts::finish() {
  std::vector<Facts> all;
  all.reserve(flows_.size());
  for (Flow& flow : flows_) {
    if (flow.is_under_way) flow.facts.held = wait_of(flow.sender) - flow.wait_before;
    std::ranges::sort(flow.crossings, {},
                      [](const Crossing& one) { return std::pair(one.place, one.component); });
    const auto name = [&](const Crossing& one) {
      return std::string_view(simulation_.components().name(ComponentId{one.component})).substr(kSwitch.size());
    };
    std::string& path = flow.facts.path;
    for (auto first = flow.crossings.begin(); first != flow.crossings.end();) {
      const auto past = std::find_if(first, flow.crossings.end(), [&](const Crossing& one) { return one.place != first->place; });
      const auto count = static_cast<std::size_t>(past - first);
      if (!path.empty()) path += '>';
      if (count > kMostAtPlace) {
        path += join(name(*first), "|...|", name(*(past - 1)), " (", count, ")");
      } else {
        for (auto one = first; one != past; ++one) path += join(one == first ? "" : "|", name(*one));
      }
      first = past;
    }
    all.push_back(std::move(flow.facts));
  }
  return all;
}

}  // namespace verbatim::cli
