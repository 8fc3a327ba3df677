// The registers on which execution from the entry of a poll function can depend.
#pragma once

#include "sim/supervisor/spin/spin_prover.h"

namespace verbatim::spin {

// Kept by a call (System V x86-64 ABI, 3.2.1).
inline constexpr unsigned kPreserved[] = {kRbx, kRsp, kRbp, kR12, kR13, kR14, kR15};
// Hold a call's first three arguments.
inline constexpr unsigned kArguments[] = {kRdi, kRsi, kRdx};

// Compares the registers on which execution from a poll's entry can depend: those that the call keeps, and
// its arguments.
bool same_at_entry(const Registers& a, const Registers& b, const PollEntry& poll);

}  // namespace verbatim::spin
