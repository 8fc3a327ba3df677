// The management agents of one host's port: which datagram is for whom. On the host of the subnet manager one of them is the
// subnet administrator.
#pragma once

#include <memory>

#include "sim/cm/connection_manager.h"
#include "sim/cm/rdma_cm.h"
#include "sim/config/node_management.h"
#include "sim/config/path_changes.h"
#include "sim/config/spec.h"
#include "sim/hca/hca.h"
#include "sim/management/subnet_queries.h"
#include "sim/management/subnet_administrator.h"
#include "sim/subnet/subnet.h"

namespace verbatim::config {

// Ways through the subnet, as its manager has laid them, between ports of the same partition.
class SubnetPaths final : public management::PathFinder {
 public:
  using Levels = std::shared_ptr<const subnet::ServiceLevels>;

  // `levels`: of the paths; null: 0 for all.
  SubnetPaths(const Engine& engine, const std::vector<cm::PortFacts>& ports, Levels levels)
      : engine_(engine), ports_(ports), levels_(std::move(levels)) {}
  // By time.
  void set_changes(std::vector<PathChange> changes) { changes_ = std::move(changes); }

  std::optional<management::Path> find(const ib::Gid& from, const ib::Gid& to, std::optional<std::uint16_t> pkey) const override;

 private:
  const cm::PortFacts* port_of(const ib::Gid& gid) const;
  // The last that has come into effect; null: none has.
  const PathChange* current() const;
  std::uint8_t level_of(ib::Lid from, ib::Lid to) const;
  bool do_cables_lead(ib::Lid from, ib::Lid to) const;

  const Engine& engine_;
  const std::vector<cm::PortFacts>& ports_;
  const Levels levels_;
  std::vector<PathChange> changes_;
};

// Code of ibv_rate for a port's active width and speed, as ibv_port_attr tells them.
std::uint8_t rate_code(std::uint32_t width, std::uint32_t speed);

class HostManagement final : public ib::ManagementAgent {
 public:
  struct Subnet {
    ib::Lid manager;
    // Not null on the manager's own host.
    const management::PathFinder* paths = nullptr;
    const management::SubnetView* view = nullptr;
  };

  // `surroundings`: of the port's agents. `port`: what is known of it, which its settings change. All outlive it.
  HostManagement(const NodeSurroundings& surroundings, hca::Hca& hca, fabric::Port& fabric_port, cm::PortFacts& port,
                 const Subnet& subnet, Choices& choices, Rng random);

  // Of connections by address.
  cm::AdapterSide side() { return {port_, connections_, queries_}; }
  management::PortManagement& port() { return agents_; }
  // As a subnet manager sets it.
  void configure(const ib::InjectionSetting& injection) { agents_.configure(injection); }

 private:
  void on_datagram(const ib::ManagementDatagram& datagram) override;
  void on_link(bool up) override { agents_.on_link(up); }
  void on_failure() override { agents_.tell_failure(); }

  const cm::PortFacts& port_;
  cm::ConnectionManager connections_;
  management::SubnetQueries queries_;
  std::unique_ptr<management::SubnetAdministrator> administrator_;
  AdapterManagement agents_;
};

}  // namespace verbatim::config
