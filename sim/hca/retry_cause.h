#pragma once

#include <cstdint>

namespace verbatim::hca {

// Why packets are sent again; value `cause` of retransmission records.
enum class RetryCause : std::uint8_t { kTimeout = 1, kSequenceNak, kRnrNak, kMissingResponse };

}  // namespace verbatim::hca
