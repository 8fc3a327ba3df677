// Deviations from the specification by which hardware is known. Each is a profile of freedom of its own,
// quirk:NAME: the freedom of the specification and this quirk. A program that fails with the former has a
// mistake; one that fails only with a quirk does not run on all hardware.
#pragma once

#include <cstdint>
#include <string_view>

namespace verbatim::hca {

enum class Quirk : std::uint8_t { kTorn8, kNoLastWqe, kEarlyAcknowledgement, kMultipath, kUnorderedWrites, kDuplicatedDatagrams };

struct QuirkText {
  std::string_view name, what;
};

// In the order of Quirk.
inline constexpr QuirkText kQuirks[] = {
    {"torn8", "an aligned word of 8 bytes may be written in halves, or byte by byte"},
    {"no-last-wqe", "IBV_EVENT_QP_LAST_WQE_REACHED may never be raised"},
    {"early-ack", "an acknowledgement may be sent before the acknowledged bytes are in memory, so that the sender learns from its "
                  "completion that a WRITE is done before the other host can see it"},
    {"multipath", "the completion of a receive may be written before its data, if the two take different paths to memory"},
    {"unordered-writes", "a WRITE may be visible before an earlier WRITE of its queue pair, also in a region that was registered without "
                         "IBV_ACCESS_RELAXED_ORDERING"},
    {"duplicated-datagrams", "a datagram may arrive twice"},
};

using Quirks = std::uint32_t;  // a bit for each
constexpr Quirks bit_of(Quirk quirk) { return Quirks{1} << static_cast<unsigned>(quirk); }

}  // namespace verbatim::hca
