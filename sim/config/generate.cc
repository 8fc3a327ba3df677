// Topologies of a regular shape, written out: hosts, switches and cables as if they stood in the file.
#include <algorithm>

#include "sim/config/load.h"
#include "sim/config/words.h"

namespace verbatim::config {

namespace {

// k of the smallest fat tree with places for so many hosts: k³/4, and k is even.
std::uint32_t fat_tree_ports(std::uint64_t hosts) {
  std::uint64_t k = 2;
  while (k * k * k / 4 < hosts) k += 2;
  return static_cast<std::uint32_t>(k);
}

class Generator {
 public:
  explicit Generator(TopologySpec& topology) : topology_(topology), spec_(topology.generate) {}

  // One switch in the middle; a port for each adapter, rail by rail.
  void star() {
    const std::string hub = add_switch("leaf", 0, spec_.hosts * spec_.rails);
    for (std::uint32_t i = 0; i < spec_.hosts; ++i) add_host(i);
    for (std::uint32_t rail = 0; rail < spec_.rails; ++rail) {
      for (std::uint32_t i = 0; i < spec_.hosts; ++i) add_link(adapter(i, rail), port(hub, rail * spec_.hosts + i + 1));
    }
  }

  // Hosts in order over leaves, and each rail over leaves of its own; every leaf has cables to every spine. A leaf's ports are
  // its hosts, then the spines; a spine's ports are the leaves.
  void leaf_spine() {
    const std::uint32_t per_leaf = spec_.hosts_per_leaf;
    const std::uint32_t leaves_of_rail = (spec_.hosts + per_leaf - 1) / per_leaf, leaves = leaves_of_rail * spec_.rails;
    const std::uint32_t cables = spec_.cables_per_spine;
    std::vector<std::string> spines;
    for (std::uint32_t s = 0; s < spec_.spines; ++s)
      spines.push_back(add_switch("spine", s, leaves * cables));
    for (std::uint32_t l = 0; l < leaves; ++l) {
      const std::string leaf = add_switch("leaf", l, per_leaf + spec_.spines * cables);
      const std::uint32_t rail = l / leaves_of_rail, first = l % leaves_of_rail * per_leaf;
      for (std::uint32_t i = 0; i < per_leaf && first + i < spec_.hosts; ++i) {
        if (rail == 0) add_host(first + i);
        add_link(adapter(first + i, rail), port(leaf, i + 1));
      }
      for (std::uint32_t s = 0; s < spec_.spines; ++s) {
        for (std::uint32_t c = 0; c < cables; ++c) {
          add_link(port(leaf, per_leaf + s * cables + c + 1), port(spines[s], l * cables + c + 1));
        }
      }
    }
  }

  // Three tiers of switches with k ports each (Al-Fares et al., SIGCOMM 2008). Each of k pods has k/2 leaves and k/2 aggregation
  // switches, all joined; aggregation switch a of every pod has cables to the cores a·k/2 … a·k/2 + k/2 - 1, whose port p leads
  // to pod p - 1. The lower half of a switch's ports leads down, the upper half up.
  void fat_tree() {
    const std::uint32_t k = fat_tree_ports(spec_.hosts), half = k / 2;
    std::vector<std::string> cores;
    for (std::uint32_t c = 0; c < half * half; ++c) cores.push_back(add_switch("core", c, k));
    for (std::uint32_t pod = 0; pod < k; ++pod) {
      std::vector<std::string> aggregations;
      for (std::uint32_t a = 0; a < half; ++a) aggregations.push_back(add_switch("agg", pod * half + a, k));
      for (std::uint32_t l = 0; l < half; ++l) {
        const std::string leaf = add_switch("leaf", pod * half + l, k);
        const std::uint32_t first = (pod * half + l) * half;
        for (std::uint32_t i = 0; i < half && first + i < spec_.hosts; ++i) {
          add_host(first + i);
          add_link(adapter(first + i, 0), port(leaf, i + 1));
        }
        for (std::uint32_t a = 0; a < half; ++a) add_link(port(leaf, half + a + 1), port(aggregations[a], l + 1));
      }
      for (std::uint32_t a = 0; a < half; ++a) {
        for (std::uint32_t c = 0; c < half; ++c)
          add_link(port(aggregations[a], half + c + 1), port(cores[a * half + c], pod + 1));
      }
    }
  }

 private:
  static std::string port(const std::string& name, std::uint32_t number) {
    return name + ":" + std::to_string(number);
  }

  std::string adapter(std::uint32_t host, std::uint32_t rail) const {
    const std::string name = spec_.host_prefix + std::to_string(host);
    return rail == 0 ? name : name + "/" + further_device_name(rail);
  }

  void add_host(std::uint32_t number) {
    HostSpec host;
    host.name = adapter(number, 0);
    host.hca = spec_.hca;
    host.cpu = spec_.cpu;
    host.pointer = "/generate";
    for (std::uint32_t rail = 1; rail < spec_.rails; ++rail)
      host.further_adapters.push_back({.device = further_device_name(rail), .hca = spec_.hca, .pointer = "/generate"});
    topology_.hosts.push_back(host);
  }

  std::string add_switch(const char* prefix, std::uint32_t number, std::uint32_t ports) {
    SwitchSpec added;
    added.name = prefix + std::to_string(number);
    added.profile = spec_.switch_profile;
    added.ports = ports;
    added.pointer = "/generate";
    topology_.switches.push_back(added);
    return added.name;
  }

  void add_link(const std::string& a, const std::string& b) {
    LinkSpec link;
    link.a = a;
    link.b = b;
    link.rate = spec_.rate;
    link.length_mm = spec_.length_mm;
    link.flow_control = spec_.flow_control;
    link.pfc = spec_.pfc;
    link.delay_fs_per_mm = spec_.delay_fs_per_mm;
    link.pointer = "/generate";
    topology_.links.push_back(link);
  }

  TopologySpec& topology_;
  const GeneratorSpec spec_;
};

}  // namespace

void generate(TopologySpec& topology, Diagnostics& diagnostics) {
  const GeneratorSpec& spec = topology.generate;
  if (spec.shape.empty()) return;
  constexpr std::uint32_t kMostPorts = 254;
  const bool star = spec.shape == "star", fat_tree = spec.shape == "fat_tree";
  if (fat_tree && spec.rails > 1) {
    diagnostics.add(topology.file, "/generate", "hosts of a \"fat_tree\" have one adapter each",
                    "leave \"rails\" out, or choose the shape \"leaf_spine\"");
    return;
  }
  const std::uint64_t leaves = (std::uint64_t{spec.hosts} + spec.hosts_per_leaf - 1) / spec.hosts_per_leaf * spec.rails;
  const std::uint64_t ports = star       ? std::uint64_t{spec.hosts} * spec.rails
                              : fat_tree ? fat_tree_ports(spec.hosts)
                                         : std::max(spec.hosts_per_leaf + std::uint64_t{spec.spines} * spec.cables_per_spine,
                                                    leaves * spec.cables_per_spine);
  if (ports > kMostPorts) {
    diagnostics.add(
        topology.file, "/generate",
        "a switch of this " + in_quotes(spec.shape) + " would have " + std::to_string(ports) + " ports",
        "a switch has at most " + std::to_string(kMostPorts) + " ports; ask for fewer hosts or cables");
    return;
  }
  Generator generator(topology);
  star ? generator.star() : fat_tree ? generator.fat_tree() : generator.leaf_spine();
}

}  // namespace verbatim::config
