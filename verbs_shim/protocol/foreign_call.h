// System calls that cannot be simulated and kill the program: those through other entries than that of
// x86-64, which have other numbers and registers, and those from the gate that only the shim may make
// (gate_calls.h).
#pragma once

#include <cstdint>
#include <cstdio>

#include "verbs_shim/protocol/system_calls.h"

namespace verbatim::protocol {

enum class ForeignCall { kNone, k32Bit, kX32, kOtherArchitecture };

inline constexpr std::uint32_t kArchX86_64 = 0xc000'003e, kArchI386 = 0x4000'0003;  // AUDIT_ARCH_*, linux/audit.h

// `arch` and `number` are si_arch and si_syscall of SIGSYS. A negative number is an unknown call of x86-64.
constexpr ForeignCall foreign_call(std::uint32_t arch, std::int32_t number) {
  constexpr std::int32_t kX32Bit = 0x4000'0000;
  if (arch == kArchI386) return ForeignCall::k32Bit;
  if (arch != kArchX86_64) return ForeignCall::kOtherArchitecture;
  return number >= 0 && (number & kX32Bit) != 0 ? ForeignCall::kX32 : ForeignCall::kNone;
}

// Explanation for the user.
constexpr const char* reason_of_foreign_call(std::uint32_t arch, std::int32_t number) {
  return foreign_call(arch, number) == ForeignCall::kNone ? "this entry does not let it pass"
                                                          : "only system calls of x86-64 can be simulated";
}

// Description for the user: "a 32-bit system call (int 0x80), number 20". A call that is none of these was
// made from the gate.
struct ForeignCallText {
  char text[80];
};
inline ForeignCallText text_of_foreign_call(std::uint32_t arch, std::int32_t number) {
  ForeignCallText out{};
  const ForeignCall kind = foreign_call(arch, number);
  if (kind == ForeignCall::kOtherArchitecture) {
    std::snprintf(out.text, sizeof out.text, "a system call of architecture %#x, number %d", arch, number);
  } else if (kind == ForeignCall::kX32) {
    std::snprintf(out.text, sizeof out.text, "an x32 system call, number %d", number & 0x3fff'ffff);
  } else if (kind == ForeignCall::kNone) {
    const char* const name = number < 0 ? nullptr : system_call(static_cast<std::uint64_t>(number)).name;
    name != nullptr ? std::snprintf(out.text, sizeof out.text, "system call %s through the simulator's own entry", name)
                    : std::snprintf(out.text, sizeof out.text, "system call %d through the simulator's own entry", number);
  } else {
    std::snprintf(out.text, sizeof out.text, "a 32-bit system call (int 0x80), number %d", number);
  }
  return out;
}

}  // namespace verbatim::protocol
