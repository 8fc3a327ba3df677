// Choices of a connection manager. Index 0 of every site is the behaviour of Linux.
#pragma once

#include <cstdint>
#include <string_view>

namespace verbatim::cm::freedom {

// Starting PSN of each direction of a connection (IBA 12.7.31: any): random; close to 2^24, so that it wraps
// around within the connection; the same as in the connection before; 0.
inline constexpr std::string_view kStartingPsn = "starting-psn";
enum class PsnChoice : std::uint32_t { kRandom = 0, kBeforeWrap, kSameAgain, kZero };
inline constexpr std::uint32_t kPsnChoices = 4;
// Number of PSNs after the starting one before the wrap-around.
inline constexpr std::string_view kPsnDistance = "starting-psn/distance";
inline constexpr std::uint32_t kPsnDistances = 256;

// Communication identifier of a connection (number_space.h). It is released when no message with it can be in
// flight: its time-wait period is over (IBA 12.9.8.4), or it was never sent.
inline constexpr std::string_view kCommunicationId = "communication-id";
// The number of an rdma_cm_id or of a multicast membership in librdmacm's interface.
inline constexpr std::string_view kIdNumber = "connection-id-number";

}  // namespace verbatim::cm::freedom
