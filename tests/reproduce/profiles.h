// Devices as sources of published results have them, and what is common to their cables.
#pragma once

#include "tests/reproduce/fabric.h"

namespace verbatim::reproduce {

// HPCC's simulator: an adapter takes no time, acknowledges each packet, and answers each marked one. Queue pairs take turns for
// the line itself: one packet waits in the port, at the most. Its data has priority 3.
Json ns3_adapter();
// DCQCN (SIGCOMM 2015), section 6: hosts with `controller` "dcqcn-paper", or "none" for PFC alone.
Json paper_adapter(const std::string& controller);
// Its switch: 12 MB, marks from 5 to 200 KB at 1 %.
Json paper_switch();

inline constexpr std::uint32_t kPriority3 = 24 << 2;  // traffic class of DSCP 24
// PFC of priority 3 alone.
Json lossless_3();
// 1 us, as HPCC's links.
Json microsecond_cable();

}  // namespace verbatim::reproduce
