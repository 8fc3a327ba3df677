#include "tools/verbatim/run_hosts.h"

#include <set>
#include <utility>

#include "sim/supervisor/code/processor.h"

namespace verbatim::cli {

namespace {

code::InstructionSet instruction_set_of(const config::CpuProfile& profile) {
  return profile.instruction_set == code::name_of(code::InstructionSet::kX86_64V3) ? code::InstructionSet::kX86_64V3
                                                                                   : code::InstructionSet::kX86_64V2;
}

}  // namespace

std::string lacking_processor(const config::TopologySpec& topology) {
  std::set<code::InstructionSet> looked_at;
  for (const config::HostSpec& host : topology.hosts) {
    const code::InstructionSet set = instruction_set_of(host.cpu_profile);
    if (!looked_at.insert(set).second) continue;
    const std::vector<std::string> lacking = code::lacking_here(set);
    if (lacking.empty()) continue;
    std::string names;
    for (const std::string& name : lacking) names += (names.empty() ? "" : ", ") + name;
    return "programs of host " + host.name + " see a processor of " + host.cpu_profile.instruction_set +
           ", and this machine's lacks " + names + "; give the processor profile " + config::in_quotes(host.cpu) +
           " another \"instruction_set\"";
  }
  return "";
}

std::vector<supervisor::HostSpec> host_specs(config::Simulation& simulation) {
  std::vector<supervisor::HostSpec> hosts;
  for (std::size_t i = 0; i < simulation.topology().hosts.size(); ++i) {
    const config::HostSpec& spec = simulation.topology().hosts[i];
    supervisor::HostSpec host;
    host.name = spec.name;
    host.component = simulation.host_component(i);
    host.address = spec.address;
    std::vector<fabric::Port*> ports;
    const bool runs_programs = simulation.topology().runs_programs(i);
    for (const std::size_t adapter : simulation.topology().adapters_of(i)) {
      if (!runs_programs) break;
      host.devices.push_back(&simulation.hca(adapter));
      host.port_management.push_back(&simulation.port_management(adapter));
      ports.push_back(&simulation.host_port(adapter));
      if (simulation.topology().is_roce()) ports.back()->count_priorities();
      if (simulation.topology().adapters[adapter].number != 0)
        host.further_interfaces.push_back(simulation.topology().interface_of(adapter));
    }
    for (const std::size_t index : simulation.topology().adapters_of(i)) {
      const config::AdapterSpec& adapter = simulation.topology().adapters[index];
      for (const config::VlanSpec& vlan : simulation.topology().vlans_of(adapter)) {
        host.further_interfaces.push_back(vlan.interface);
        host.vlans.push_back({static_cast<std::uint16_t>(vlan.id), adapter.number});
      }
    }
    host.from_wire = simulation.least_latency_to(i);
    host.further_networks = simulation.topology().further_networks;
    if (runs_programs) host.rdma_cm = &simulation.rdma_cm(i);
    host.costs = spec.cpu_profile.costs;
    host.timestamp_counter_hz = spec.cpu_profile.timestamp_counter_hz;
    host.instruction_set = instruction_set_of(spec.cpu_profile);
    host.huge_pages = {spec.huge_pages.of_2_mib, spec.huge_pages.of_1_gib};
    host.open_files = static_cast<int>(spec.open_files);
    host.port_counters = [ports = std::move(ports)](std::size_t device) { return ports.at(device)->counters(); };
    hosts.push_back(std::move(host));
  }
  return hosts;
}

}  // namespace verbatim::cli
