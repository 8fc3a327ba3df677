// Cuts a message into packets (IBA 9.7.2, 9.7.4.1.6): FIRST and MIDDLE carry exactly one path MTU, LAST and
// ONLY the rest; an empty message is one empty packet. Pure functions.
#pragma once

#include <cstdint>

#include "sim/ib/opcode.h"

namespace verbatim::ib {

enum class MessageKind : std::uint8_t {
  kSend,
  kSendImm,
  kSendInvalidate,
  kWrite,
  kWriteImm,
  kReadResponse,
};

struct Segment {
  Opcode opcode{};
  std::uint32_t offset = 0;  // of its payload in the message
  std::uint32_t length = 0;  // of its payload
  bool begins_message = false;
  bool ends_message = false;
  friend bool operator==(const Segment&, const Segment&) = default;
};

// Number of packets, hence PSNs, of a message: at least one. A READ of `length` bytes uses as many PSNs for
// its response.
constexpr std::uint32_t packet_count(std::uint32_t length, std::uint32_t mtu) {
  return length == 0 ? 1 : (length - 1) / mtu + 1;
}

// The packet at byte `offset` of a message; `offset` is a multiple of `mtu` and less than `length`, or 0.
// `mtu` is the path MTU in bytes. The transport must support the kind of message.
Segment next_segment(Transport transport, MessageKind kind, std::uint32_t length, std::uint32_t offset,
                     std::uint32_t mtu);

}  // namespace verbatim::ib
