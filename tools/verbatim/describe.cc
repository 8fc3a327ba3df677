#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/cabling.h"
#include "sim/config/device_limits.h"
#include "sim/config/load.h"
#include "sim/config/marked_priorities.h"
#include "sim/config/words.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/fabric/picture.h"
#include "tools/verbatim/install_paths.h"
#include "tools/verbatim/output_file.h"
#include "tools/verbatim/text_table.h"

namespace verbatim::cli {

namespace {

using config::Dimension;
using config::format_quantity;

// Address of an adapter; for a further adapter also its network and its host name.
std::string address_text(const config::TopologySpec& topology, std::size_t adapter) {
  const ib::IpInterface interface = topology.interface_of(adapter);
  const std::string address = config::format_ipv4(interface.address);
  if (topology.adapters[adapter].number == 0) return address;
  return address + "/" + std::to_string(interface.network.prefix_bits) + " as " + topology.address_name(adapter);
}

std::string counted(std::size_t n, const std::string& thing, const std::string& plural) {
  return std::to_string(n) + " " + (n == 1 ? thing : plural);
}

std::string gid_text(const ib::Gid& gid) {
  std::string text;
  for (int i = 0; i < 16; ++i) {
    if (i > 0 && i % 2 == 0) text += ':';
    text += "0123456789abcdef"[gid.raw[i] >> 4];
    text += "0123456789abcdef"[gid.raw[i] & 15];
  }
  return text;
}

std::string mac_text(ib::MacAddress mac) {
  std::string text;
  for (int shift = 40; shift >= 0; shift -= 8) {
    if (!text.empty()) text += ':';
    text += "0123456789abcdef"[mac.value >> (shift + 4) & 15];
    text += "0123456789abcdef"[mac.value >> shift & 15];
  }
  return text;
}

std::string end_text(const config::TopologySpec& topology, const config::Endpoint& end) {
  return topology.node_name(end) + ":" + std::to_string(end.port);
}

// Flow control of a cable of Ethernet: "PFC of priorities 0-7", "no PFC".
std::string pauses_text(const config::LinkSpec& link) {
  if (link.flow_control != "pfc") return link.flow_control == "credits" ? "credits, no PFC" : "no PFC";
  const std::string text = "PFC of priorities " + link.pfc.lossless_priorities;
  return link.pfc.ends == "both" ? text : text + " at one end";
}

bool marks(const config::SwitchSpec& one) { return !config::marked_priorities(one.switch_profile.marking).empty(); }

// "ECN marking", "ECN marking of priorities 1-7", "no ECN marking".
std::string marking_text(const config::SwitchSpec& one) {
  const std::string priorities = config::marked_priorities(one.switch_profile.marking);
  if (priorities.empty()) return "no ECN marking";
  return priorities == "0-7" ? "ECN marking" : "ECN marking of priorities " + priorities;
}

std::string controller_text(const hca::HcaProfile& profile) {
  const std::string& name = profile.congestion_control.controller;
  return name == "none" ? "no congestion control" : "congestion control " + name;
}

void print_links(const config::TopologySpec& topology) {
  std::printf("Links\n");
  TextTable table;
  for (const config::LinkSpec& link : topology.links) {
    std::vector<std::string> row = {end_text(topology, link.end_a), "--", end_text(topology, link.end_b),
                                    topology.is_roce() ? "Ethernet" : config::format_link_rate(link.rate),
                                    format_quantity(config::bits_per_second(link.rate), Dimension::kRate),
                                    link.length_mm == 0 && link.propagation() > Duration(0) ? "-" : format_quantity(link.length_mm, Dimension::kLength),
                                    format_quantity(to_ps(link.propagation()), Dimension::kDuration)};
    if (topology.is_roce()) row.push_back(pauses_text(link));
    table.row(std::move(row));
  }
  std::fputs(table.text().c_str(), stdout);
}

constexpr std::size_t kRoutesShown = 64;

void print_routes(const config::TopologySpec& topology, const subnet::Plan& plan) {
  std::printf(topology.is_roce() ? "Routes (of several of equal length each flow takes one)\n" : "Routes\n");
  const std::size_t n = topology.adapters.size();
  TextTable table;
  std::size_t shown = 0;
  for (std::size_t from = 0; from < n; ++from) {
    for (std::size_t to = 0; to < n && shown < kRoutesShown; ++to) {
      if (from == to) continue;
      std::string hops;
      for (const std::string& hop : config::route(topology, plan, from, to))
        hops += (hops.empty() ? "" : " > ") + hop;
      table.row({topology.adapters[from].name, "->", topology.adapters[to].name, hops.empty() ? "no route" : hops});
      ++shown;
    }
  }
  std::fputs(table.text().c_str(), stdout);
  if (n * (n - 1) > shown) std::printf("  … and %zu more\n", n * (n - 1) - shown);
}

std::string pkeys_text(const std::vector<std::uint16_t>& table) {
  std::string text;
  for (const std::uint16_t pkey : table) {
    char one[8];
    std::snprintf(one, sizeof(one), "0x%04x", pkey);
    text += (text.empty() ? "" : " ") + std::string(one);
  }
  return text.empty() ? "none" : text;
}

std::size_t ports_in_use(const config::TopologySpec& topology, std::size_t of) {
  std::size_t used = 0;
  for (const config::LinkSpec& link : topology.links)
    used += (link.end_a.is_switch && link.end_a.node == of) + (link.end_b.is_switch && link.end_b.node == of);
  return used;
}

Answer::Json hosts_json(const config::TopologySpec& topology, const subnet::Plan& plan) {
  const auto pkey_tables = config::pkey_tables_of(topology);
  auto all = Answer::Json::array();
  for (std::size_t i = 0; i < topology.adapters.size(); ++i) {
    const config::AdapterSpec& adapter = topology.adapters[i];
    const config::HostSpec& host = topology.hosts[adapter.host];
    const subnet::PortPlan& port = plan.nodes[i].ports[0];
    Answer::Json one = {
        {"adapter", adapter.name}, {"host", host.name}, {"address", config::format_ipv4(topology.interface_of(i).address)}};
    if (topology.is_roce()) one["mac"] = mac_text(port.mac);
    else one["lid"] = port.lid.value;
    auto& gids = one["gids"] = Answer::Json::array();
    for (const ib::Gid& gid : config::gids_of(topology, plan, i)) gids.push_back(gid_text(gid));
    auto& vlans = one["vlans"] = Answer::Json::array();
    for (const config::VlanSpec& vlan : topology.vlans_of(adapter))
      vlans.push_back({{"id", vlan.id}, {"address", config::format_ipv4(vlan.interface.address)}});
    one["pkeys"] = pkey_tables[i];
    one["hca"] = topology.hca_profile(adapter).name;
    one["cpu"] = host.cpu_profile.name;
    if (topology.is_roce()) one["congestion_control"] = topology.hca_profile(adapter).congestion_control.controller;
    all.push_back(std::move(one));
  }
  return all;
}

Answer::Json routes_json(const config::TopologySpec& topology, const subnet::Plan& plan) {
  const std::size_t n = topology.adapters.size();
  auto routes = Answer::Json::array();
  for (std::size_t from = 0; from < n; ++from) {
    for (std::size_t to = 0; to < n && routes.size() < kRoutesShown; ++to) {
      if (from == to) continue;
      routes.push_back({{"from", topology.adapters[from].name},
                        {"to", topology.adapters[to].name},
                        {"hops", config::route(topology, plan, from, to)}});
    }
  }
  return routes;
}

Answer::Json json_of(const config::TopologySpec& topology, const subnet::Plan& plan) {
  auto switches = Answer::Json::array(), links = Answer::Json::array();
  for (std::size_t i = 0; i < topology.switches.size(); ++i) {
    const config::SwitchSpec& s = topology.switches[i];
    Answer::Json one = {{"name", s.name}};
    if (!topology.is_roce()) one["lid"] = plan.nodes[topology.adapters.size() + i].ports[0].lid.value;
    one.update({{"ports", s.ports}, {"ports_in_use", ports_in_use(topology, i)}, {"profile", s.switch_profile.name}});
    if (topology.is_roce()) one["marks"] = marks(s);
    switches.push_back(std::move(one));
  }
  for (const config::LinkSpec& link : topology.links) {
    links.push_back({{"ends", {end_text(topology, link.end_a), end_text(topology, link.end_b)}},
                     {"bits_per_second", config::bits_per_second(link.rate)},
                     {"length_mm", link.length_mm},
                     {"delay_ps", to_ps(link.propagation())}});
    if (topology.is_roce()) links.back()["flow_control"] = link.flow_control;
    if (topology.is_roce() && link.flow_control == "pfc") links.back()["lossless_priorities"] = link.pfc.lossless_priorities;
  }
  const std::size_t n = topology.adapters.size();
  auto routes = routes_json(topology, plan);
  const std::size_t left_out = n * (n - 1) - routes.size();
  return {{"topology", topology.name},
          {"description", topology.description},
          {"link_layer", topology.link_layer},
          {"adapters", hosts_json(topology, plan)},
          {"switches", std::move(switches)},
          {"links", std::move(links)},
          {"routes", std::move(routes)},
          {"routes_left_out", left_out},
          {"management_network",
           {{"latency_ps", to_ps(topology.management_network.latency)},
            {"bits_per_second", topology.management_network.bits_per_second}}}};
}

}  // namespace

int describe(const DescribeOptions& options) {
  const AnswerStyle style = options.style;
  config::Diagnostics diagnostics;
  protect_input(options.topology);
  const auto topology = config::load_topology(options.topology, {profile_folders(), nullptr, "describe"}, diagnostics);
  if (!topology) {
    print(diagnostics);
    return kUsage;
  }
  config::warn_of_device_limits(*topology, diagnostics);
  config::warn_of_oversubscription(*topology, diagnostics);
  if (!diagnostics.empty()) {
    print(diagnostics);
    return kUsage;
  }
  if (!can_write(options.picture) || !can_write(options.dot)) return kUsage;
  if (style.is_for_people()) print_warnings(diagnostics);
  for (const auto& [path, write] : {std::pair(&options.picture, &picture_of), std::pair(&options.dot, &dot_of)}) {
    if (path->empty()) continue;
    if (const std::string failure = write_document(*path, write(*topology)); !failure.empty()) {
      complain(failure);
      return kProgramFailed;
    }
  }
  // A picture or DOT file replaces the description.
  if (!style.json && (!options.picture.empty() || !options.dot.empty())) return kAsExpected;
  const subnet::Plan plan = config::plan_of(*topology);
  Answer answer("describe", style);
  if (style.json) answer.document() = json_of(*topology, plan);
  if (!answer.is_for_people()) return answer.end(kAsExpected);
  std::printf("%s: %s, %s, %s, %s\n", topology->name.c_str(), topology->link_layer.c_str(),
              counted(topology->hosts.size(), "host", "hosts").c_str(),
              counted(topology->switches.size(), "switch", "switches").c_str(),
              counted(topology->links.size(), "link", "links").c_str());
  if (!topology->description.empty()) std::printf("%s\n", topology->description.c_str());

  const auto pkey_tables = config::pkey_tables_of(*topology);
  std::printf("Hosts\n");
  TextTable hosts;
  for (std::size_t i = 0; i < topology->adapters.size(); ++i) {
    const config::AdapterSpec& adapter = topology->adapters[i];
    const config::HostSpec& host = topology->hosts[adapter.host];
    std::vector<std::string> row = {adapter.name, address_text(*topology, i)};
    const subnet::PortPlan& port = plan.nodes[i].ports[0];
    row.push_back(topology->is_roce() ? "MAC " + mac_text(port.mac)
                                      : "LID " + std::to_string(port.lid.value));
    for (const ib::Gid& gid : config::gids_of(*topology, plan, i)) row.push_back("GID " + gid_text(gid));
    for (const config::VlanSpec& vlan : topology->vlans_of(adapter)) {
      row.push_back("VLAN " + std::to_string(vlan.id) + " " + config::format_ipv4(vlan.interface.address) + "/" +
                    std::to_string(vlan.interface.network.prefix_bits) + " as " + host.name + "-" + config::TopologySpec::vlan_interface_name(adapter, vlan));
    }
    if (!topology->partitions.empty()) row.push_back("P_Keys " + pkeys_text(pkey_tables[i]));
    row.push_back("hca " + topology->hca_profile(adapter).name);
    row.push_back("cpu " + host.cpu_profile.name);
    if (topology->is_roce()) row.push_back(controller_text(topology->hca_profile(adapter)));
    hosts.row(row);
  }
  std::fputs(hosts.text().c_str(), stdout);
  if (!topology->switches.empty()) {
    std::printf("Switches\n");
    TextTable switches;
    for (std::size_t i = 0; i < topology->switches.size(); ++i) {
      const config::SwitchSpec& s = topology->switches[i];
      const ib::Lid lid = plan.nodes[topology->adapters.size() + i].ports[0].lid;
      std::vector<std::string> row = {s.name, topology->is_roce() ? "Ethernet" : "LID " + std::to_string(lid.value),
                                      counted(s.ports, "port", "ports") + ", " + std::to_string(ports_in_use(*topology, i)) + " in use",
                                      s.switch_profile.name};
      if (topology->is_roce()) row.push_back(marking_text(s));
      switches.row(std::move(row));
    }
    std::fputs(switches.text().c_str(), stdout);
  }
  print_links(*topology);
  print_routes(*topology, plan);
  std::printf("Management network\n  %s one way, %s\n",
              format_quantity(to_ps(topology->management_network.latency), Dimension::kDuration).c_str(),
              format_quantity(topology->management_network.bits_per_second, Dimension::kRate).c_str());
  return kAsExpected;
}

}  // namespace verbatim::cli
