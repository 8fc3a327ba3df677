// Subnet management datagrams (IBA 14.2): directed routes, and the attributes of nodes, switches and ports.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sim/mad/mad.h"

namespace verbatim::mad::smp {

inline constexpr std::uint8_t kClassVersion = 1;
inline constexpr std::size_t kDataOffset = 64, kDataBytes = 64;
using Data = std::array<std::byte, kDataBytes>;

Data data_of(const ib::Mad& mad);
void put_data(ib::Mad& mad, const Data& data);
std::uint64_t mkey_of(const ib::Mad& mad);

// IBA 14.2.1.2. Entry n of a path, from 1, is the egress port of hop n, or its ingress port in the return
// path.
struct DirectedRoute {
  static constexpr std::size_t kHops = 64;
  bool is_return = false;  // the D bit
  std::uint8_t hop_pointer = 0, hop_count = 0;
  std::uint16_t drslid = 0xffff, drdlid = 0xffff;
  std::array<std::uint8_t, kHops> initial_path{}, return_path{};

  static DirectedRoute of(const ib::Mad& mad);
  void put(ib::Mad& mad) const;
};

// Attributes (IBA 14.2.5).
inline constexpr std::uint16_t kNotice = 0x0002, kNodeDescription = 0x0010, kNodeInfo = 0x0011, kSwitchInfo = 0x0012,
                               kGuidInfo = 0x0014, kPortInfo = 0x0015, kPkeyTable = 0x0016, kSlToVlTable = 0x0017,
                               kVlArbitrationTable = 0x0018, kLinearForwardingTable = 0x0019,
                               kMulticastForwardingTable = 0x001b, kSmInfo = 0x0020;
// ExtendedPortInfo of the vendor whose device ids the adapters have: FDR10 links. Managers query it by device
// id.
inline constexpr std::uint16_t kVendorPortInfo = 0xff90;

enum class NodeType : std::uint8_t { kChannelAdapter = 1, kSwitch = 2 };

struct NodeInfo {
  std::uint8_t base_version = 1, class_version = 1;
  NodeType type = NodeType::kChannelAdapter;
  std::uint8_t port_count = 1;
  std::uint64_t system_image_guid = 0, node_guid = 0, port_guid = 0;
  std::uint16_t partition_capacity = 1, device_id = 0;
  std::uint32_t revision = 0;
  std::uint8_t local_port = 0;
  std::uint32_t vendor_id = 0;

  Data encode() const;
  static NodeInfo decode(std::span<const std::byte> bytes);
};

struct SwitchInfo {
  std::uint16_t linear_capacity = 0xbfff, random_capacity = 0, multicast_capacity = 0x400, linear_top = 0;
  std::uint8_t default_port = 0, default_multicast_primary = 0, default_multicast_not_primary = 0;
  std::uint8_t life_time = 0x12;
  bool port_state_change = false;
  std::uint8_t optimized_sl_to_vl = 0;
  std::uint16_t lids_per_port = 0, partition_enforcement_capacity = 0;
  bool inbound_enforcement = false, outbound_enforcement = false, filter_raw_inbound = false, filter_raw_outbound = false;
  bool enhanced_port0 = false;
  std::uint16_t multicast_top = 0;

  Data encode() const;
  static SwitchInfo decode(std::span<const std::byte> bytes);
};

// Bits of PortInfo's capability mask.
inline constexpr std::uint32_t kIsSubnetManager = 1u << 1, kHasNotice = 1u << 2, kHasTrap = 1u << 3, kHasMigration = 1u << 5,
                               kHasServiceLevels = 1u << 6, kHasExtendedSpeeds = 1u << 14,
                               kHasCommunicationManagement = 1u << 16, kHasClientReregistration = 1u << 25;

enum class PortState : std::uint8_t { kNoChange, kDown, kInit, kArmed, kActive };
enum class PhysicalState : std::uint8_t { kNoChange, kSleep, kPolling, kDisabled, kTraining, kLinkUp, kRecovery };

struct PortInfo {
  std::uint64_t mkey = 0, gid_prefix = 0xfe80'0000'0000'0000;
  std::uint16_t lid = 0, master_sm_lid = 0;
  std::uint32_t capabilities = 0;
  std::uint16_t diagnostic_code = 0, mkey_lease_period = 0;
  std::uint8_t local_port = 0;
  std::uint8_t width_enabled = 0, width_supported = 0, width_active = 0;
  std::uint8_t speed_supported = 0;
  PortState state = PortState::kDown;
  PhysicalState physical_state = PhysicalState::kPolling;
  PhysicalState down_default_state = PhysicalState::kPolling;
  std::uint8_t mkey_protect_bits = 0, lmc = 0;
  std::uint8_t speed_active = 0, speed_enabled = 0;
  std::uint8_t neighbor_mtu = 5, master_sm_sl = 0;
  std::uint8_t vl_capacity = 1, init_type = 0, vl_high_limit = 0;
  std::uint8_t vl_arbitration_high_capacity = 0, vl_arbitration_low_capacity = 0;
  std::uint8_t init_type_reply = 0, mtu_capacity = 5, vl_stall_count = 0, head_lifetime = 0x1f;
  std::uint8_t operational_vls = 1;
  bool inbound_enforcement = false, outbound_enforcement = false, filter_raw_inbound = false, filter_raw_outbound = false;
  std::uint16_t mkey_violations = 0, pkey_violations = 0, qkey_violations = 0;
  std::uint8_t guid_capacity = 0;
  bool client_reregister = false;
  std::uint8_t subnet_timeout = 18, response_time = 16;
  std::uint8_t local_physical_errors = 8, overrun_errors = 8;
  std::uint16_t max_credit_hint = 0;
  std::uint32_t link_round_trip_latency = 0;
  std::uint16_t capabilities2 = 0;
  std::uint8_t extended_speed_active = 0, extended_speed_supported = 0, extended_speed_enabled = 0;

  Data encode() const;
  static PortInfo decode(std::span<const std::byte> bytes);
};

struct SmInfo {
  std::uint64_t guid = 0, sm_key = 0;
  std::uint32_t act_count = 0;
  std::uint8_t priority = 0;
  std::uint8_t state = 3;  // 0 not active, 1 discovering, 2 standby, 3 master

  Data encode() const;
};

}  // namespace verbatim::mad::smp
