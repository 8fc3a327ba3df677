// Topologies of a regular shape, written out: hosts, switches and cables as if they stood in the file.
#include <algorithm>

#include "sim/config/load.h"
#include "sim/config/words.h"

namespace verbatim::config {

namespace {

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
  const bool star = spec.shape == "star";
  const std::uint64_t leaves = (std::uint64_t{spec.hosts} + spec.hosts_per_leaf - 1) / spec.hosts_per_leaf * spec.rails;
  const std::uint64_t ports =
      star ? std::uint64_t{spec.hosts} * spec.rails
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
  star ? generator.star() : generator.leaf_spine();
}

}  // namespace verbatim::config
