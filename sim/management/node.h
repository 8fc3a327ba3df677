// What the agents of a node know of it: the attributes that subnet management reads and writes (IBA 14.2.5). A switch has its
// own port 0; an adapter's ports begin at 1, and place 0 is unused.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/ib/key_violations.h"
#include "sim/mad/smp.h"

namespace verbatim::management {

inline constexpr std::uint8_t kNoPort = 255;
inline constexpr std::size_t kVlArbitrationBlocks = 4;  // low priority, lower and upper half; high priority likewise

struct NodePort {
  mad::smp::PortInfo info;  // but its counts of violations, which the hardware has
  std::vector<std::uint64_t> guids;  // by index of the GID table; 0: none
  std::vector<std::uint16_t> pkeys;
  std::array<std::uint8_t, 16> sl_to_vl{};
  std::array<mad::smp::Data, kVlArbitrationBlocks> vl_arbitration{};

  bool is_link_up() const { return info.physical_state == mad::smp::PhysicalState::kLinkUp; }
  bool is_active() const { return info.state == mad::smp::PortState::kActive; }
};

struct Node {
  using PortSet = std::bitset<256>;

  mad::smp::NodeInfo info;
  mad::smp::SwitchInfo switch_info;
  std::string description;  // at the most 64 bytes
  std::vector<NodePort> ports;
  std::vector<std::uint8_t> forwarding;    // of a switch: port by LID; kNoPort, and beyond the end: none
  std::vector<PortSet> multicast;          // ports by multicast LID, from 0xc000 on
  // Lanes of service levels of a switch by input and output port, where these have been written; else those of the output.
  std::map<std::pair<std::uint8_t, std::uint8_t>, std::array<std::uint8_t, 16>> turn_lanes;

  bool is_switch() const { return info.type == mad::smp::NodeType::kSwitch; }
  // Whose LID and keys are the node's when a datagram has come in by `in`.
  NodePort& base_port(std::uint8_t in) { return ports[is_switch() ? 0 : in]; }
  const NodePort& base_port(std::uint8_t in) const { return ports[is_switch() ? 0 : in]; }
  bool has_port(std::uint32_t port) const { return port < ports.size() && (port > 0 || is_switch()); }
};

// What a node's settings act on.
class NodeHardware {
 public:
  // The settings of a port have been written.
  virtual void on_port_set(std::uint8_t port) = 0;
  // The turn_lanes of a pair of ports of a switch.
  virtual void on_turn_lanes_set(std::uint8_t in, std::uint8_t out) = 0;
  // Its tables of arbitration have been written.
  virtual void on_arbitration_set(std::uint8_t port) = 0;
  virtual void set_link(std::uint8_t port, bool up) = 0;
  virtual void on_forwarding_set() = 0;
  virtual void on_multicast_set() = 0;
  // What has come to a port with wrong keys: those that PortInfo shows, and Set writes.
  virtual ib::KeyViolations& key_violations(std::uint8_t port) = 0;

 protected:
  ~NodeHardware() = default;
};

// Packets and errors of a port since the beginning (IBA 16.1.3.5); words have 4 bytes.
struct PortCounts {
  std::uint64_t words_transmitted = 0, words_received = 0, packets_transmitted = 0, packets_received = 0;
  std::uint64_t multicast_transmitted = 0, multicast_received = 0;
  std::uint64_t symbol_errors = 0, link_error_recoveries = 0, links_downed = 0, receive_errors = 0;
  std::uint64_t remote_physical_errors = 0, switch_relay_errors = 0, transmit_discards = 0;
  std::uint64_t transmit_constraint_errors = 0, receive_constraint_errors = 0;
  std::uint64_t local_integrity_errors = 0, buffer_overruns = 0, vl15_dropped = 0, transmit_wait = 0;
};

// Who counts them.
class PortCounters {
 public:
  virtual PortCounts counts(std::uint8_t port) const = 0;

 protected:
  ~PortCounters() = default;
};

}  // namespace verbatim::management
