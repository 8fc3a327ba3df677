// Connects the management agents of adapters and switches to their hardware: sending and receiving datagrams,
// and applying settings.
#pragma once

#include <bitset>
#include <functional>
#include <optional>
#include <string>

#include "sim/cm/rdma_cm.h"
#include "sim/fabric/port.h"
#include "sim/fabric/switch.h"
#include "sim/hca/hca.h"
#include "sim/management/mad_agents.h"
#include "sim/management/node_agents.h"

namespace verbatim::config {

// Common to both kinds of nodes. All must outlive the agents.
struct NodeSurroundings {
  Engine& engine;
  ComponentId source;  // of the events of the agents
  management::Node& node;
  bool is_managed;  // the simulation's own subnet manager activates links that are repaired
};

// An adapter's port: its own agents and those of programs. Other datagrams are passed on.
class AdapterManagement final : public ib::ManagementPort,
                                private ib::KeyViolationListener,
                                public management::PortManagement,
                                private management::NodeOutlet,
                                private management::NodeHardware,
                                private management::CongestionHardware,
                                private management::PortCounters {
 public:
  // `facts` describes the port to connection management and follows its settings. `on_manager` is called when
  // the subnet manager's LID changes.
  AdapterManagement(const NodeSurroundings& surroundings, hca::Hca& hca, fabric::Port& port, cm::PortFacts& facts,
                    std::function<void(ib::Lid)> on_manager);

  void receive(const ib::ManagementDatagram& datagram);
  void on_link(bool up);
  // Sends a program's datagram.
  void send(const ib::ManagementDatagram& datagram) override;

  management::MadAgents& agents() override { return programs_; }
  const std::vector<std::uint16_t>& pkeys() const override { return hca_.address().pkeys; }
  const std::vector<ib::Gid>& gids() const override { return hca_.address().gids; }
  bool has_subnet_management() const override { return !hca_.address().roce; }
  void set_subnet_manager(bool is_one) override;
  // Applies a setting, as a subnet manager would.
  void configure(const ib::InjectionSetting& injection) { agents_.congestion().set_injection(injection); }
  bool has_failed() const override { return hca_.has_failed(); }

 private:
  void send_by(std::uint8_t, const ib::ManagementDatagram& datagram) override { hca_.management().send(datagram); }
  void send_to_lid(const ib::ManagementDatagram& datagram) override { hca_.management().send(datagram); }
  bool deliver(const ib::ManagementDatagram& datagram) override;
  void on_port_set(std::uint8_t port) override;
  void on_turn_lanes_set(std::uint8_t, std::uint8_t) override {}
  void on_arbitration_set(std::uint8_t port) override;
  void set_link(std::uint8_t port, bool up) override;
  void on_forwarding_set() override {}
  void on_multicast_set() override {}
  ib::KeyViolations& key_violations(std::uint8_t) override { return hca_.key_violations(); }
  void set_marking(std::uint8_t, const ib::MarkingSetting&) override {}
  void set_injection(const ib::InjectionSetting& setting) override { hca_.set_injection(setting); }
  ib::MarkingLog* marking_log() override { return nullptr; }
  ib::InjectionLog* injection_log() override { return hca_.injection_log(); }
  void on_bad_pkey(const ib::KeyViolation& violation) override;
  void on_bad_qkey(const ib::KeyViolation& violation) override;
  std::uint16_t lid() const;
  management::PortCounts counts(std::uint8_t port) const override;

  const NodeSurroundings in_;
  hca::Hca& hca_;
  fabric::Port& port_;
  cm::PortFacts& facts_;
  std::function<void(ib::Lid)> on_manager_;
  management::NodeAgents agents_;
  management::MadAgents programs_;
};

class SwitchManagement final : public fabric::SwitchAgent,
                               private management::NodeOutlet,
                               private management::NodeHardware,
                               private management::CongestionHardware,
                               private management::PortCounters {
 public:
  // Marks are drawn from random streams named by the run's seed and the switch's name.
  SwitchManagement(const NodeSurroundings& surroundings, fabric::Switch& device, std::uint64_t seed, std::string name);

  // Applies a setting, as a subnet manager would.
  void configure(const mad::congestion::SwitchSetting& congestion) { agents_.congestion().set_switch(congestion); }

  // Copies the tables that the simulation's manager has written since the last call.
  void catch_up();

  void on_packet(fabric::PortNumber in, ib::PacketPtr packet, Instant tail) override;
  void on_link(fabric::PortNumber port, bool up) override;

 private:
  void send_by(std::uint8_t port, const ib::ManagementDatagram& datagram) override;
  void send_to_lid(const ib::ManagementDatagram& datagram) override;
  bool deliver(const ib::ManagementDatagram&) override { return false; }
  void on_port_set(std::uint8_t port) override;
  void on_turn_lanes_set(std::uint8_t in, std::uint8_t out) override;
  void on_arbitration_set(std::uint8_t port) override;
  void set_link(std::uint8_t port, bool up) override;
  void on_forwarding_set() override;
  void on_multicast_set() override;
  ib::KeyViolations& key_violations(std::uint8_t port) override { return violations_.at(port); }
  void set_marking(std::uint8_t port, const ib::MarkingSetting& setting) override;
  void set_injection(const ib::InjectionSetting&) override {}
  ib::MarkingLog* marking_log() override { return &marks_; }
  ib::InjectionLog* injection_log() override { return nullptr; }
  management::PortCounts counts(std::uint8_t port) const override;
  ib::PacketPtr make_packet(const ib::ManagementDatagram& datagram);

  const NodeSurroundings in_;
  fabric::Switch& switch_;
  const std::uint64_t seed_;
  const std::string name_;
  std::uint32_t next_psn_ = 0;
  std::vector<ib::KeyViolations> violations_;  // by port
  ib::MarkingLog marks_;
  std::bitset<256> marking_ports_;  // ports whose setting has ever been other than off
  management::NodeAgents agents_;
};

}  // namespace verbatim::config
