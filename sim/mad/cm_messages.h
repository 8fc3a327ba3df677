// Messages of the communication management class (IBA 12.6). Fields have the specification's names; reserved
// ones are written as zero and ignored when read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "sim/mad/mad.h"

namespace verbatim::mad::cm {

inline constexpr std::uint8_t kClassVersion = 2;

// IBA 12.6.7.2, table 108.
enum class RejReason : std::uint16_t {
  kNoQp = 1,
  kNoEec = 2,
  kNoResources = 3,
  kTimeout = 4,
  kUnsupportedRequest = 5,
  kInvalidCommId = 6,
  kInvalidCommInstance = 7,
  kInvalidServiceId = 8,
  kInvalidTransportType = 9,
  kStaleConnection = 10,
  kRdcDoesNotExist = 11,
  kInvalidGid = 12,
  kInvalidLid = 13,
  kInvalidSl = 14,
  kInvalidTrafficClass = 15,
  kInvalidHopLimit = 16,
  kInvalidPacketRate = 17,
  kInvalidAltGid = 18,
  kInvalidAltLid = 19,
  kInvalidAltSl = 20,
  kInvalidAltTrafficClass = 21,
  kInvalidAltHopLimit = 22,
  kInvalidAltPacketRate = 23,
  kPortCmRedirect = 24,
  kPortRedirect = 25,
  kInvalidMtu = 26,
  kInsufficientResponderResources = 27,
  kConsumerReject = 28,
  kRnrRetryCount = 29,
  kDuplicateLocalCommId = 30,
  kInvalidClassVersion = 31,
  kInvalidFlowLabel = 32,
  kInvalidAltFlowLabel = 33,
};

enum class MessageRejected : std::uint8_t { kReq = 0, kRep = 1, kOther = 2 };
enum class MessageMra : std::uint8_t { kReq = 0, kRep = 1, kLap = 2 };

// IBA 12.6.11.
enum class SidrStatus : std::uint8_t {
  kSuccess = 0,
  kServiceIdNotSupported = 1,
  kRejectedByServiceProvider = 2,
  kNoQp = 3,
  kRedirect = 4,
  kUnsupportedClassVersion = 5,
};

// IBA 12.8.2, the AP status.
enum class AprStatus : std::uint8_t {
  kLoaded = 0,
  kInvalidCommId = 1,
  kUnsupported = 2,
  kRejected = 3,
  kRedirect = 4,
  kIsCurrent = 5,
  kInvalidQpn = 6,
};

template <std::size_t bytes>
using Bytes = std::array<std::byte, bytes>;

// IBA 12.7.11 to 12.7.21.
struct PathInfo {
  std::uint16_t local_lid = 0, remote_lid = 0;
  ib::Gid local_gid, remote_gid;
  std::uint32_t flow_label = 0;
  std::uint8_t packet_rate = 0, traffic_class = 0, hop_limit = 0, sl = 0;
  bool subnet_local = false;
  std::uint8_t local_ack_timeout = 0;
  friend bool operator==(const PathInfo&, const PathInfo&) = default;
};

struct Req {
  static constexpr std::uint16_t kAttribute = 0x10;
  std::uint32_t local_comm_id = 0;
  // Enhanced connection establishment: the 24-bit vendor, and its options in the attribute modifier.
  std::uint32_t vendor_id = 0, ece_options = 0;
  std::uint64_t service_id = 0;
  std::uint64_t local_ca_guid = 0;
  std::uint32_t local_qkey = 0, local_qpn = 0;
  std::uint8_t responder_resources = 0;
  std::uint32_t local_eecn = 0;
  std::uint8_t initiator_depth = 0;
  std::uint32_t remote_eecn = 0;
  std::uint8_t remote_cm_response_timeout = 0;
  std::uint8_t transport_service_type = 0;
  bool end_to_end_flow_control = false;
  std::uint32_t starting_psn = 0;
  std::uint8_t local_cm_response_timeout = 0, retry_count = 0;
  std::uint16_t pkey = 0;
  std::uint8_t path_mtu = 0;
  bool rdc_exists = false;
  std::uint8_t rnr_retry_count = 0, max_cm_retries = 0;
  bool srq = false;
  std::uint8_t extended_transport_type = 0;
  PathInfo primary, alternate;
  Bytes<92> private_data{};
  friend bool operator==(const Req&, const Req&) = default;
};

struct Mra {
  static constexpr std::uint16_t kAttribute = 0x11;
  std::uint32_t local_comm_id = 0, remote_comm_id = 0;
  MessageMra message = MessageMra::kReq;
  std::uint8_t service_timeout = 0;
  Bytes<222> private_data{};
  friend bool operator==(const Mra&, const Mra&) = default;
};

struct Rej {
  static constexpr std::uint16_t kAttribute = 0x12;
  std::uint32_t local_comm_id = 0, remote_comm_id = 0;
  MessageRejected message_rejected = MessageRejected::kReq;
  std::uint8_t info_length = 0;
  RejReason reason = RejReason::kNoQp;
  Bytes<72> additional_info{};
  Bytes<148> private_data{};
  friend bool operator==(const Rej&, const Rej&) = default;
};

struct Rep {
  static constexpr std::uint16_t kAttribute = 0x13;
  std::uint32_t local_comm_id = 0, remote_comm_id = 0;
  std::array<std::uint8_t, 3> vendor_id{};  // most significant byte first
  std::uint32_t ece_options = 0;
  std::uint32_t local_qkey = 0, local_qpn = 0, local_eecn = 0;
  std::uint32_t starting_psn = 0;
  std::uint8_t responder_resources = 0, initiator_depth = 0, target_ack_delay = 0, failover_accepted = 0;
  bool end_to_end_flow_control = false;
  std::uint8_t rnr_retry_count = 0;
  bool srq = false;
  std::uint64_t local_ca_guid = 0;
  Bytes<196> private_data{};
  friend bool operator==(const Rep&, const Rep&) = default;
};

struct Rtu {
  static constexpr std::uint16_t kAttribute = 0x14;
  std::uint32_t local_comm_id = 0, remote_comm_id = 0;
  Bytes<224> private_data{};
  friend bool operator==(const Rtu&, const Rtu&) = default;
};

struct Dreq {
  static constexpr std::uint16_t kAttribute = 0x15;
  std::uint32_t local_comm_id = 0, remote_comm_id = 0;
  std::uint32_t remote_qpn = 0;
  Bytes<220> private_data{};
  friend bool operator==(const Dreq&, const Dreq&) = default;
};

struct Drep {
  static constexpr std::uint16_t kAttribute = 0x16;
  std::uint32_t local_comm_id = 0, remote_comm_id = 0;
  Bytes<224> private_data{};
  friend bool operator==(const Drep&, const Drep&) = default;
};

struct SidrReq {
  static constexpr std::uint16_t kAttribute = 0x17;
  std::uint32_t request_id = 0;
  std::uint16_t pkey = 0;
  std::uint64_t service_id = 0;
  Bytes<216> private_data{};
  friend bool operator==(const SidrReq&, const SidrReq&) = default;
};

struct SidrRep {
  static constexpr std::uint16_t kAttribute = 0x18;
  std::uint32_t request_id = 0;
  SidrStatus status = SidrStatus::kSuccess;
  std::uint8_t info_length = 0;
  std::uint32_t qpn = 0;
  std::uint64_t service_id = 0;
  std::uint32_t qkey = 0;
  Bytes<72> additional_info{};
  Bytes<136> private_data{};
  friend bool operator==(const SidrRep&, const SidrRep&) = default;
};

// Load alternate path.
struct Lap {
  static constexpr std::uint16_t kAttribute = 0x19;
  std::uint32_t local_comm_id = 0, remote_comm_id = 0;
  std::uint32_t remote_qpn = 0;
  std::uint8_t remote_cm_response_timeout = 0;
  PathInfo alternate;
  Bytes<168> private_data{};
  friend bool operator==(const Lap&, const Lap&) = default;
};

struct Apr {
  static constexpr std::uint16_t kAttribute = 0x1a;
  std::uint32_t local_comm_id = 0, remote_comm_id = 0;
  std::uint8_t info_length = 0;
  AprStatus status = AprStatus::kLoaded;
  Bytes<72> additional_info{};
  Bytes<148> private_data{};
  friend bool operator==(const Apr&, const Apr&) = default;
};

// Returns a datagram of the class.
template <class Message>
ib::Mad encode(const Message& message, std::uint64_t transaction);

// nullopt: the datagram is of another class, version, method or attribute.
template <class Message>
std::optional<Message> decode(const ib::Mad& mad);

}  // namespace verbatim::mad::cm
