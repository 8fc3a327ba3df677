// Specs to objects: the one place that knows every component there is. A simulation owns the engine, the
// tracer and the model of one fabric; programs come in through the adapters it hands out.
//
// Invariant: everything that can influence a result (component ids, LIDs, seeds, addresses) follows from
// names in the spec, so that the order in which components are built, or stand in the file, changes nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/config/cabling.h"
#include "sim/config/host_addresses.h"
#include "sim/config/host_management.h"
#include "sim/config/node_management.h"
#include "sim/config/spec.h"
#include "sim/core/choice.h"
#include "sim/core/engine.h"
#include "sim/core/trace.h"
#include "sim/fabric/port.h"
#include "sim/fabric/switch.h"
#include "sim/faults/adapter_faults.h"
#include "sim/core/failing_calls.h"
#include "sim/faults/drawn_faults.h"
#include "sim/faults/fault_script.h"
#include "sim/faults/management_faults.h"
#include "sim/hca/hca.h"
#include "sim/hca/light_endpoint.h"

namespace verbatim::config {

// The nodes of a topology, adapters before switches, for its subnet administrator.
class TopologyView final : public management::SubnetView {
 public:
  // `managements`: of the switches; null: none. All outlive it.
  TopologyView(const TopologySpec& topology, const CableIndex& cables, const std::vector<const management::Node*>& nodes,
               const std::vector<std::unique_ptr<SwitchManagement>>& managements)
      : topology_(topology), cables_(cables), nodes_(nodes), managements_(managements) {}
  std::size_t node_count() const override { return nodes_.size(); }
  // With the tables that the last sweep has written.
  const management::Node& node(std::size_t index) const override;
  std::optional<End> peer(const End& end) const override;

 private:
  const TopologySpec& topology_;
  const CableIndex& cables_;
  const std::vector<const management::Node*>& nodes_;
  const std::vector<std::unique_ptr<SwitchManagement>>& managements_;
};

class Simulation {
 public:
  enum class Order { kForward, kBackward };

  // `topology` is checked (load.h) and outlives the simulation, as does `choices`. `order` is for the test
  // that shows that it does not matter.
  Simulation(const TopologySpec& topology, std::uint64_t seed, Choices& choices,
             Order order = Order::kForward);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  Engine& engine() { return engine_; }
  // As the subnet administrator sees it.
  const management::SubnetView& subnet_view() const { return view_; }
  Tracer& tracer() { return tracer_; }
  Choices& choices() { return choices_; }
  const ComponentTable& components() const { return components_; }
  const TopologySpec& topology() const { return topology_; }
  const subnet::Plan& plan() const { return plan_; }

  // By index into topology().adapters; the first adapter of a host has its index.
  hca::Endpoint& endpoint(std::size_t adapter) { return adapters_.at(adapter).endpoint(); }
  // The adapter, which is no light endpoint, as programs reach it: by verbs, and by umad.
  hca::Hca& hca(std::size_t adapter) {
    CHECK(adapters_.at(adapter).hca != nullptr);
    return *adapters_[adapter].hca;
  }
  ComponentId adapter_component(std::size_t adapter) const { return components_.id("hca/" + topology_.adapters.at(adapter).name); }
  management::PortManagement& port_management(std::size_t adapter) { return adapters_.at(adapter).management->port(); }
  fabric::Port& host_port(std::size_t adapter) { return *adapters_.at(adapter).port; }
  // By index into topology().hosts; of one that runs programs.
  cm::RdmaCm& rdma_cm(std::size_t host) { return connections_.at(host)->rdma_cm(); }
  ComponentId host_component(std::size_t host) const {
    return components_.id("host/" + topology_.hosts.at(host).name);
  }
  // No bit that leaves an adapter of another host is at one of this host sooner.
  Duration least_way_to(std::size_t host) const;
  // By index into topology().switches.
  fabric::Switch& fabric_switch(std::size_t index) { return *switches_.at(index); }

  // Service level of the path between two ports, as the subnet manager's path records have it at the beginning.
  std::uint8_t level_of(ib::Lid from, ib::Lid to) const {
    return plan_.levels == nullptr ? std::uint8_t{0} : plan_.levels->of(from, to);
  }

  // Checked faults (load.h); called once, before the first event.
  void add_faults(const std::vector<FaultSpec>& faults);
  // At most so many packets of all links are hit, as the choices have it; likewise, and after add_faults().
  void draw_faults(std::int64_t budget);
  std::uint64_t drawn_faults() const { return drawn_faults_.fired(); }
  // At most so many calls of programs on each host fail though they need not, as the choices have it; likewise.
  void draw_failing_calls(std::int64_t budget);
  FailingCalls& failing_calls() { return failing_calls_; }
  // How often each has fired and what it could have hit, in the order in which they were given.
  struct FaultCount {
    std::uint64_t seen, fired;
  };
  std::vector<FaultCount> fault_counts() const;
  // Of the management network, which is the supervisor's.
  faults::ManagementFaults& management_faults() { return management_faults_; }

  // Names of all components of a topology: "host/NAME", "hca/NAME", "port/NAME:N", "switch/NAME",
  // "supervisor".
  static std::vector<std::string> component_names(const TopologySpec& topology);
  // Ports are numbered from 1.
  static std::string port_name(const std::string& node, std::uint32_t port);

 private:
  struct Adapter {
    std::unique_ptr<hca::Hca> hca;              // one of these two
    std::unique_ptr<hca::LightEndpoint> light;
    std::unique_ptr<fabric::Port> port;
    std::unique_ptr<HostManagement> management;  // of the former
    management::Node node;

    hca::Endpoint& endpoint() {
      if (hca != nullptr) return *hca;
      return *light;
    }
  };

  // Cables that fail change routes.
  void reroute(const std::vector<FaultSpec>& faults);
  hca::PortAddress address_of(std::size_t adapter) const;
  void build_adapter(std::size_t index, std::uint64_t seed, Choices& choices);
  void build_management(std::size_t index, std::uint64_t seed, Choices& choices);
  void build_connections(std::size_t host);
  void build_switch(std::size_t index, std::uint64_t seed);
  NodeSurroundings surroundings_of(const std::string& component, management::Node& node);
  // Of what packets are made of, when the symbols between them are spread over it.
  void build_link(const LinkSpec& link, std::uint64_t seed);
  // As the simulation's own subnet manager does.
  void configure_congestion(const SubnetCongestionSpec& spec);
  fabric::Port& port_of(const Endpoint& end);

  const TopologySpec& topology_;
  const std::uint64_t seed_;
  Choices& choices_;
  const CableIndex cables_;
  const Duration least_cable_;  // propagation of the shortest one
  ComponentTable components_;
  Engine engine_;
  Tracer tracer_;
  const bool has_telemetry_;  // a controller of an adapter asks switches for it
  subnet::Plan plan_;
  hca::Neighbours neighbours_;
  std::vector<std::vector<std::uint16_t>> pkey_tables_;  // by adapter
  std::vector<cm::PortFacts> ports_;                     // likewise
  SubnetPaths paths_;
  std::vector<const management::Node*> nodes_;           // adapters, then switches
  TopologyView view_;
  std::vector<Adapter> adapters_;
  std::vector<std::unique_ptr<HostConnections>> connections_;  // by host; null: it runs no programs
  std::vector<std::unique_ptr<fabric::Switch>> switches_;
  fabric::SharedLinkParams link_params_;  // of the last cable; the next one mostly has the same
  std::vector<management::Node> switch_nodes_;
  std::vector<std::unique_ptr<SwitchManagement>> switch_managements_;
  faults::FaultScript faults_{engine_, tracer_};
  faults::DrawnFaults drawn_faults_;
  FailingCalls failing_calls_;
  faults::ManagementFaults management_faults_{tracer_};
  faults::AdapterFaults adapter_faults_{engine_};
  enum class FaultKind : std::uint8_t { kFabric, kManagement, kAdapter };
  std::vector<FaultKind> fault_kinds_;  // of each fault that was given
};

}  // namespace verbatim::config
