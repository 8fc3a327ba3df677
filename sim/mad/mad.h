// Common header of management datagrams (IBA 13.4.3), and management classes.
#pragma once

#include <cstdint>

#include "sim/ib/management.h"

namespace verbatim::mad {

// Management classes (IBA 13.4.4).
inline constexpr std::uint8_t kSubnetManagementLid = 0x01;
inline constexpr std::uint8_t kSubnetManagementDirected = 0x81;
inline constexpr std::uint8_t kSubnetAdministration = 0x03;
inline constexpr std::uint8_t kPerformanceManagement = 0x04;
inline constexpr std::uint8_t kCommunicationManagement = 0x07;
inline constexpr std::uint8_t kCongestionControl = 0x21;  // IBA A10.4.1

// Methods (IBA 13.4.5).
inline constexpr std::uint8_t kGet = 0x01;
inline constexpr std::uint8_t kSet = 0x02;
inline constexpr std::uint8_t kSend = 0x03;
inline constexpr std::uint8_t kTrap = 0x05;
inline constexpr std::uint8_t kReport = 0x06;
inline constexpr std::uint8_t kTrapRepress = 0x07;
inline constexpr std::uint8_t kGetTable = 0x12;  // of the subnet administrator (IBA 15.2.2)
inline constexpr std::uint8_t kDelete = 0x15;  // of the subnet administrator (IBA 15.2.2)
inline constexpr std::uint8_t kResponseBit = 0x80;
inline constexpr std::uint8_t kGetResponse = kGet | kResponseBit;
inline constexpr std::uint8_t kGetTableResponse = kGetTable | kResponseBit;
inline constexpr std::uint8_t kDeleteResponse = kDelete | kResponseBit;

// Status of a response (IBA 13.4.7).
inline constexpr std::uint16_t kBadVersion = 0x0004;
inline constexpr std::uint16_t kUnsupportedMethod = 0x0008;
inline constexpr std::uint16_t kUnsupportedAttribute = 0x000c;
inline constexpr std::uint16_t kInvalidField = 0x001c;

constexpr bool is_subnet_management(std::uint8_t management_class) {
  return management_class == kSubnetManagementLid || management_class == kSubnetManagementDirected;
}

struct Header {
  std::uint8_t base_version = 1;
  std::uint8_t management_class = 0;
  std::uint8_t class_version = 0;
  std::uint8_t method = 0;
  std::uint16_t status = 0;
  std::uint16_t class_specific = 0;
  std::uint64_t transaction_id = 0;
  std::uint16_t attribute_id = 0;
  std::uint32_t attribute_modifier = 0;
  friend bool operator==(const Header&, const Header&) = default;
};

inline constexpr std::size_t kHeaderBytes = 24;

// Whether it is a response or TrapRepress, which ends the repetition of a trap.
constexpr bool is_answer(const Header& header) {
  return (header.method & kResponseBit) != 0 || header.method == kTrapRepress;
}

Header header_of(const ib::Mad& mad);
void put_header(ib::Mad& mad, const Header& header);

}  // namespace verbatim::mad
