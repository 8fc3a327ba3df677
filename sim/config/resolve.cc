// Checks of a topology that involve several values: names, addresses, ends of cables, reachability.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>

#include "sim/config/load.h"
#include "sim/config/resolve_congestion.h"
#include "sim/config/resolve_nodes.h"
#include "sim/config/resolve_routing.h"
#include "sim/config/words.h"

namespace verbatim::config {

std::optional<std::size_t> TopologySpec::host(std::string_view host_name) const {
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (hosts[i].name == host_name) return i;
  }
  return std::nullopt;
}

std::vector<std::size_t> TopologySpec::adapters_of(std::size_t host_index) const {
  std::vector<std::size_t> indices{host_index};
  // Further adapters follow the first ones, sorted by host.
  const std::span<const AdapterSpec> all(adapters);
  const std::span<const AdapterSpec> further = all.subspan(std::min(hosts.size(), all.size()));
  // No std::ranges::equal_range: clang++-14 does not compile the subrange of libstdc++ that it returns.
  auto next = std::ranges::lower_bound(further, host_index, {}, &AdapterSpec::host);
  for (; next != further.end() && next->host == host_index; ++next)
    indices.push_back(static_cast<std::size_t>(&*next - all.data()));
  return indices;
}

std::vector<ib::IpRoute> TopologySpec::routes_of(std::size_t host_index) const {
  std::vector<ib::IpInterface> own;
  for (const std::size_t adapter : adapters_of(host_index)) own.push_back(interface_of(adapter));
  std::vector<ib::IpRoute> routes = ib::routes_of(own, further_networks);
  for (const std::size_t adapter : adapters_of(host_index)) {
    for (const VlanSpec& vlan : vlans_of(adapters[adapter])) routes.push_back({vlan.interface.network, adapters[adapter].number});
  }
  return routes;
}

namespace {

struct Node {
  bool is_switch;
  std::size_t index;
  std::string pointer;
};

class Resolver {
 public:
  Resolver(TopologySpec& topology, Diagnostics& diagnostics) : topology_(topology), diagnostics_(diagnostics) {
    for (const Finding& finding : diagnostics.findings()) {
      if (finding.file != topology.file) continue;
      wrong_.insert(finding.pointer);
      const bool is_misspelt = finding.text == "unknown key" && finding.hint.find("\"link_layer\"") != std::string::npos;
      if (is_misspelt) wrong_.insert("/link_layer");
    }
    const auto is_of_generator = [](const std::string& pointer) { return pointer.starts_with("/generate"); };
    const auto is_named = [](const auto& node) { return !node.name.empty(); };
    knows_names_ = !is_wrong("/hosts") && !is_wrong("/switches") && !std::ranges::any_of(wrong_, is_of_generator) &&
                   std::ranges::all_of(topology.hosts, is_named) && std::ranges::all_of(topology.switches, is_named);
  }

  void run() {
    if (!topology_.is_roce()) leave_out_shares();
    adapters();
    names();
    sizes();
    endpoints();
    addresses();
    partitions();
    if (!is_wrong("/link_layer")) resolve_nodes(topology_, diagnostics_);
    if (!topology_.is_roce() && topology_.ecmp_seed != "own" && !is_wrong("/link_layer")) {
      add("/ecmp_seed", "switches of InfiniBand do not spread flows by a hash", "leave it out, or choose the link layer \"roce\"");
    }
    if (!topology_.is_roce() && topology_.convergence_time != TopologySpec::kUsualConvergenceTime && !is_wrong("/link_layer")) {
      add("/convergence_time", "routes of InfiniBand are the subnet manager's", "give \"sweep_time\", or choose the link layer \"roce\"");
    }
    if (!topology_.is_roce() && !is_wrong("/link_layer")) interface_mtus();
    if (knows_names_ && !is_wrong("/link_layer")) resolve_routing(topology_, diagnostics_);
    load_balancing();
    std::size_t resolved = 0;
    for (LinkSpec& link : topology_.links) resolved += this->link(link) ? 1 : 0;
    // A misspelt end would make hosts look unconnected, so only that finding is reported.
    if (knows_names_ && !is_wrong("/links") && resolved == topology_.links.size()) {
      if (!is_wrong("/link_layer")) resolve_congestion(topology_, diagnostics_);
      resolve_subnet_congestion(topology_, diagnostics_);
      reachability();
    }
  }

 private:
  void load_balancing() {
    if (is_wrong("/link_layer") || topology_.load_balancing.by == "flow") return;
    if (!topology_.is_roce() && !topology_.load_balancing.is_by_packet()) {
      return add("/load_balancing/by", "switches of InfiniBand do not follow flowlets",
                 "write \"packet\" for adaptive routing, or choose the link layer \"roce\"");
    }
    if (!topology_.manages_subnet()) {
      return add("/load_balancing/by", "the simulation does not manage this subnet, so its switches have no groups of ports",
                 "leave it out, or let the simulation manage the subnet");
    }
    const auto puts_into_order = [](const auto& owner) { return owner.hca_profile.loss_recovery.gap_time > Duration(0); };
    const auto has_one = [&](const HostSpec& host) {
      return puts_into_order(host) || std::ranges::any_of(host.further_adapters, puts_into_order);
    };
    if (topology_.load_balancing.is_by_packet() && !topology_.hosts.empty() && std::ranges::none_of(topology_.hosts, has_one)) {
      add("/load_balancing/by", "no adapter here can put packets into order, so all would keep the ways of their flows",
          "choose profiles with a \"gap_time\" under \"loss_recovery\", such as connectx5");
    }
  }
  // Removes arbitration for Ethernet from all profiles.
  void leave_out_shares() {
    const auto leave_out = [](auto& profile) { profile.arbitration = profile.arbitration.without_ethernet(); };
    for (SwitchSpec& spec : topology_.switches) leave_out(spec.switch_profile);
    for (HostSpec& host : topology_.hosts) {
      leave_out(host.hca_profile);
      for (FurtherAdapterSpec& further : host.further_adapters) leave_out(further.hca_profile);
    }
  }
  // Whether the file already has a finding there; errors that follow from it are not reported.
  bool is_wrong(const std::string& pointer) const { return wrong_.contains(pointer); }

  void add(const std::string& pointer, std::string text, std::string hint) {
    diagnostics_.add(topology_.file, pointer, std::move(text), std::move(hint));
  }

  void name(const std::string& name, Node node) {
    if (name.empty()) return;  // already a finding
    const auto [entry, is_new] = nodes_.try_emplace(name, node);
    if (is_new) return;
    add(node.pointer + "/name",
        "the name " + in_quotes(name) + " is already that of " + entry->second.pointer,
        "give every host and switch a name of its own");
  }

  const std::string& pointer_of(const AdapterSpec& adapter) const {
    const HostSpec& host = topology_.hosts[adapter.host];
    return adapter.number == 0 ? host.pointer : host.further_adapters[adapter.number - 1].pointer;
  }

  // The first adapter of each host, in the order of the hosts, then the others.
  void adapters() {
    for (std::size_t i = 0; i < topology_.hosts.size(); ++i) topology_.adapters.push_back({topology_.hosts[i].name, i, 0});
    for (std::size_t i = 0; i < topology_.hosts.size(); ++i) {
      HostSpec& host = topology_.hosts[i];
      std::set<std::string> devices{host.device};
      for (std::size_t n = 1; n <= host.further_adapters.size(); ++n) {
        FurtherAdapterSpec& adapter = host.further_adapters[n - 1];
        if (adapter.device.empty()) adapter.device = further_device_name(n);
        if (!devices.insert(adapter.device).second) {
          add(adapter.pointer, "the host has two adapters named " + in_quotes(adapter.device),
              "give each adapter a \"device\" name of its own");
        }
        topology_.adapters.push_back({host.name + "/" + adapter.device, i, n});
      }
    }
  }

  void names() {
    if (topology_.hosts.empty() && knows_names_) add("/hosts", "there is no host", "add at least one {\"name\": …}");
    for (std::size_t i = 0; i < topology_.adapters.size(); ++i) {
      const AdapterSpec& adapter = topology_.adapters[i];
      if (adapter.number != 0 && nodes_.contains(adapter.name)) continue;  // the name of its device already has a finding
      name(adapter.name, {false, i, pointer_of(adapter)});
    }
    // Hosts and the addresses of further adapters share one name space for programs.
    std::set<std::string> names;
    for (const HostSpec& host : topology_.hosts) names.insert(host.name);
    for (std::size_t i = topology_.hosts.size(); i < topology_.adapters.size(); ++i) {
      const std::string of_address = topology_.address_name(i);
      if (names.insert(of_address).second) continue;
      if (topology_.host(of_address)) {
        add(pointer_of(topology_.adapters[i]),
            "the name of this adapter's address would be " + in_quotes(of_address) + ", which is a host", "rename the host or the device");
      }
    }
    for (std::size_t i = 0; i < topology_.switches.size(); ++i) {
      name(topology_.switches[i].name, {true, i, topology_.switches[i].pointer});
    }
  }

  void interface_mtus() {
    const auto refuse = [this](const std::string& pointer) {
      add(pointer + "/interface_mtu", "adapters of InfiniBand have no interface MTU", "leave it out, or choose the link layer \"roce\"");
    };
    if (topology_.interface_mtu != TopologySpec::kUsualInterfaceMtu) refuse("");
    for (const HostSpec& host : topology_.hosts) {
      if (host.interface_mtu != 0) refuse(host.pointer);
      for (const FurtherAdapterSpec& adapter : host.further_adapters) {
        if (adapter.interface_mtu != 0) refuse(adapter.pointer);
      }
    }
  }

  void endpoints() {
    if (topology_.manages_subnet()) return;
    const auto is_light = [this](const AdapterSpec& adapter) { return topology_.hca_profile(adapter).is_light(); };
    const auto first = std::ranges::find_if(topology_.adapters, is_light);
    if (first == topology_.adapters.end()) return;
    add(pointer_of(*first), "no subnet manager reaches the light endpoint of " + in_quotes(first->name) + ", which answers no management datagrams",
        "set \"subnet_manager\" to \"simulated\", or give it an adapter profile without \"endpoint\": \"light\"");
  }

  // A subnet has 49151 unicast LIDs (IBA 4.1.3), and an event key has 20 bits for its component.
  void sizes() {
    constexpr std::size_t kLids = 0xbfff, kComponents = 1'000'000;
    const std::size_t devices = topology_.adapters.size() + topology_.switches.size();
    std::size_t components = topology_.hosts.size() + 2 * topology_.adapters.size();
    for (const SwitchSpec& s : topology_.switches) components += 1 + s.ports;
    if (devices > kLids) {
      add("/hosts", std::to_string(devices) + " adapters and switches need more LIDs than a subnet has",
          "the limit is " + std::to_string(kLids));
    }
    if (components > kComponents) {
      add("/switches", "hosts, switches and their ports add up to " + std::to_string(components) + " components",
          "the limit is " + std::to_string(kComponents) + "; give the switches fewer ports");
    }
  }

  // Addresses of the first adapters of all hosts, then of the further ones.
  void addresses() {
    std::map<std::uint32_t, std::string> owners;
    for (std::size_t i = 0; i < topology_.hosts.size(); ++i) {
      HostSpec& host = topology_.hosts[i];
      const bool given = !host.address_text.empty();
      host.address = given ? *parse_ipv4(host.address_text) : (10u << 24) + static_cast<std::uint32_t>(i) + 1;
      check_address(host.address, host.address_text, host.pointer);
      own(owners, host.address, host.name, host.pointer, given,
          "hosts without \"address\" get 10.0.0.1, 10.0.0.2, … in the order of the file");
    }
    for (const AdapterSpec& adapter : topology_.adapters) {
      if (adapter.number != 0) further_address(owners, adapter);
    }
    for (const AdapterSpec& adapter : topology_.adapters) {
      HostSpec& host = topology_.hosts[adapter.host];
      std::vector<VlanSpec>& vlans = adapter.number == 0 ? host.vlans : host.further_adapters[adapter.number - 1].vlans;
      if (!vlans.empty()) vlan_addresses(owners, adapter, vlans);
    }
    std::ranges::sort(topology_.further_networks);
    auto& networks = topology_.further_networks;
    networks.erase(std::unique(networks.begin(), networks.end()), networks.end());
  }

  void further_address(std::map<std::uint32_t, std::string>& owners, const AdapterSpec& adapter) {
    constexpr std::uint32_t kFirstNetwork = 172u << 24 | 16u << 16, kNetworks = 16;
    FurtherAdapterSpec& spec = topology_.hosts[adapter.host].further_adapters[adapter.number - 1];
    const bool given = !spec.address_text.empty();
    if (!given && adapter.number >= kNetworks) {
      add(spec.pointer, "only the first " + std::to_string(kNetworks - 1) + " further adapters of a host get an address by themselves",
          "give this one an \"address\"");
      return;
    }
    Ipv4WithPrefix own{kFirstNetwork + (static_cast<std::uint32_t>(adapter.number) << kUsualBits) +
                           static_cast<std::uint32_t>(adapter.host) + 1,
                       kUsualBits};
    settle(own, spec);
    topology_.further_networks.push_back(spec.interface.network);
    this->own(owners, spec.interface.address, adapter.name, spec.pointer, given,
        "adapters mlx5_1 without \"address\" get 172.17.0.1, 172.17.0.2, … in the order of the hosts, adapters mlx5_2 172.18.0.1, …");
  }

  static constexpr std::uint32_t kUsualBits = 16;

  // Sets the interface of a further adapter or VLAN to `own`, or to the address in the file.
  template <class Spec>
  void settle(Ipv4WithPrefix own, Spec& spec) {
    if (!spec.address_text.empty()) own = *parse_ipv4_with_prefix(spec.address_text, kUsualBits);
    spec.interface = ib::IpInterface::of_further(own.address, own.prefix_bits);
    check_address(own.address, spec.address_text, spec.pointer);
    // A network of two addresses has no network or broadcast address (RFC 3021).
    const bool is_end = own.address == spec.interface.network.address || own.address == spec.interface.broadcast();
    if (own.prefix_bits < 31 && is_end) {
      add(spec.pointer + "/address",
          in_quotes(spec.address_text) + " is the lowest or the highest address of the network " +
              format_ipv4(spec.interface.network.address) + "/" + std::to_string(own.prefix_bits),
          "choose an address between them");
    }
  }

  // VLAN v of the first host gets 100.64.0.1/22 with v in the 12 bits after the first 10, that of the second
  // host 100.64.0.2, …
  void vlan_addresses(std::map<std::uint32_t, std::string>& owners, const AdapterSpec& adapter, std::vector<VlanSpec>& vlans) {
    constexpr std::uint32_t kFirstNetwork = 100u << 24 | 64u << 16, kHostBits = 10, kLinkBits = 32 - kHostBits;
    if (is_wrong("/link_layer")) return;
    if (!topology_.is_roce()) {
      add(vlans.front().pointer, "there are no VLANs on InfiniBand", "leave them out, or choose the link layer \"roce\"");
      return;
    }
    constexpr std::size_t kOwnGids = 3, kGidsOfVlan = 2;
    const std::size_t entries = kOwnGids + kGidsOfVlan * vlans.size();
    const HostSpec& host = topology_.hosts[adapter.host];
    const hca::HcaProfile& profile = topology_.hca_profile(adapter);
    if (entries > profile.gid_table_length) {
      add(vlans.back().pointer, "these VLANs need " + std::to_string(entries) + " GIDs",
          "the GID table of " + in_quotes(adapter.number == 0 ? host.hca : host.further_adapters[adapter.number - 1].hca) + " has " +
              std::to_string(profile.gid_table_length) + " entries (gid_table_length of its profile)");
    }
    std::set<std::uint32_t> ids;
    for (VlanSpec& vlan : vlans) {
      if (vlan.id == 0) continue;  // already a finding
      if (!ids.insert(vlan.id).second)
        add(vlan.pointer + "/id", "the adapter is in VLAN " + std::to_string(vlan.id) + " already", "name each VLAN once");
      const bool given = !vlan.address_text.empty();
      if (!given && adapter.host + 2 >= 1u << kHostBits) {
        add(vlan.pointer, "only the first " + std::to_string((1u << kHostBits) - 2) + " hosts get an address in a VLAN by themselves",
            "give this one an \"address\"");
        continue;
      }
      settle({kFirstNetwork + (vlan.id << kHostBits) + static_cast<std::uint32_t>(adapter.host) + 1, kLinkBits}, vlan);
      own(owners, vlan.interface.address, host.name + "-" + TopologySpec::vlan_interface_name(adapter, vlan),
          vlan.pointer, given, "VLAN interfaces without \"address\" get one by VLAN and host, the same for all adapters of the host");
    }
  }

  // `text` is empty if the file gives no address.
  void check_address(std::uint32_t address, const std::string& text, const std::string& pointer) {
    const std::uint32_t first = address >> 24;
    if (text.empty() || (first != 0 && first != 127 && first < 224)) return;
    add(pointer + "/address", in_quotes(text) + " cannot be the address of a host", "choose one such as \"10.0.0.1\"");
  }

  void own(std::map<std::uint32_t, std::string>& owners, std::uint32_t address, const std::string& owner,
           const std::string& pointer, bool given, const std::string& rule) {
    const auto [entry, is_new] = owners.try_emplace(address, owner);
    if (is_new) return;
    add(pointer + (given ? "/address" : ""),
        "the address " + format_ipv4(address) + " is already that of " + in_quotes(entry->second),
        given ? "choose another" : rule + "; write an \"address\" here");
  }

  void partitions() {
    std::map<std::uint32_t, std::string> numbers;
    for (PartitionSpec& partition : topology_.partitions) {
      if (partition.number == 0) continue;  // already a finding
      if (topology_.is_roce()) {
        add(partition.pointer, "there are no partitions on Ethernet",
            "leave them out, or choose the link layer \"infiniband\"");
        continue;
      }
      const auto [entry, is_new] = numbers.try_emplace(partition.number, partition.pointer);
      if (!is_new) {
        add(partition.pointer + "/number",
            "the number " + std::to_string(partition.number) + " is already that of " + entry->second,
            "give every partition a number of its own");
      }
      members(partition);
    }
    constexpr std::uint32_t kDefault = 0x7fff;
    std::vector<std::size_t> entries(topology_.adapters.size(), numbers.contains(kDefault) ? 0 : 1);
    for (const PartitionSpec& partition : topology_.partitions) {
      for (const std::size_t member : partition.full_members) ++entries[member];
      for (const std::size_t member : partition.limited_members) ++entries[member];
    }
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const AdapterSpec& adapter = topology_.adapters[i];
      const std::uint32_t length = topology_.hca_profile(adapter).pkey_table_length;
      if (entries[i] <= length) continue;
      add("/partitions",
          in_quotes(adapter.name) + " is in " + std::to_string(entries[i]) +
              " partitions, the default one included",
          "the table of its adapter has " + std::to_string(length) + " entries");
    }
  }

  void members(PartitionSpec& partition) {
    std::map<std::size_t, bool> is_full;
    std::optional<bool> others;  // whether "*" makes unnamed hosts full members
    for (const bool full : {true, false}) {
      const std::vector<std::string>& names = full ? partition.full : partition.limited;
      for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string pointer = partition.pointer + (full ? "/full/" : "/limited/") + std::to_string(i);
        const auto host = topology_.host(names[i]);
        bool is_new = false;
        if (names[i] == "*") {
          is_new = !others.has_value();
          others = full;
        } else if (host) {
          is_new = is_full.try_emplace(*host, full).second;
        } else {
          no_such_host(names[i], pointer);
          continue;
        }
        if (!is_new)
          add(pointer, in_quotes(names[i]) + " is named twice", "a host is either a full or a limited member");
      }
    }
    for (std::size_t i = 0; i < topology_.hosts.size(); ++i) {
      const auto named = is_full.find(i);
      if (named == is_full.end() && !others) continue;
      const bool full = named != is_full.end() ? named->second : *others;
      for (const std::size_t adapter : topology_.adapters_of(i))
        (full ? partition.full_members : partition.limited_members).push_back(adapter);
    }
    std::ranges::sort(partition.full_members);
    std::ranges::sort(partition.limited_members);
  }

  void no_such_host(const std::string& name, const std::string& pointer) {
    if (!knows_names_) return;
    std::vector<std::string> names;
    for (const HostSpec& host : topology_.hosts) names.push_back(host.name);
    const std::string near = nearest(name, names);
    add(pointer, "there is no host " + in_quotes(name),
        near.empty() ? "name one of \"hosts\", or \"*\" for all" : "did you mean \"" + near + "\"?");
  }

  bool end(const std::string& text, const std::string& pointer, Endpoint* end) {
    const std::size_t colon = text.find(':');
    const std::string name = text.substr(0, colon);
    const auto node = nodes_.find(name);
    if (node == nodes_.end()) {
      if (!knows_names_ || text.empty()) return false;  // already a finding
      std::vector<std::string> names;
      for (const auto& [known, unused] : nodes_) names.push_back(known);
      const std::string near = nearest(name, names);
      add(pointer, "there is no host or switch " + in_quotes(name),
          near.empty() ? "name one of \"hosts\" or \"switches\"" : "did you mean \"" + near + "\"?");
      return false;
    }
    end->is_switch = node->second.is_switch;
    end->node = node->second.index;
    if (end->is_switch && is_wrong(topology_.switches[end->node].pointer + "/ports")) return false;
    const std::uint32_t ports = end->is_switch ? topology_.switches[end->node].ports : 1;
    const std::string range = "its ports are 1 to " + std::to_string(ports);
    if (colon == std::string::npos) {
      end->port = 1;
      if (!end->is_switch) return true;
      add(pointer, in_quotes(text) + " does not say which port of the switch",
          "write \"" + name + ":1\"; " + range);
      return false;
    }
    const std::string number = text.substr(colon + 1);
    const bool numeric = !number.empty() && number.size() <= 3 && number.front() != '0' &&
                         number.find_first_not_of("0123456789") == std::string::npos;
    end->port = numeric ? static_cast<std::uint32_t>(std::stoul(number)) : 0;
    if (end->port >= 1 && end->port <= ports) return true;
    add(pointer, in_quotes(text) + " is not a port of " + in_quotes(name),
        ports == 1 ? "its only port is 1" : range);
    return false;
  }

  bool link(LinkSpec& link) {
    const bool a = end(link.a, link.pointer + "/a", &link.end_a);
    const bool b = end(link.b, link.pointer + "/b", &link.end_b);
    if (a) occupy(link.end_a, link.a, link.pointer + "/a");
    if (b && !(a && link.end_a == link.end_b)) occupy(link.end_b, link.b, link.pointer + "/b");
    timing(link);
    if (a && b && link.end_a.is_switch == link.end_b.is_switch && link.end_a.node == link.end_b.node) {
      add(link.pointer, "both ends of the cable are at " + in_quotes(topology_.node_name(link.end_a)),
          "a cable joins two different devices");
      return false;
    }
    return a && b;
  }

  void timing(LinkSpec& link) {
    if (link.rate.width == 0) return;  // already a finding
    // 8b/10b marks both ends of a packet with a control symbol (Shanley, InfiniBand Network Architecture,
    // table 25-4). For 64b/66b no source was found.
    const std::uint32_t delimiter = is_8b10b(link.rate) && !topology_.is_roce() ? 1 : 0;
    if (link.start_bytes == LinkSpec::kByRate) link.start_bytes = delimiter;
    if (link.end_bytes == LinkSpec::kByRate) link.end_bytes = delimiter;
    if (link.fec != "none" && !has_fec(link.rate)) {
      add(link.pointer + "/fec", std::string(link.rate.speed) + " links have no forward error correction",
          "leave it out, or choose a faster link");
    }
    const bool has_credits = link.flow_control == "credits" || link.flow_control == LinkSpec::kBySwitch;
    if (!has_credits && !topology_.is_roce() && !is_wrong("/link_layer") && lossy_.insert(link.pointer).second) {
      add(link.pointer + "/flow_control", "links of InfiniBand have credits", "leave it out, or choose the link layer \"roce\"");
    }
    // Between two refreshes of a lane, one flow control packet of each lane must fit.
    constexpr std::uint64_t kLanes = 16, kMostSymbols = 65'536;  // IBA 7.9.4
    const Duration least = link.rate.byte_time.time_for(kLanes * link.credit_update_bytes);
    const Duration most = link.rate.byte_time.time_for(kMostSymbols * link.rate.width);
    Duration& refresh = link.credit_refresh_interval;
    if (refresh == LinkSpec::kLatestRefresh) refresh = topology_.is_roce() ? Duration(0) : most;
    if (refresh != Duration(0) && (refresh <= least || refresh > most)) {
      add(link.pointer + "/credit_refresh_interval",
          in_quotes(format_quantity(refresh.count(), Dimension::kDuration)) + " is out of range",
          "allowed: 0, or more than " + format_quantity(least.count(), Dimension::kDuration) + " up to " +
              format_quantity(most.count(), Dimension::kDuration));
    }
  }

  void occupy(const Endpoint& end, const std::string& text, const std::string& pointer) {
    const auto [entry, is_new] = cables_.try_emplace(end, pointer);
    if (!is_new) {
      add(pointer, "there is already a cable in " + in_quotes(text) + ", from " + entry->second,
          end.is_switch ? "use another port" : "an adapter has one port");
    }
  }

  // Union-find over nodes: adapters first, then switches.
  void reachability() {
    const std::size_t adapter_count = topology_.adapters.size();
    std::vector<std::size_t> group(adapter_count + topology_.switches.size());
    std::iota(group.begin(), group.end(), std::size_t{0});
    const auto find = [&](std::size_t n) {
      while (group[n] != n) n = group[n] = group[group[n]];
      return n;
    };
    std::set<std::size_t> cabled;
    for (const LinkSpec& link : topology_.links) {
      const std::size_t a = link.end_a.node + (link.end_a.is_switch ? adapter_count : 0);
      const std::size_t b = link.end_b.node + (link.end_b.is_switch ? adapter_count : 0);
      cabled.insert({a, b});
      group[find(a)] = find(b);
    }
    std::size_t reference = adapter_count;
    for (std::size_t i = 0; i < adapter_count; ++i) {
      const AdapterSpec& adapter = topology_.adapters[i];
      const std::string& pointer = nodes_.at(adapter.name).pointer;
      if (!cabled.contains(i)) {
        add(pointer, (adapter.number == 0 ? "the host " : "the adapter ") + in_quotes(adapter.name) + " has no cable",
            "add a link with the end \"" + adapter.name + "\"");
      } else if (reference == adapter_count) {
        reference = i;
      } else if (find(i) != find(reference)) {
        add(pointer,
            "no path leads from " + in_quotes(adapter.name) + " to " +
                in_quotes(topology_.adapters[reference].name),
            "join the two parts by a link between switches");
      }
    }
  }

  TopologySpec& topology_;
  Diagnostics& diagnostics_;
  std::set<std::string> wrong_;  // pointers of the findings so far
  std::set<std::string> lossy_;  // places where lossy links were reported; cables of a generator share one
  bool knows_names_ = true;      // all hosts and switches have valid names
  std::map<std::string, Node> nodes_;
  std::map<Endpoint, std::string> cables_;
};

}  // namespace

void resolve_topology(TopologySpec& topology, Diagnostics& diagnostics) {
  Resolver(topology, diagnostics).run();
}

}  // namespace verbatim::config
