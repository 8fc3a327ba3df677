// Condition codes of x86 conditional jumps.
#pragma once

#include <cstdint>

namespace verbatim::protocol {

// Whether condition `code` holds with RFLAGS `flags`; codes are 0 to 15 in encoding order (O, NO, B, NB, …;
// Intel SDM 1, appendix B).
constexpr bool condition_holds(unsigned code, std::uint64_t flags) {
  const auto flag = [flags](unsigned bit) { return (flags >> bit & 1) != 0; };
  const bool carry = flag(0), parity = flag(2), zero = flag(6), sign = flag(7), overflow = flag(11);
  const bool of_pair[8] = {overflow, carry,  zero,             carry || zero,
                           sign,     parity, sign != overflow, zero || sign != overflow};
  return of_pair[code >> 1 & 7] != ((code & 1) != 0);
}

}  // namespace verbatim::protocol
