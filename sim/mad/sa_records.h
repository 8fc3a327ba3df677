// Records of the subnet administrator (IBA 15.2.5), and the datagrams that query and return them (IBA
// 15.2.1).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "sim/mad/mad.h"

namespace verbatim::mad::sa {

inline constexpr std::uint8_t kClassVersion = 2;
inline constexpr std::size_t kDataBytes = 200;

// Status of a response: ERR_NO_RESOURCES, ERR_NO_RECORDS.
inline constexpr std::uint16_t kNoResources = 0x0100, kNoRecords = 0x0300;

struct Message {
  Header header;  // encode() sets class and versions
  std::uint64_t sm_key = 0;
  std::uint16_t attribute_offset = 0;
  std::uint64_t component_mask = 0;
  std::array<std::byte, kDataBytes> data{};
  friend bool operator==(const Message&, const Message&) = default;
};

ib::Mad encode(const Message& message);
std::optional<Message> decode(const ib::Mad& mad);

// IBA 15.2.5.16.
struct PathRecord {
  static constexpr std::uint16_t kAttribute = 0x35;
  static constexpr std::size_t kBytes = 64;
  // Bits of the component mask.
  static constexpr std::uint64_t kDgid = 1 << 2, kSgid = 1 << 3, kReversible = 1 << 11, kNumbPath = 1 << 12, kPkey = 1 << 13;

  std::uint64_t service_id = 0;
  ib::Gid dgid, sgid;
  std::uint16_t dlid = 0, slid = 0;
  bool raw_traffic = false;
  std::uint32_t flow_label = 0;
  std::uint8_t hop_limit = 0, traffic_class = 0;
  bool reversible = false;
  std::uint8_t numb_path = 0;
  std::uint16_t pkey = 0;
  std::uint16_t qos_class = 0;
  std::uint8_t sl = 0;
  std::uint8_t mtu_selector = 0, mtu = 0, rate_selector = 0, rate = 0, packet_life_time_selector = 0, packet_life_time = 0;
  std::uint8_t preference = 0;
  friend bool operator==(const PathRecord&, const PathRecord&) = default;

  std::array<std::byte, kBytes> encode() const;
  static PathRecord decode(std::span<const std::byte, kBytes> bytes);
};

// IBA 15.2.5.17.
struct McMemberRecord {
  static constexpr std::uint16_t kAttribute = 0x38;
  static constexpr std::size_t kBytes = 52;
  // Bits of the component mask.
  static constexpr std::uint64_t kMgid = 1 << 0, kPortGid = 1 << 1, kQkey = 1 << 2, kTrafficClass = 1 << 6, kPkey = 1 << 7,
                                 kSl = 1 << 12, kFlowLabel = 1 << 13, kJoinState = 1 << 16;

  ib::Gid mgid, port_gid;
  std::uint32_t qkey = 0;
  std::uint16_t mlid = 0;
  std::uint8_t mtu_selector = 0, mtu = 0, traffic_class = 0;
  std::uint16_t pkey = 0;
  std::uint8_t rate_selector = 0, rate = 0, packet_life_time_selector = 0, packet_life_time = 0, sl = 0;
  std::uint32_t flow_label = 0;
  std::uint8_t hop_limit = 0, scope = 0, join_state = 0;
  bool proxy_join = false;
  friend bool operator==(const McMemberRecord&, const McMemberRecord&) = default;

  std::array<std::byte, kBytes> encode() const;
  static McMemberRecord decode(std::span<const std::byte, kBytes> bytes);
};

}  // namespace verbatim::mad::sa
