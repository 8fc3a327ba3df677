#include "sim/config/device_limits.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "sim/config/cabling.h"
#include "sim/fabric/lane_table.h"
#include "sim/subnet/credit_loops.h"

namespace verbatim::config {

namespace {

std::string rate_text(const TopologySpec& topology, const LinkRate& rate) {
  const std::string bits = format_quantity(bits_per_second(rate), Dimension::kRate);
  return topology.is_roce() ? bits : format_link_rate(rate) + " (" + bits + ")";
}

// A part of the file has a pointer of its own; generated parts have the generator's.
std::string pointer_to(const std::string& part, const char* key) { return part + "/" + key; }
std::string others(std::size_t count, const char* one, const char* several) {
  if (count == 0) return "";
  return " (the same at " + std::to_string(count) + " other " + (count == 1 ? one : several) + ")";
}

// A device at the end of a cable, with its profile and that profile's fastest rate.
struct Device {
  std::string name, profile;
  ByteTime fastest;
};

Device device_at(const TopologySpec& topology, const Endpoint& end) {
  if (end.is_switch) {
    const SwitchSpec& of = topology.switches[end.node];
    return {"the switch " + in_quotes(of.name), of.profile, of.switch_profile.link_byte_time_min};
  }
  const AdapterSpec& adapter = topology.adapters[end.node];
  const HostSpec& host = topology.hosts[adapter.host];
  return {"the adapter of " + in_quotes(adapter.name), adapter.number == 0 ? host.hca : host.further_adapters[adapter.number - 1].hca,
          topology.hca_profile(adapter).link_byte_time_min};
}

// One warning for all links of one rate at devices of one profile.
void warn_of_rates(const TopologySpec& topology, Diagnostics& diagnostics) {
  struct Finds {
    std::string pointer, device;
    LinkRate rate, fastest;
    std::size_t others = 0;
  };
  std::vector<std::pair<std::string, Finds>> found;  // by profile and rate
  for (const LinkSpec& link : topology.links) {
    for (const Endpoint& end : {link.end_a, link.end_b}) {
      const Device device = device_at(topology, end);
      if (device.fastest.ps_numerator == 0 || !fabric::is_faster(link.rate.byte_time, device.fastest)) continue;
      const auto fastest = link_rate_of(device.fastest);
      if (!fastest) continue;
      const std::string key = device.profile + "\n" + format_link_rate(link.rate);
      const auto known = std::ranges::find(found, key, &std::pair<std::string, Finds>::first);
      if (known != found.end()) ++known->second.others;
      else found.push_back({key, {pointer_to(link.pointer, "rate"), device.name, link.rate, *fastest}});
    }
  }
  for (const auto& [key, one] : found) {
    const std::string profile = key.substr(0, key.find('\n'));
    diagnostics.warn({topology.file, one.pointer,
                      rate_text(topology, one.rate) + " is faster than " + one.device + others(one.others, "link", "links") + ": profile " +
                          in_quotes(profile) + " has at most " + rate_text(topology, one.fastest),
                      "choose a slower link, or a profile of a faster device"});
  }
}

void warn_of_ports(const TopologySpec& topology, Diagnostics& diagnostics) {
  std::map<std::pair<std::string, std::uint32_t>, std::pair<const SwitchSpec*, std::size_t>> found;
  std::vector<std::pair<std::string, std::uint32_t>> order;
  for (const SwitchSpec& one : topology.switches) {
    const std::uint32_t most = one.switch_profile.ports_max;
    if (most == 0 || one.ports <= most) continue;
    const auto [entry, is_new] = found.try_emplace({one.profile, one.ports}, &one, 0);
    if (is_new) order.push_back(entry->first);
    else ++entry->second.second;
  }
  for (const auto& key : order) {
    const auto& [first, more] = found.at(key);
    const bool is_generated = first->pointer.starts_with("/generate");
    diagnostics.warn({topology.file, is_generated ? "/generate" : pointer_to(first->pointer, "ports"),
                      "the switch " + in_quotes(first->name) + others(more, "switch", "switches") + " needs " + std::to_string(first->ports) +
                          " ports, but a switch of profile " + in_quotes(first->profile) + " has " +
                          std::to_string(first->switch_profile.ports_max),
                      is_generated ? "ask for several switches (shape leaf_spine) or fewer hosts, or choose a larger \"switch\""
                                   : "use fewer ports, several switches, or the profile of a larger one"});
  }
}

// Without a k the generator builds every pod of the smallest k with enough places.
void warn_of_empty_leaves(const TopologySpec& topology, Diagnostics& diagnostics) {
  if (topology.generate.shape != "fat_tree" || topology.generate.k != 0) return;
  std::vector<bool> has_adapters(topology.switches.size(), false);
  for (const LinkSpec& link : topology.links) {
    if (!link.end_a.is_switch && link.end_b.is_switch) has_adapters[link.end_b.node] = true;
    if (!link.end_b.is_switch && link.end_a.is_switch) has_adapters[link.end_a.node] = true;
  }
  std::size_t leaves = 0, empty = 0;
  std::uint32_t ports = 0;
  for (std::size_t i = 0; i < topology.switches.size(); ++i) {
    if (topology.switches[i].name.find("leaf") == std::string::npos) continue;
    ++leaves;
    ports = std::max(ports, topology.switches[i].ports);
    if (!has_adapters[i]) ++empty;
  }
  if (2 * empty <= leaves) return;
  diagnostics.warn({topology.file, "/generate",
                    std::to_string(topology.switches.size()) + " switches are built for " + std::to_string(topology.hosts.size()) +
                        " hosts, and " + std::to_string(empty) + " of " + std::to_string(leaves) +
                        " leaves have none: without \"k\" all pods are built of the smallest k with enough places, which is " + std::to_string(ports),
                    "give \"k\": " + std::to_string(ports) + ", and only pods with hosts are built, or another k"});
}

// A queue never has more bytes than the memory, so a higher threshold marks nothing. The thresholds of a port may
// depend on its rate. One warning for each profile and curve.
void warn_of_marking(const TopologySpec& topology, Diagnostics& diagnostics) {
  struct Finds {
    const SwitchSpec* first = nullptr;
    std::uint64_t least = ~std::uint64_t{0};  // of all ports
    std::size_t others = 0;
  };
  std::map<std::pair<std::string, std::size_t>, Finds> found;  // by profile and curve
  std::vector<std::vector<const LinkSpec*>> links(topology.switches.size());
  for (const LinkSpec& link : topology.links) {
    if (link.flow_control == "credits") continue;
    for (const Endpoint& end : {link.end_a, link.end_b}) {
      if (end.is_switch) links[end.node].push_back(&link);
    }
  }
  for (std::size_t i = 0; i < topology.switches.size(); ++i) {
    const SwitchSpec& one = topology.switches[i];
    const fabric::SwitchProfile& profile = one.switch_profile;
    if (profile.shared_memory.bytes == 0 || links[i].empty()) continue;
    for (std::size_t curve = 0; curve < profile.marking.queues.size(); ++curve) {
      const fabric::MarkedQueues& queues = profile.marking.queues[curve];
      std::uint64_t lowest = ~std::uint64_t{0};
      for (const LinkSpec* const link : links[i])
        lowest = std::min(lowest, fabric::scaled_threshold(queues.least_bytes, queues.at_rate, link->rate.byte_time));
      if (lowest < profile.shared_memory.bytes) continue;
      Finds& finds = found[{one.profile, curve}];
      if (finds.first == nullptr) finds.first = &one;
      else ++finds.others;
      finds.least = std::min(finds.least, lowest);
    }
  }
  for (const auto& [key, finds] : found) {
    const fabric::SwitchProfile& profile = finds.first->switch_profile;
    const auto size = [](std::uint64_t bytes) { return format_quantity(static_cast<std::int64_t>(bytes), Dimension::kSize); };
    diagnostics.warn({topology.file, finds.first->pointer,
                      "the switch " + in_quotes(finds.first->name) + others(finds.others, "switch", "switches") +
                          " never marks packets of priorities " + profile.marking.queues[key.second].priorities +
                          ": \"kmin\" of profile " + in_quotes(key.first) + " is " + size(finds.least) +
                          " at its ports, and all queues together have the shared memory's " + size(profile.shared_memory.bytes),
                      "choose a smaller \"kmin\", or leave out the entry of \"marking\""});
  }
}

// Whether cables form a cycle of switches. Without one, routes cannot deadlock.
bool has_circle(const TopologySpec& topology) {
  std::vector<std::size_t> group(topology.switches.size());
  std::iota(group.begin(), group.end(), std::size_t{0});
  const auto find = [&](std::size_t n) {
    while (group[n] != n) n = group[n] = group[group[n]];
    return n;
  };
  for (const LinkSpec& link : topology.links) {
    if (!link.end_a.is_switch || !link.end_b.is_switch) continue;
    const std::size_t a = find(link.end_a.node), b = find(link.end_b.node);
    if (a == b) return true;
    group[a] = b;
  }
  return false;
}

// Lanes of a switch's output on which packets can wait for ever: those that always have flow control.
struct OutputLanes {
  std::uint32_t count = 1;
  std::uint32_t waiting = ~0u;  // bit n for lane n
  friend bool operator==(const OutputLanes&, const OutputLanes&) = default;
};

OutputLanes output_lanes(const TopologySpec& topology, const LinkSpec& link) {
  OutputLanes lanes;
  lanes.count = std::min(topology.switches[link.end_a.node].switch_profile.virtual_lanes,
                         topology.switches[link.end_b.node].switch_profile.virtual_lanes);
  if (link.flow_control == "pfc") lanes.waiting = link.lossless_lanes;
  if (link.flow_control == "none") lanes.waiting = 0;
  return lanes;
}

// Lanes of the service levels or priorities, from the profiles of both ends or from the routing engine; empty
// if there is one lane for all. With PFC only packets of lossless priorities wait.
subnet::LaneOf lanes_of(const TopologySpec& topology, const subnet::Plan& plan) {
  const std::size_t first = topology.adapters.size();
  const auto is_plain_switch = [](const SwitchSpec& one) {
    return one.switch_profile.virtual_lanes == 1 && one.switch_profile.sl_to_vl.empty();
  };
  const auto has_credits = [](const LinkSpec& link) { return link.flow_control == "credits"; };
  if (std::ranges::all_of(topology.switches, is_plain_switch) && std::ranges::all_of(topology.links, has_credits)) return {};
  std::vector<std::vector<fabric::LaneTable>> tables;  // by switch, and by port where these differ
  std::map<std::tuple<std::size_t, fabric::PortNumber, fabric::PortNumber>, fabric::LaneTable> turns;
  for (std::size_t s = 0; s < topology.switches.size(); ++s) {
    std::vector<fabric::LaneTable>& own = tables.emplace_back();
    for (const std::vector<fabric::LevelMapping>& lanes : plan.nodes[first + s].lanes) own.emplace_back(lanes);
    if (own.empty()) own.emplace_back(topology.switches[s].switch_profile.sl_to_vl);
    for (const subnet::NodePlan::TurnLanes& turn : plan.nodes[first + s].turn_lanes)
      turns.emplace(std::tuple(first + s, turn.in, turn.out), fabric::LaneTable(turn.lanes));
  }
  std::map<std::pair<std::size_t, std::uint32_t>, OutputLanes> outputs;  // by switch and port; not empty, as has_circle() is true
  for (const LinkSpec& link : topology.links) {
    if (!link.end_a.is_switch || !link.end_b.is_switch) continue;
    for (const Endpoint& end : {link.end_a, link.end_b}) outputs[{end.node, end.port}] = output_lanes(topology, link);
  }
  const auto first_output = outputs.begin();
  const auto is_usual_switch = [&](const SwitchSpec& one) {
    return one.switch_profile.sl_to_vl == topology.switches[0].switch_profile.sl_to_vl;
  };
  const auto is_usual_output = [&](const auto& output) { return output.second == first_output->second; };
  const bool is_uniform = plan.levels == nullptr && std::ranges::all_of(topology.switches, is_usual_switch) &&
                          std::ranges::all_of(outputs, is_usual_output);
  const std::pair<std::size_t, std::uint32_t> any = first_output->first;
  subnet::LaneOf lane_of = [first, tables = std::move(tables), turns = std::move(turns), outputs = std::move(outputs)](
                               std::size_t node, fabric::PortNumber in, fabric::PortNumber port, std::uint8_t level) {
    const OutputLanes& output = outputs.at({node - first, port.value});
    const std::vector<fabric::LaneTable>& own = tables[node - first];
    const auto turn = turns.find({node, in, port});
    const fabric::LaneTable& table = turn != turns.end() ? turn->second : own[own.size() == 1 ? 0 : port.value - 1u];
    const std::uint8_t lane = table.of(ib::ServiceLevel{level}, output.count).value;
    return (output.waiting >> lane & 1) != 0 ? lane : subnet::kNoLane;
  };
  // If all switches and cables are alike, all lanes have the same cycles, so the first one in use is enough.
  constexpr std::uint8_t kLevels = 16;
  std::uint8_t least = 0;
  while (is_uniform && least < kLevels &&
         lane_of(first + any.first, {}, fabric::PortNumber{static_cast<std::uint8_t>(any.second)}, least) == subnet::kNoLane)
    ++least;
  if (!is_uniform || least == kLevels) return lane_of;
  return [least, lane_of = std::move(lane_of)](std::size_t node, fabric::PortNumber in,
                                               fabric::PortNumber port, std::uint8_t level) {
    return level == least ? lane_of(node, in, port, level) : subnet::kNoLane;
  };
}

void warn_of_credit_loop(const TopologySpec& topology, const subnet::Plan& plan, Diagnostics& diagnostics) {
  const auto can_wait = [](const LinkSpec& link) { return link.flow_control != "none"; };
  if (std::ranges::none_of(topology.links, can_wait) || !has_circle(topology)) return;
  const std::vector<subnet::Node> nodes = nodes_of(topology);
  // Group trees of minhop, the default engine, are not checked: they carry few packets in real fabrics.
  const bool with_groups = !topology.is_roce() && plan.engine != subnet::Engine::kMinhop;
  const subnet::Route loop = subnet::find_credit_loop(nodes, cables_of(topology), plan, lanes_of(topology, plan), with_groups);
  if (loop.empty()) return;
  const bool has_pauses = std::ranges::any_of(topology.links, [](const LinkSpec& link) { return link.flow_control == "pfc"; });
  const std::string routes = topology.is_roce() ? "all ways of equal length" : "the routes of " + std::string(subnet::name_of(plan.engine));
  std::string hint = "leave out a cable of this circle";
  if (has_pauses) hint += ", or take the priority out of \"lossless_priorities\"";
  if (!topology.is_roce())
    hint = "set \"routing_engine\" to \"updn\" and name \"root_switches\", or to \"dfsssp\" or \"lash\" with a switch profile of several "
           "\"virtual_lanes\"; or " + hint;
  diagnostics.warn({topology.file, topology.generate.shape.empty() ? "/links" : "/generate",
                    "under load, packets can wait for each other's buffers in a circle of switch outputs and never move again, by " + routes + ": " +
                        subnet::credit_loop_text(nodes, loop, has_pauses ? "priority" : ""),
                    hint + ", or expect runs that end in a deadlock"});
}

void check_routes(const TopologySpec& topology, const subnet::Plan& plan, Diagnostics& diagnostics) {
  for (const subnet::Refusal& one : plan.refusals) {
    const std::string text = "the routing engine " + std::string(subnet::name_of(one.engine)) + " cannot route this fabric: " + one.text;
    const std::string next = std::string(subnet::name_of(plan.engine)) + " routes it, as OpenSM would have it";
    if (plan.is_routed) diagnostics.warn({topology.file, "/routing_engine", text + "; " + next, "choose another engine, or add \"no_fallback\" to have this refused"});
    else diagnostics.add(topology.file, "/routing_engine", text, "choose another engine, or leave out \"no_fallback\"");
  }
}

void warn_of_routes(const TopologySpec& topology, Diagnostics& diagnostics) {
  const bool is_usual = topology.routing.engines == std::vector{subnet::Engine::kMinhop};
  if (!topology.manages_subnet() || (is_usual && !has_circle(topology))) return;
  const subnet::Plan plan = plan_of(topology);
  check_routes(topology, plan, diagnostics);
  if (plan.is_routed) warn_of_credit_loop(topology, plan, diagnostics);
}

}  // namespace

void warn_of_device_limits(const TopologySpec& topology, Diagnostics& diagnostics) {
  warn_of_rates(topology, diagnostics);
  warn_of_ports(topology, diagnostics);
  warn_of_marking(topology, diagnostics);
  warn_of_empty_leaves(topology, diagnostics);
  warn_of_routes(topology, diagnostics);
}

void warn_of_oversubscription(const TopologySpec& topology, Diagnostics& diagnostics) {
  struct Rates {
    std::int64_t adapters = 0, switches = 0;  // bit/s
  };
  std::vector<Rates> rates(topology.switches.size());
  for (const LinkSpec& link : topology.links) {
    for (const auto& [here, there] : {std::pair(link.end_a, link.end_b), std::pair(link.end_b, link.end_a)}) {
      if (!here.is_switch) continue;
      (there.is_switch ? rates[here.node].switches : rates[here.node].adapters) += bits_per_second(link.rate);
    }
  }
  std::size_t worst = rates.size(), count = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const Rates& one = rates[i];
    if (one.switches == 0 || one.adapters <= kUsualOversubscription * one.switches) continue;
    ++count;
    if (worst == rates.size() || one.adapters / one.switches > rates[worst].adapters / rates[worst].switches) worst = i;
  }
  if (count == 0) return;
  const auto text = [](std::int64_t bits) { return format_quantity(bits, Dimension::kRate); };
  diagnostics.warn({topology.file, topology.switches[worst].pointer,
                    "the adapters at switch " + in_quotes(topology.switches[worst].name) + others(count - 1, "switch", "switches") + " have " +
                        text(rates[worst].adapters) + " together, and its cables to other switches " + text(rates[worst].switches) +
                        ": " + std::to_string(rates[worst].adapters / rates[worst].switches) + ":1 oversubscription",
                    "add cables or switches, unless congestion is what you want to see"});
}

}  // namespace verbatim::config
