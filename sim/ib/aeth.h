// AETH syndromes (IBA 9.7.5.2.1, tables 44 to 46): an ACK with a credit code, an RNR NAK with a timer code,
// or a NAK with a code. Tables without state.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/core/time.h"

namespace verbatim::ib {

// Bits 6:5 of the syndrome; bit 7 is reserved and 0.
enum class AckKind : std::uint8_t { kAck = 0, kRnrNak = 1, kReserved = 2, kNak = 3 };

enum class NakCode : std::uint8_t {
  kPsnSequenceError = 0,
  kInvalidRequest = 1,
  kRemoteAccessError = 2,
  kRemoteOperationalError = 3,
  kInvalidRdRequest = 4,
};

// The invalid credit code: grants nothing and limits nothing; a QP with an SRQ always sends it (IBA 9.7.7.2).
inline constexpr std::uint8_t kUnlimitedCredits = 31;

constexpr AckKind ack_kind(std::uint8_t syndrome) { return static_cast<AckKind>((syndrome >> 5) & 3); }
// Credit code, RNR timer code or NAK code.
constexpr std::uint8_t ack_value(std::uint8_t syndrome) { return syndrome & 0x1f; }
// Code of a kNak syndrome; nullopt for reserved values.
std::optional<NakCode> nak_code(std::uint8_t syndrome);

constexpr std::uint8_t ack_syndrome(std::uint8_t credit_code) { return credit_code & 0x1f; }
constexpr std::uint8_t rnr_nak_syndrome(std::uint8_t timer_code) { return 0x20 | (timer_code & 0x1f); }
constexpr std::uint8_t nak_syndrome(NakCode code) { return 0x60 | static_cast<std::uint8_t>(code); }

// The largest code whose count is not above `receives`, the number of unused receive work requests.
std::uint8_t credit_code(std::uint32_t receives);
// Number of messages that a credit code grants beyond the acknowledged one; nullopt for kUnlimitedCredits.
std::optional<std::uint32_t> credits_of(std::uint8_t credit_code);

// Time that a requester waits after an RNR NAK, by the 5-bit code, which is also ibv_qp_attr.min_rnr_timer.
Duration rnr_timer(std::uint8_t timer_code);

}  // namespace verbatim::ib
