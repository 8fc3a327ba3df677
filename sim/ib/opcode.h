// BTH opcodes (IBA 9.2.1, table 38) and their properties.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace verbatim::ib {

// Transport in the upper three bits, operation in the lower five.
enum class Transport : std::uint8_t { kRc = 0x00, kUc = 0x20, kUd = 0x60, kCnp = 0x80, kXrc = 0xa0 };

enum class Operation : std::uint8_t {
  kSendFirst = 0x00,
  kSendMiddle = 0x01,
  kSendLast = 0x02,
  kSendLastImm = 0x03,
  kSendOnly = 0x04,
  kSendOnlyImm = 0x05,
  kWriteFirst = 0x06,
  kWriteMiddle = 0x07,
  kWriteLast = 0x08,
  kWriteLastImm = 0x09,
  kWriteOnly = 0x0a,
  kWriteOnlyImm = 0x0b,
  kReadRequest = 0x0c,
  kReadResponseFirst = 0x0d,
  kReadResponseMiddle = 0x0e,
  kReadResponseLast = 0x0f,
  kReadResponseOnly = 0x10,
  kAcknowledge = 0x11,
  kAtomicAcknowledge = 0x12,
  kCompareSwap = 0x13,
  kFetchAdd = 0x14,
  kSendLastInvalidate = 0x16,
  kSendOnlyInvalidate = 0x17,
  kAtomicWrite = 0x1d,  // IBA 1.6
};

// A BTH opcode: a transport and an operation. OpcodeInfo::defined says whether the combination is legal.
enum class Opcode : std::uint8_t {
  kRcAcknowledge = 0x11,
  kCongestionPacket = 0x80,        // notification on InfiniBand (IBA A10.3.2), called CN
  kCongestionNotification = 0x81,  // notification on RoCEv2 (IBA A17.9.3), called CNP
};
constexpr bool is_notification(Opcode o) { return (static_cast<std::uint8_t>(o) & ~1u) == 0x80; }

constexpr Opcode make_opcode(Transport t, Operation o) {
  return static_cast<Opcode>(static_cast<std::uint8_t>(t) | static_cast<std::uint8_t>(o));
}
constexpr Transport transport_of(Opcode o) {
  return static_cast<Transport>(static_cast<std::uint8_t>(o) & 0xe0);
}
constexpr Operation operation_of(Opcode o) {
  return static_cast<Operation>(static_cast<std::uint8_t>(o) & 0x1f);
}

// Row of the opcode table: headers after the BTH, and the packet's place in its message.
struct OpcodeInfo {
  std::string_view name;  // Wireshark's spelling without the transport, for example "SEND First"
  bool defined = false;
  bool begins_message = false;  // FIRST or ONLY
  bool ends_message = false;    // LAST or ONLY
  bool has_payload = false;
  bool is_request = false;      // goes to the responder
  bool has_reth = false;
  bool has_aeth = false;
  bool has_atomic_eth = false;
  bool has_atomic_ack_eth = false;
  bool has_immediate = false;
  bool has_invalidate = false;
  bool has_deth = false;
  bool has_xrc_eth = false;
  std::uint8_t extended_header_bytes = 0;  // all headers between BTH and payload
};
// One row for each 8-bit value; `defined` is false for undefined opcodes.
extern const std::array<OpcodeInfo, 256> kOpcodeTable;
inline const OpcodeInfo& info(Opcode opcode) { return kOpcodeTable[static_cast<std::uint8_t>(opcode)]; }

}  // namespace verbatim::ib
