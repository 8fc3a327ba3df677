// Devices of the sources of published results, and common properties of their cables.
#pragma once

#include "tests/reproduce/fabric.h"

namespace verbatim::reproduce {

// HPCC's simulator: an adapter without delay, which acknowledges each packet and answers each marked one.
// Queue pairs compete for the line directly: at most one packet waits in the port. Data have priority 3.
Json ns3_adapter();
// DCQCN (SIGCOMM 2015), section 6: hosts with `controller` "dcqcn-paper", or "none" for PFC only.
Json paper_adapter(const std::string& controller);
// The paper's switch: 12 MB, marks from 5 to 200 KB at 1 %.
Json paper_switch();

inline constexpr std::uint32_t kPriority3 = 24 << 2;  // traffic class of DSCP 24
// PFC for priority 3 only.
Json lossless_3();
// 1 us, like HPCC's links.
Json microsecond_cable();

}  // namespace verbatim::reproduce
