// The management agents of a host's port; they deliver each datagram to the right agent. On the subnet
// manager's host one of them is the subnet administrator.
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

// Paths between ports of the same partition, as the subnet manager has set up their routes.
class SubnetPaths final : public management::PathFinder {
 public:
  using Levels = std::shared_ptr<const subnet::ServiceLevels>;

  // `levels` are the service levels of the paths; null: 0 for all.
  SubnetPaths(const Engine& engine, const std::vector<cm::PortFacts>& ports, Levels levels)
      : engine_(engine), ports_(ports), levels_(std::move(levels)) {}
  // `changes` are sorted by time.
  void set_changes(std::vector<PathChange> changes) { changes_ = std::move(changes); }

  std::optional<management::Path> find(const ib::Gid& from, const ib::Gid& to, std::optional<std::uint16_t> pkey) const override;

 private:
  const cm::PortFacts* port_of(const ib::Gid& gid) const;
  // The last change that has taken effect; null if none has.
  const PathChange* current() const;
  std::uint8_t level_of(ib::Lid from, ib::Lid to) const;
  bool do_cables_lead(ib::Lid from, ib::Lid to) const;

  const Engine& engine_;
  const std::vector<cm::PortFacts>& ports_;
  const Levels levels_;
  std::vector<PathChange> changes_;
};

// The ibv_rate code for a port's active width and speed, in the encodings of ibv_port_attr.
std::uint8_t rate_code(std::uint32_t width, std::uint32_t speed);

class HostManagement final : public ib::ManagementAgent {
 public:
  struct Subnet {
    ib::Lid manager;
    // Set on the subnet manager's host only; null elsewhere.
    const management::PathFinder* paths = nullptr;
    const management::SubnetView* view = nullptr;
  };

  // `port` describes the host's port and is updated by the port's settings. All must outlive it.
  HostManagement(const NodeSurroundings& surroundings, hca::Hca& hca, fabric::Port& fabric_port, cm::PortFacts& port,
                 const Subnet& subnet, Choices& choices, Rng random);

  // For connections by address.
  cm::AdapterSide side() { return {port_, connections_, queries_}; }
  management::PortManagement& port() { return agents_; }
  // Applies a setting, as a subnet manager would.
  void configure(const ib::InjectionSetting& injection) { agents_.configure(injection); }

 private:
  void on_datagram(const ib::ManagementDatagram& datagram) override;
  void on_link(bool up) override { agents_.on_link(up); }
  void on_failure() override { agents_.report_failure(); }

  const cm::PortFacts& port_;
  cm::ConnectionManager connections_;
  management::SubnetQueries queries_;
  std::unique_ptr<management::SubnetAdministrator> administrator_;
  AdapterManagement agents_;
};

}  // namespace verbatim::config
