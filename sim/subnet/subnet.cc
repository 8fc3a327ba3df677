#include "sim/subnet/subnet.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "sim/core/check.h"
#include "sim/ib/partition.h"

namespace verbatim::subnet {

namespace {

using fabric::PortNumber;
using fabric::RouteTable;

constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();
constexpr std::uint32_t kFar = std::numeric_limits<std::uint32_t>::max();

// Locally administered EUI-64 identifiers that spell "VB"; bits 47:40 tell adapters from switches.
constexpr std::uint64_t kAdapterGuids = 0x0256'4200'0000'0000;
constexpr std::uint64_t kSwitchGuids = 0x0256'4201'0000'0000;

// The cabling by node and port, the switches' graph, and one LID after the other.
class Planner {
 public:
  Planner(const std::vector<Node>& nodes, const std::vector<Cable>& cables, bool all_ways)
      : nodes_(nodes), all_ways_(all_ways) {
    neighbours_.resize(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      CHECK(nodes[i].ports >= 1 && nodes[i].ports < RouteTable::kNoRoute.value);
      neighbours_[i].assign(nodes[i].ports, Attachment{kNowhere, {}});
    }
    for (const Cable& cable : cables) {
      join(cable.a, cable.b);
      join(cable.b, cable.a);
    }
    by_name_.resize(nodes.size());
    std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
    std::sort(by_name_.begin(), by_name_.end(), [&](std::size_t a, std::size_t b) {
      if (nodes[a].kind != nodes[b].kind) return nodes[a].kind == NodeKind::kAdapter;
      return nodes[a].name < nodes[b].name;
    });
  }

  Plan run() {
    assign_addresses();
    join_switches();
    lay_routes();
    grow_multicast_trees();
    find_islands();
    return std::move(plan_);
  }

 private:
  void join(const Attachment& from, const Attachment& to) {
    CHECK(from.node < nodes_.size() && from.port.value >= 1 && from.port.value <= nodes_[from.node].ports);
    Attachment& end = neighbours_[from.node][from.port.value - 1u];
    CHECK(end.node == kNowhere);
    end = to;
  }

  // Adapters first, so that they keep their LIDs when a switch is added; ports in order within a node.
  void assign_addresses() {
    plan_.nodes.resize(nodes_.size());
    std::uint64_t index[2] = {0, 0};
    for (const std::size_t node : by_name_) {
      const bool is_switch = nodes_[node].kind == NodeKind::kSwitch;
      NodePlan& target = plan_.nodes[node];
      target.guid = (is_switch ? kSwitchGuids : kAdapterGuids) | (++index[is_switch] << 8);
      const std::uint32_t count = is_switch ? 1 : nodes_[node].ports;
      for (std::uint32_t i = 0; i < count; ++i) {
        PortPlan port;
        port.guid = is_switch ? target.guid : target.guid + i + 1;
        port.gid = link_local_gid(port.guid);
        if (!is_switch) port.mac = ib::MacAddress{kMacBase.value + ++macs_};
        if (owners_.size() <= kUnicastLids) {
          port.lid = ib::Lid{static_cast<std::uint16_t>(owners_.size())};
          owners_.push_back({node, PortNumber{static_cast<std::uint8_t>(is_switch ? 0 : i + 1)}});
        } else {
          plan_.findings.push_back(nodes_[node].name + ": no LID is left; a subnet has at most 49151");
        }
        if (plan_.subnet_manager.value == 0 && !is_switch && nodes_[node].has_management) plan_.subnet_manager = port.lid;
        target.ports.push_back(port);
      }
    }
  }

  // A cable from a switch to another.
  struct Hop {
    PortNumber port;
    std::uint32_t to;  // number of the switch
  };
  std::span<const Hop> hops_of(std::size_t number) const {
    return {hops_.data() + first_hop_[number], first_hop_[number + 1] - first_hop_[number]};
  }

  void join_switches() {
    numbers_.assign(nodes_.size(), kNowhere);
    for (const std::size_t node : by_name_) {
      if (nodes_[node].kind != NodeKind::kSwitch) continue;
      numbers_[node] = switches_.size();
      switches_.push_back(node);
    }
    for (const std::size_t node : switches_) {
      first_hop_.push_back(hops_.size());
      for (std::uint32_t i = 0; i < nodes_[node].ports; ++i) {
        const Attachment& next = neighbours_[node][i];
        if (next.node == kNowhere || numbers_[next.node] == kNowhere) continue;
        hops_.push_back({PortNumber{static_cast<std::uint8_t>(i + 1)}, static_cast<std::uint32_t>(numbers_[next.node])});
      }
    }
    first_hop_.push_back(hops_.size());
  }

  // The switches that reach `root`, which is the first of them, the nearer ones before the farther. Fills distances_, which are
  // hops over switches only: adapters do not forward.
  std::vector<std::size_t> front_from(std::size_t root) {
    distances_.assign(switches_.size(), kFar);
    std::vector<std::size_t> front{root};
    distances_[root] = 0;
    for (std::size_t i = 0; i < front.size(); ++i) {
      for (const Hop& hop : hops_of(front[i])) {
        ++plan_.steps;
        if (distances_[hop.to] != kFar) continue;
        distances_[hop.to] = distances_[front[i]] + 1;
        front.push_back(hop.to);
      }
    }
    return front;
  }

  // Every switch once: those with many adapters first, else neighbours of neighbours, from the first switch by name on.
  // Destinations at one switch, then those at switches near to it, get routes one after the other, and therefore different ones.
  std::vector<std::size_t> order_of_roots() {
    std::vector<std::size_t> order;
    std::vector<bool> seen(switches_.size(), false);
    for (std::size_t first = 0; first < switches_.size(); ++first) {
      if (seen[first]) continue;
      for (const std::size_t number : front_from(first)) {
        seen[number] = true;
        order.push_back(number);
      }
    }
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t number) { return adapter_lids_[number].size(); });
    return order;
  }

  void lay_routes() {
    const std::size_t count = switches_.size();
    adapter_lids_.resize(count);
    tables_.assign(count, RouteTable(all_ways_ ? owners_.size() : 0));
    for (const std::size_t node : switches_) plan_.nodes[node].forwarding_table.assign(owners_.size(), RouteTable::kNoRoute);
    for (std::size_t lid = 1; lid < owners_.size(); ++lid) {
      const Attachment& owner = owners_[lid];
      if (nodes_[owner.node].kind == NodeKind::kSwitch) continue;
      const Attachment& end = neighbours_[owner.node][owner.port.value - 1u];
      if (end.node == kNowhere || numbers_[end.node] == kNowhere) continue;
      adapter_lids_[numbers_[end.node]].emplace_back(lid, end.port);
    }
    for (std::size_t number = 0; number < count; ++number) {
      // By port, whatever the adapters' names.
      std::ranges::sort(adapter_lids_[number], {}, [](const auto& lid) { return lid.second; });
      loads_.push_back(unloaded(nodes_[switches_[number]].ports));
    }
    known_.resize(count);
    ways_.resize(count);
    for (const std::size_t root : order_of_roots()) lay_routes_to(root);
    for (std::size_t number = 0; all_ways_ && number < count; ++number)
      plan_.nodes[switches_[number]].routes = std::make_shared<const RouteTable>(std::move(tables_[number]));
  }

  // To a switch and its adapters.
  void lay_routes_to(std::size_t root) {
    const std::vector<std::size_t> front = front_from(root);
    std::vector<PortNumber> ports;
    for (const std::size_t from : front) {
      if (from == root) continue;
      ports.clear();
      for (const Hop& hop : hops_of(from)) {
        ++plan_.steps;
        if (distances_[hop.to] + 1 == distances_[from]) ports.push_back(hop.port);
      }
      const auto [set, is_new] = known_[from].try_emplace(ports, RouteTable::kNone);
      if (is_new) set->second = tables_[from].add(ports);
      ways_[from] = set->second;
    }
    for (const auto& [lid, port] : adapter_lids_[root]) {
      plan_.nodes[switches_[root]].forwarding_table[lid] = port;
      if (all_ways_) tables_[root].set(lid, port.value);
      lay_routes_to_adapter(lid, front);
    }
    const std::size_t own = plan_.nodes[switches_[root]].ports[0].lid.value;
    if (own == 0) return;
    plan_.nodes[switches_[root]].forwarding_table[own] = PortNumber{0};
    for (const std::size_t from : std::span(front).subspan(1))
      plan_.nodes[switches_[from]].forwarding_table[own] = least_loaded(from);
  }

  // The farthest switches choose first. When a switch chooses, the number of adapters whose packets to `lid` reach it is known;
  // it is added to the load of the chosen port.
  void lay_routes_to_adapter(std::size_t lid, const std::vector<std::size_t>& front) {
    arriving_.resize(switches_.size());
    for (const std::size_t from : front) arriving_[from] = static_cast<std::uint32_t>(adapter_lids_[from].size());
    for (std::size_t i = front.size(); i-- > 1;) {
      const std::size_t from = front[i];
      const PortNumber port = least_loaded(from);
      NodePlan& plan = plan_.nodes[switches_[from]];
      plan.forwarding_table[lid] = port;
      if (all_ways_) tables_[from].set(lid, ways_[from]);
      loads_[from][port.value] += arriving_[from] * kOnePath;
      arriving_[numbers_[neighbours_[switches_[from]][port.value - 1u].node]] += arriving_[from];
    }
  }

  // Loads of ports 0 … `ports`: paths between two adapters, and in the low bits the port, so that the least of several is that of
  // the first port with the least load. The comparison has no branches: most of the time of planning is spent in it.
  static constexpr std::uint64_t kOnePath = 256;
  static std::vector<std::uint64_t> unloaded(std::uint32_t ports) {
    std::vector<std::uint64_t> loads(ports + 1);
    std::iota(loads.begin(), loads.end(), std::uint64_t{0});
    return loads;
  }

  // The counts of the ports of ways_.
  PortNumber least_loaded(std::size_t from) {
    const RouteTable::Entry ways = ways_[from];
    if (!RouteTable::is_set(ways)) return PortNumber{static_cast<std::uint8_t>(ways)};
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    const std::span<const PortNumber> ports = tables_[from].ports_of(ways);
    for (const PortNumber port : ports) least = std::min(least, loads_[from][port.value]);
    plan_.steps += ports.size();
    return PortNumber{static_cast<std::uint8_t>(least % kOnePath)};
  }

  // A tree over each island's switches, of the shortest ways from its first switch by name; between two
  // switches the cable at the lowest port. With all ports to adapters that is where multicast packets go.
  void grow_multicast_trees() {
    std::vector<bool> reached(nodes_.size(), false);
    for (const std::size_t root : by_name_) {
      if (nodes_[root].kind != NodeKind::kSwitch || reached[root]) continue;
      reached[root] = true;
      std::vector<std::size_t> front{root};
      for (std::size_t i = 0; i < front.size(); ++i) {
        for (std::uint32_t port = 0; port < nodes_[front[i]].ports; ++port) {
          const Attachment& next = neighbours_[front[i]][port];
          if (next.node == kNowhere) continue;
          const bool is_switch = nodes_[next.node].kind == NodeKind::kSwitch;
          if (is_switch && reached[next.node]) continue;
          const PortNumber here{static_cast<std::uint8_t>(port + 1)};
          plan_.nodes[front[i]].multicast_ports.push_back(here);
          if (!is_switch) continue;
          reached[next.node] = true;
          plan_.nodes[next.node].multicast_ports.push_back(next.port);
          front.push_back(next.node);
        }
      }
    }
    for (NodePlan& node : plan_.nodes) {
      std::sort(node.multicast_ports.begin(), node.multicast_ports.end(),
                [](PortNumber a, PortNumber b) { return a.value < b.value; });
    }
  }

  // Adapter ports reach each other over cables and switches, not through adapters.
  void find_islands() {
    std::vector<std::size_t> island_of_switch(nodes_.size(), kNowhere);
    std::vector<std::vector<std::string>> islands;
    std::vector<std::vector<bool>> seen(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) seen[i].assign(nodes_[i].ports, false);

    for (const std::size_t node : by_name_) {
      if (nodes_[node].kind != NodeKind::kAdapter) continue;
      for (std::uint32_t i = 0; i < nodes_[node].ports; ++i) {
        const Attachment& end = neighbours_[node][i];
        if (end.node == kNowhere) {
          plan_.findings.push_back(port_name(node, i) + " has no cable");
          continue;
        }
        if (seen[node][i]) continue;
        seen[node][i] = true;
        if (nodes_[end.node].kind == NodeKind::kAdapter) {
          seen[end.node][end.port.value - 1u] = true;
          islands.push_back({port_name(node, i), port_name(end.node, end.port.value - 1u)});
          continue;
        }
        if (island_of_switch[end.node] == kNowhere) {
          for (const std::size_t other : front_from(numbers_[end.node])) island_of_switch[switches_[other]] = islands.size();
          islands.emplace_back();
        }
        islands[island_of_switch[end.node]].push_back(port_name(node, i));
      }
    }
    for (std::size_t i = 1; i < islands.size(); ++i) {
      std::string sentence = "no cable leads from " + islands[0].front() + " to " + islands[i].front();
      if (islands[i].size() > 1) {
        const std::size_t more = islands[i].size() - 1;
        sentence +=
            " and " + std::to_string(more) + (more == 1 ? " other port" : " other ports") + " beside it";
      }
      plan_.findings.push_back(std::move(sentence));
    }
  }

  std::string port_name(std::size_t node, std::uint32_t index) const {
    return nodes_[node].name + " port " + std::to_string(index + 1);
  }

  const std::vector<Node>& nodes_;
  const bool all_ways_;
  std::vector<std::vector<Attachment>> neighbours_;  // by node, by port - 1
  std::vector<std::size_t> by_name_;                 // adapters, then switches
  std::vector<Attachment> owners_{{kNowhere, {}}};   // by LID
  std::vector<std::size_t> switches_;                // nodes; a switch's number is its place here, by name
  std::vector<std::size_t> numbers_;                 // by node
  std::vector<Hop> hops_;                            // of all switches, by number and port
  std::vector<std::size_t> first_hop_;               // by number, and the end
  // By number of the switch:
  std::vector<std::vector<std::pair<std::size_t, PortNumber>>> adapter_lids_;  // of its adapters, and their ports of the switch
  std::vector<RouteTable> tables_;
  std::vector<std::map<std::vector<PortNumber>, RouteTable::Entry>> known_;  // entries of its port sets
  std::vector<std::vector<std::uint64_t>> loads_;                            // by port, see unloaded()
  std::vector<RouteTable::Entry> ways_;          // to the root whose routes are being laid
  std::vector<std::uint32_t> distances_;         // hops to the same root
  std::vector<std::uint32_t> arriving_;          // adapters whose packets to one LID reach the switch
  std::uint32_t macs_ = 0;
  Plan plan_;
};

}  // namespace

Plan plan(const std::vector<Node>& nodes, const std::vector<Cable>& cables, bool all_ways) {
  return Planner(nodes, cables, all_ways).run();
}

std::vector<std::vector<std::uint16_t>> pkey_tables(std::size_t adapters, std::vector<Partition> partitions) {
  constexpr std::uint16_t kDefault = ib::kDefaultPkey & ib::kPartitionMask;
  const auto is_default = [](const Partition& partition) { return partition.number == kDefault; };
  const bool is_given = std::any_of(partitions.begin(), partitions.end(), is_default);
  std::sort(partitions.begin(), partitions.end(), [&](const Partition& a, const Partition& b) {
    return std::pair(!is_default(a), a.number) < std::pair(!is_default(b), b.number);
  });
  std::vector<std::vector<std::uint16_t>> tables(adapters);
  if (!is_given) tables.assign(adapters, {ib::kDefaultPkey});
  for (const Partition& partition : partitions) {
    for (const std::size_t member : partition.full)
      tables[member].push_back(partition.number | ib::kFullMembership);
    for (const std::size_t member : partition.limited) tables[member].push_back(partition.number);
  }
  return tables;
}

ib::Gid link_local_gid(ib::MacAddress mac) {
  constexpr std::uint64_t kUniversal = 0x0200'0000'0000'0000, kMiddle = 0xfffe;
  const std::uint64_t high = mac.value >> 24, low = mac.value & 0xffffff;
  return link_local_gid((high << 40 | kMiddle << 24 | low) ^ kUniversal);
}

ib::Gid link_local_gid(std::uint64_t port_guid) {
  ib::Gid gid;
  gid.raw[0] = 0xfe;
  gid.raw[1] = 0x80;
  for (int i = 0; i < 8; ++i) gid.raw[8 + i] = static_cast<std::uint8_t>(port_guid >> (56 - 8 * i));
  return gid;
}

}  // namespace verbatim::subnet
