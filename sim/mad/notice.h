// The Notice attribute (IBA 13.4.8.2), by which traps and reports describe an event, and the details of the
// traps of IBA 14.2.5.1. Fields have the specification's names; reserved ones are written as zero and ignored
// when read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sim/ib/key_violations.h"
#include "sim/mad/mad.h"

namespace verbatim::mad {

inline constexpr std::size_t kDetailBytes = 54;
using NoticeDetails = std::array<std::byte, kDetailBytes>;

struct Notice {
  static constexpr std::uint16_t kAttribute = 0x02;
  static constexpr std::size_t kBytes = 80;

  enum class Type : std::uint8_t { kFatal = 0, kUrgent = 1, kSecurity = 2, kSubnetManagement = 3, kInformational = 4 };
  enum Producer : std::uint32_t { kChannelAdapter = 1, kSwitch = 2, kRouter = 3, kClassManager = 4 };

  bool is_generic = true;
  Type type = Type::kInformational;  // 7 bits
  std::uint32_t producer_type = kChannelAdapter;  // a Producer, 24 bits; if not generic, the vendor id
  std::uint16_t trap_number = 0;                  // if not generic, the device id
  std::uint16_t issuer_lid = 0;
  bool notice_toggle = false;
  std::uint16_t notice_count = 0;  // 15 bits
  NoticeDetails details{};
  ib::Gid issuer_gid;  // set if forwarded by an administrator; zero in a trap
  friend bool operator==(const Notice&, const Notice&) = default;

  std::array<std::byte, kBytes> encode() const;
  static Notice decode(std::span<const std::byte, kBytes> bytes);
};

// Details of traps, one structure for each layout; constants are the numbers of the traps that have it.

// A port's GID is in service or out of service; a group was created or deleted.
struct GidDetails {
  static constexpr std::uint16_t kInService = 64, kOutOfService = 65, kGroupCreated = 66, kGroupDeleted = 67;
  ib::Gid gid;
  friend bool operator==(const GidDetails&, const GidDetails&) = default;
};

// The state of a switch's link has changed.
struct LinkStateDetails {
  static constexpr std::uint16_t kTrap = 128;
  std::uint16_t lid = 0;
  friend bool operator==(const LinkStateDetails&, const LinkStateDetails&) = default;
};

// A port has reached a counter's threshold, or its flow control watchdog has expired.
struct PortDetails {
  static constexpr std::uint16_t kLocalLinkIntegrity = 129, kBufferOverrun = 130, kFlowControlWatchdog = 131;
  std::uint16_t lid = 0;
  std::uint8_t port_number = 0;
  friend bool operator==(const PortDetails&, const PortDetails&) = default;
};

// PortInfo's CapabilityMask has changed, or the items in `other_changes`: bit 0 NodeDescription, 1
// LinkWidthEnabled, 2 LinkSpeedEnabled.
struct CapabilityDetails {
  static constexpr std::uint16_t kTrap = 144;
  std::uint16_t lid = 0;
  bool has_other_changes = false;
  std::uint32_t capability_mask = 0;
  std::uint8_t other_changes = 0;  // 6 bits
  std::uint16_t capability_mask2 = 0;
  friend bool operator==(const CapabilityDetails&, const CapabilityDetails&) = default;
};

struct SystemImageDetails {
  static constexpr std::uint16_t kTrap = 145;
  std::uint16_t lid = 0;
  std::uint64_t system_image_guid = 0;
  friend bool operator==(const SystemImageDetails&, const SystemImageDetails&) = default;
};

// A subnet management datagram had a wrong M_Key.
struct BadMKeyDetails {
  static constexpr std::uint16_t kTrap = 256;
  std::uint16_t lid = 0, dr_slid = 0;
  std::uint8_t method = 0;
  std::uint16_t attribute_id = 0;
  std::uint32_t attribute_modifier = 0;
  std::uint64_t mkey = 0;
  bool dr_notice = false, dr_path_truncated = false;
  std::uint8_t dr_hop_count = 0;  // 6 bits
  std::array<std::byte, 30> dr_notice_return_path{};
  friend bool operator==(const BadMKeyDetails&, const BadMKeyDetails&) = default;
};

// A congestion control datagram had a wrong CC_Key. Fields are at Linux's positions
// (drivers/infiniband/hw/qib/qib_mad.h).
struct BadCongestionKeyDetails {
  static constexpr std::uint16_t kTrap = 0;
  std::uint16_t source_lid = 0;
  std::uint8_t method = 0;
  std::uint16_t attribute_id = 0;
  std::uint32_t attribute_modifier = 0;
  std::uint32_t qp = 0;
  std::uint64_t key = 0;
  ib::Gid source_gid;  // zero without a GRH
  friend bool operator==(const BadCongestionKeyDetails&, const BadCongestionKeyDetails&) = default;
};

// A packet had a wrong P_Key or Q_Key: the first of two fields belongs to its source, the second to its
// destination.
struct BadKeyDetails {
  static constexpr std::uint16_t kBadPKey = 257, kBadQKey = 258;
  std::uint16_t lid1 = 0, lid2 = 0;
  std::uint32_t key = 0;
  std::uint8_t sl = 0;
  std::uint32_t qp1 = 0, qp2 = 0;
  ib::Gid gid1, gid2;
  friend bool operator==(const BadKeyDetails&, const BadKeyDetails&) = default;
};

// A packet had a wrong P_Key, detected by a switch.
struct BadPKeyAtSwitchDetails {
  static constexpr std::uint16_t kTrap = 259;
  std::uint16_t data_valid = 0;
  std::uint16_t lid1 = 0, lid2 = 0, pkey = 0;
  std::uint8_t sl = 0;
  std::uint32_t qp1 = 0, qp2 = 0;
  ib::Gid gid1, gid2;
  std::uint16_t switch_lid = 0;
  std::uint8_t port_number = 0;
  friend bool operator==(const BadPKeyAtSwitchDetails&, const BadPKeyAtSwitchDetails&) = default;
};

template <class Details>
NoticeDetails encode_details(const Details& details);
template <class Details>
Details decode_details(const NoticeDetails& bytes);

// Traps of a channel adapter's port with this LID.
Notice bad_pkey_notice(std::uint16_t issuer_lid, const ib::KeyViolation& violation);
Notice bad_qkey_notice(std::uint16_t issuer_lid, const ib::KeyViolation& violation);
Notice capability_notice(const CapabilityDetails& details);
// Trap of a switch with this LID.
Notice link_state_notice(std::uint16_t issuer_lid);
// Trap of either: a subnet management datagram from `source` had a wrong M_Key.
Notice bad_mkey_notice(Notice::Producer producer, std::uint16_t issuer_lid, const ib::Mad& request, std::uint16_t source);
// Trap of either: a congestion control datagram had a wrong CC_Key.
Notice bad_congestion_key_notice(Notice::Producer producer, std::uint16_t issuer_lid, const ib::ManagementDatagram& request);

}  // namespace verbatim::mad
