// The registers on which execution from the entry of a poll function can depend.
#pragma once

#include <iterator>

#include "sim/supervisor/spin/alu.h"
#include "sim/supervisor/spin/spin_prover.h"

namespace verbatim::spin {

// Kept by a call (System V x86-64 ABI, 3.2.1).
inline constexpr unsigned kPreserved[] = {kRbx, kRsp, kRbp, kR12, kR13, kR14, kR15};
// Of a call's first three arguments.
inline constexpr unsigned kArguments[] = {kRdi, kRsi, kRdx};

// Compares the registers on which execution from a poll's entry can depend: those that the call keeps, and
// its arguments.
inline bool same_at_entry(const Registers& a, const Registers& b, const PollEntry& poll) {
  if (a.rip != b.rip || a.fs_base != b.fs_base) return false;
  for (const unsigned index : kPreserved) {
    if (a.gpr[index] != b.gpr[index]) return false;
  }
  for (unsigned i = 0; i < std::size(kArguments); ++i) {
    const unsigned size = poll.argument_sizes[i];
    if (size != 0 && ((a.gpr[kArguments[i]] ^ b.gpr[kArguments[i]]) & size_mask(size)) != 0) return false;
  }
  return true;
}

}  // namespace verbatim::spin
