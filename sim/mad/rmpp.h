// Header of reliable multi-packet transactions (IBA 13.6.2), and the offset of the data after it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/mad/mad.h"

namespace verbatim::mad {

enum class RmppType : std::uint8_t { kNone, kData, kAck, kStop, kAbort };

struct RmppHeader {
  static constexpr std::uint8_t kActive = 1, kFirst = 2, kLast = 4;

  std::uint8_t version = 1;
  RmppType type = RmppType::kNone;
  std::uint8_t response_time = 0x1f;
  std::uint8_t flags = 0;
  std::uint8_t status = 0;
  std::uint32_t segment = 0;     // ACK: the last segment received
  std::uint32_t length = 0;      // DATA: bytes; ACK: the last segment that may be sent

  bool is_active() const { return (flags & kActive) != 0; }
  bool is_last() const { return (flags & kLast) != 0; }

  static RmppHeader of(const ib::Mad& mad);
  void put(ib::Mad& mad) const;
};

// The rest of the datagram is data, which includes the class's own header.
inline constexpr std::size_t kRmppEnd = 36;
inline constexpr std::uint32_t kRmppData = ib::kMadBytes - kRmppEnd;

// Whether a class has RMPP headers: subnet administration, and vendor classes with an organisation's number.
constexpr bool has_rmpp(std::uint8_t management_class) {
  return management_class == kSubnetAdministration || (management_class >= 0x30 && management_class <= 0x4f);
}
// Offset of the attribute, after the class's header.
constexpr std::size_t data_offset(std::uint8_t management_class) {
  constexpr std::size_t kAdministration = 56, kVendor = 40, kSmp = 64, kOther = 24;
  if (management_class == kSubnetAdministration) return kAdministration;
  if (has_rmpp(management_class)) return kVendor;
  return is_subnet_management(management_class) ? kSmp : kOther;
}

}  // namespace verbatim::mad
