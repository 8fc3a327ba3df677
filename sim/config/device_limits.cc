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

// Written parts have a place of their own, generated ones share that of the generator.
std::string pointer_to(const std::string& part, const char* key) { return part + "/" + key; }
std::string others(std::size_t count, const char* one, const char* several) {
  if (count == 0) return "";
  return " (the same at " + std::to_string(count) + " other " + (count == 1 ? one : several) + ")";
}

// A device at the end of a cable: what it is, and what its profile says.
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

// One warning for all links of a rate at devices of a profile.
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
    const bool is_generated = first->pointer == "/generate";
    diagnostics.warn({topology.file, is_generated ? first->pointer : pointer_to(first->pointer, "ports"),
                      "the switch " + in_quotes(first->name) + others(more, "switch", "switches") + " needs " + std::to_string(first->ports) +
                          " ports, but a switch of profile " + in_quotes(first->profile) + " has " +
                          std::to_string(first->switch_profile.ports_max),
                      is_generated ? "ask for several switches (shape leaf_spine) or fewer hosts, or choose a larger \"switch\""
                                   : "use fewer ports, several switches, or the profile of a larger one"});
  }
}

// Whether cables close a circle of switches at all; in a tree no routes can.
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

// Lanes that service levels leave by, from the profiles of both ends; empty where there is one lane for all.
subnet::LaneOf lanes_of(const TopologySpec& topology) {
  const bool is_plain = std::ranges::all_of(topology.switches, [](const SwitchSpec& one) {
    return one.switch_profile.virtual_lanes == 1 && one.switch_profile.sl_to_vl.empty();
  });
  if (is_plain) return {};
  std::vector<fabric::LaneTable> tables;
  for (const SwitchSpec& one : topology.switches) tables.emplace_back(one.switch_profile.sl_to_vl);
  std::map<std::pair<std::size_t, std::uint32_t>, std::uint32_t> operational;  // by switch and port
  for (const LinkSpec& link : topology.links) {
    if (!link.end_a.is_switch || !link.end_b.is_switch) continue;
    const std::uint32_t lanes = std::min(topology.switches[link.end_a.node].switch_profile.virtual_lanes,
                                         topology.switches[link.end_b.node].switch_profile.virtual_lanes);
    for (const Endpoint& end : {link.end_a, link.end_b}) operational[{end.node, end.port}] = lanes;
  }
  return [first = topology.adapters.size(), tables = std::move(tables), operational = std::move(operational)](
             std::size_t node, fabric::PortNumber port, std::uint8_t level) {
    return tables[node - first].of(ib::ServiceLevel{level}, operational.at({node - first, port.value})).value;
  };
}

void warn_of_credit_loop(const TopologySpec& topology, Diagnostics& diagnostics) {
  const auto has_credits = [](const LinkSpec& link) { return link.flow_control == "credits"; };
  if (!topology.manages_subnet() || std::ranges::none_of(topology.links, has_credits) || !has_circle(topology)) return;
  const std::vector<subnet::Node> nodes = nodes_of(topology);
  const subnet::Route loop = subnet::find_credit_loop(nodes, cables_of(topology), plan_of(topology), lanes_of(topology));
  if (loop.empty()) return;
  diagnostics.warn({topology.file, topology.generate.shape.empty() ? "/links" : "/generate",
                    "under load, packets can wait for each other's buffers in a circle of switch outputs and never move again: " +
                        subnet::credit_loop_text(nodes, loop),
                    "leave out a cable of this circle, or expect runs that end in a deadlock"});
}

}  // namespace

void warn_of_device_limits(const TopologySpec& topology, Diagnostics& diagnostics) {
  warn_of_rates(topology, diagnostics);
  warn_of_ports(topology, diagnostics);
  warn_of_credit_loop(topology, diagnostics);
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
