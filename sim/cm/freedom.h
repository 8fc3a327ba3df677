// Where a connection manager may choose. Index 0 of every site is what Linux does.
#pragma once

#include <cstdint>
#include <string_view>

namespace verbatim::cm::freedom {

// With which PSN each direction of a connection begins (IBA 12.7.31: any): one at random; one so near to the end of the numbers
// that they begin anew within this connection; that of the connection before; 0.
inline constexpr std::string_view kStartingPsn = "starting-psn";
enum class PsnChoice : std::uint32_t { kRandom = 0, kBeforeWrap, kSameAgain, kZero };
inline constexpr std::uint32_t kPsnChoices = 4;
// How many PSNs are left before the first one comes again, less one.
inline constexpr std::string_view kPsnDistance = "starting-psn/distance";
inline constexpr std::uint32_t kPsnDistances = 256;

// Which communication identifier a connection gets (number_space.h). One is given back when nothing with it can be under way: its
// time of waiting is over (IBA 12.9.8.4), or nobody was ever told of it.
inline constexpr std::string_view kCommunicationId = "communication-id";
// Likewise the number by which librdmacm knows an rdma_cm_id or a membership of a group.
inline constexpr std::string_view kIdNumber = "connection-id-number";

}  // namespace verbatim::cm::freedom
