// What all management datagrams begin with (IBA 13.4.3), and which classes there are.
#pragma once

#include <cstdint>

#include "sim/ib/management.h"

namespace verbatim::mad {

// Management classes (IBA 13.4.4).
inline constexpr std::uint8_t kSubnetAdministration = 0x03;
inline constexpr std::uint8_t kCommunicationManagement = 0x07;

// Methods (IBA 13.4.5).
inline constexpr std::uint8_t kGet = 0x01;
inline constexpr std::uint8_t kSet = 0x02;
inline constexpr std::uint8_t kSend = 0x03;
inline constexpr std::uint8_t kDelete = 0x15;  // of the subnet administrator (IBA 15.2.2)
inline constexpr std::uint8_t kResponseBit = 0x80;
inline constexpr std::uint8_t kGetResponse = kGet | kResponseBit;
inline constexpr std::uint8_t kDeleteResponse = kDelete | kResponseBit;

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

Header header_of(const ib::Mad& mad);
void put_header(ib::Mad& mad, const Header& header);

}  // namespace verbatim::mad
