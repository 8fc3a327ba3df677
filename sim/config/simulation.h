// Builds objects from specs. A simulation owns the engine, the tracer and the model of one fabric; programs
// use it through the adapters that it returns.
//
// Invariant: everything that can influence a result (component ids, LIDs, seeds, addresses) follows from
// names in the spec, so the order in which components are built, or are listed in the file, changes nothing.
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
#include "sim/faults/drawn_disturbances.h"
#include "sim/faults/drawn_faults.h"
#include "sim/faults/fault_script.h"
#include "sim/faults/management_faults.h"
#include "sim/hca/hca.h"
#include "sim/hca/light_endpoint.h"

namespace verbatim::config {

// The nodes of a topology, adapters before switches, for its subnet administrator.
class TopologyView final : public management::SubnetView {
 public:
  // `managements`: by switch; a null element: no management. All arguments must outlive the view.
  TopologyView(const TopologySpec& topology, const CableIndex& cables, const std::vector<const management::Node*>& nodes,
               const std::vector<std::unique_ptr<SwitchManagement>>& managements)
      : topology_(topology), cables_(cables), nodes_(nodes), managements_(managements) {}
  std::size_t node_count() const override { return nodes_.size(); }
  // Forwarding tables are those of the last sweep.
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

  // `topology` is checked (load.h); it and `choices` must outlive the simulation. `order`: order in which
  // components are built; only a test, which shows that it changes nothing, sets it.
  Simulation(const TopologySpec& topology, std::uint64_t seed, Choices& choices,
             Order order = Order::kForward);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  Engine& engine() { return engine_; }
  // The subnet as its administrator sees it.
  const management::SubnetView& subnet_view() const { return view_; }
  Tracer& tracer() { return tracer_; }
  Choices& choices() { return choices_; }
  const ComponentTable& components() const { return components_; }
  const TopologySpec& topology() const { return topology_; }
  const subnet::Plan& plan() const { return plan_; }

  // By index into topology().adapters; the first adapter of a host has the host's index.
  hca::Endpoint& endpoint(std::size_t adapter) { return adapters_.at(adapter).endpoint(); }
  // The adapter as programs use it, by verbs and by umad. It must not be a light endpoint.
  hca::Hca& hca(std::size_t adapter) {
    CHECK(adapters_.at(adapter).hca != nullptr);
    return *adapters_[adapter].hca;
  }
  ComponentId adapter_component(std::size_t adapter) const { return components_.id("hca/" + topology_.adapters.at(adapter).name); }
  management::PortManagement& port_management(std::size_t adapter) { return adapters_.at(adapter).management->port(); }
  fabric::Port& host_port(std::size_t adapter) { return *adapters_.at(adapter).port; }
  // By index into topology().hosts; the host must run programs.
  cm::RdmaCm& rdma_cm(std::size_t host) { return connections_.at(host)->rdma_cm(); }
  ComponentId host_component(std::size_t host) const {
    return components_.id("host/" + topology_.hosts.at(host).name);
  }
  // Lower bound of the time of a bit from an adapter of another host to one of this host; 0 if the host has
  // no cable.
  Duration least_latency_to(std::size_t host) const;
  // By index into topology().switches.
  fabric::Switch& fabric_switch(std::size_t index) { return *switches_.at(index); }

  // Service level in the initial path record between two ports.
  std::uint8_t level_of(ib::Lid from, ib::Lid to) const {
    return plan_.levels == nullptr ? std::uint8_t{0} : plan_.levels->of(from, to);
  }

  // Adds checked faults (load.h). Called once, before the first event.
  void add_faults(const std::vector<FaultSpec>& faults);
  // Lets the choices hit at most `budget` packets of all links. Called once, before the first event, after
  // add_faults().
  void draw_faults(std::int64_t budget);
  std::uint64_t drawn_faults() const { return drawn_faults_.fired(); }
  // Lets the choices make links slow for a while and, if `of_datagrams`, lose and delay datagrams
  // (faults/drawn_disturbances.h). Called once, before the first event, after draw_faults().
  void draw_disturbances(bool of_datagrams);
  // Lets the choices fail at most `budget` calls of programs on each host. Called once, before the first
  // event.
  void draw_failing_calls(std::int64_t budget);
  FailingCalls& failing_calls() { return failing_calls_; }
  // How often each fault has fired and how many packets it could have hit, in the order in which they were
  // added.
  struct FaultCount {
    std::uint64_t seen, fired;
  };
  std::vector<FaultCount> fault_counts() const;
  // Faults of the management network, which the supervisor simulates.
  faults::ManagementFaults& management_faults() { return management_faults_; }

  // Names of all components of a topology: "host/NAME", "hca/NAME", "port/NAME:N", "switch/NAME",
  // "supervisor".
  static std::vector<std::string> component_names(const TopologySpec& topology);
  // Component name of a port, "port/NAME:N"; `port` from 1.
  static std::string port_name(const std::string& node, std::uint32_t port);

 private:
  struct Adapter {
    std::unique_ptr<hca::Hca> hca;              // one of hca and light is set
    std::unique_ptr<hca::LightEndpoint> light;
    std::unique_ptr<fabric::Port> port;
    std::unique_ptr<HostManagement> management;  // with hca only
    management::Node node;

    hca::Endpoint& endpoint() {
      if (hca != nullptr) return *hca;
      return *light;
    }
  };

  // Least time after which a connection of a program gives up, at present; a connection that waits forever counts as
  // one with the longest timeout.
  Duration least_patience() const;
  // Schedules the route changes that failing cables cause.
  void reroute(const std::vector<FaultSpec>& faults);
  hca::PortAddress address_of(std::size_t adapter) const;
  void build_adapter(std::size_t index, std::uint64_t seed, Choices& choices);
  void build_management(std::size_t index, std::uint64_t seed, Choices& choices);
  void build_connections(std::size_t host);
  void build_switch(std::size_t index, std::uint64_t seed);
  NodeSurroundings surroundings_of(const std::string& component, management::Node& node);
  void build_link(const LinkSpec& link, std::uint64_t seed);
  // Applies the settings, as the simulation's own subnet manager does.
  void configure_congestion(const SubnetCongestionSpec& spec);
  fabric::Port& port_of(const Endpoint& end);

  const TopologySpec& topology_;
  const std::uint64_t seed_;
  Choices& choices_;
  const CableIndex cables_;
  const Duration least_cable_;  // propagation delay of the shortest cable
  ComponentTable components_;
  Engine engine_;
  Tracer tracer_;
  const bool has_telemetry_;  // some adapter's congestion controller uses telemetry of switches
  subnet::Plan plan_;
  hca::Neighbours neighbours_;
  std::vector<std::vector<std::uint16_t>> pkey_tables_;  // by adapter
  std::vector<cm::PortFacts> ports_;                     // by adapter
  SubnetPaths paths_;
  std::vector<const management::Node*> nodes_;           // adapters, then switches
  TopologyView view_;
  std::vector<Adapter> adapters_;
  std::vector<std::unique_ptr<HostConnections>> connections_;  // by host; null: it runs no programs
  std::vector<std::unique_ptr<fabric::Switch>> switches_;
  fabric::SharedLinkParams link_params_;  // of the last cable; the next one often has equal parameters
  std::shared_ptr<const fabric::MarkingParams> marking_params_;  // of the last port that marks, for the same reason
  std::vector<management::Node> switch_nodes_;
  std::vector<std::unique_ptr<SwitchManagement>> switch_managements_;
  faults::FaultScript faults_{engine_, tracer_};
  faults::DrawnFaults drawn_faults_;
  faults::DrawnDisturbances disturbances_;
  FailingCalls failing_calls_;
  faults::ManagementFaults management_faults_{tracer_};
  faults::AdapterFaults adapter_faults_{engine_};
  enum class FaultKind : std::uint8_t { kFabric, kManagement, kAdapter };
  std::vector<FaultKind> fault_kinds_;  // of each added fault
};

}  // namespace verbatim::config
