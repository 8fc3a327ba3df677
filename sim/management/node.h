// The attributes of a node that its subnet management agent reads and writes (IBA 14.2.5). A switch has port
// 0; an adapter's ports begin at 1, and index 0 is unused.
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
// VLArbitrationTable blocks: lower and upper half of the low-priority table, then of the high-priority table.
inline constexpr std::size_t kVlArbitrationBlocks = 4;

struct NodePort {
  mad::smp::PortInfo info;  // without violation counters, which the hardware has
  std::vector<std::uint64_t> guids;  // GID table; 0: none
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
  std::string description;  // at most 64 bytes
  std::vector<NodePort> ports;
  std::vector<std::uint8_t> forwarding;    // of a switch: port by LID; kNoPort, and beyond the end: none
  std::vector<PortSet> multicast;          // ports by multicast LID, from 0xc000 on
  // SL-to-VL tables of a switch by input and output port, where written; otherwise the output's table
  // applies.
  std::map<std::pair<std::uint8_t, std::uint8_t>, std::array<std::uint8_t, 16>> turn_lanes;

  bool is_switch() const { return info.type == mad::smp::NodeType::kSwitch; }
  // The port whose LID and keys represent the node for a datagram received by `in`.
  NodePort& base_port(std::uint8_t in) { return ports[is_switch() ? 0 : in]; }
  const NodePort& base_port(std::uint8_t in) const { return ports[is_switch() ? 0 : in]; }
  bool has_port(std::uint32_t port) const { return port < ports.size() && (port > 0 || is_switch()); }
};

// The device that a node's settings act on.
class NodeHardware {
 public:
  // The attributes of a port were written.
  virtual void on_port_set(std::uint8_t port) = 0;
  // turn_lanes of a pair of switch ports was written.
  virtual void on_turn_lanes_set(std::uint8_t in, std::uint8_t out) = 0;
  // The arbitration tables of a port were written.
  virtual void on_arbitration_set(std::uint8_t port) = 0;
  virtual void set_link(std::uint8_t port, bool up) = 0;
  virtual void on_forwarding_set() = 0;
  virtual void on_multicast_set() = 0;
  // Counters of wrong keys at a port, which PortInfo reports and Set writes.
  virtual ib::KeyViolations& key_violations(std::uint8_t port) = 0;

 protected:
  ~NodeHardware() = default;
};

// Counters of a port since the start of the run (IBA 16.1.3.5); words have 4 bytes.
struct PortCounts {
  std::uint64_t words_transmitted = 0, words_received = 0, packets_transmitted = 0, packets_received = 0;
  std::uint64_t multicast_transmitted = 0, multicast_received = 0;
  std::uint64_t symbol_errors = 0, link_error_recoveries = 0, links_downed = 0, receive_errors = 0;
  std::uint64_t remote_physical_errors = 0, switch_relay_errors = 0, transmit_discards = 0;
  std::uint64_t transmit_constraint_errors = 0, receive_constraint_errors = 0;
  std::uint64_t local_integrity_errors = 0, buffer_overruns = 0, vl15_dropped = 0, transmit_wait = 0;
};

// Source of the counters.
class PortCounters {
 public:
  virtual PortCounts counts(std::uint8_t port) const = 0;

 protected:
  ~PortCounters() = default;
};

}  // namespace verbatim::management
