// A thread's user registers as the interpreter uses them, and their conversion from and to a signal context.
#pragma once

#include <ucontext.h>

#include <array>
#include <cstdint>

namespace verbatim::spin {

// In the order of instruction encodings.
enum Gpr : std::uint8_t {
  kRax,
  kRcx,
  kRdx,
  kRbx,
  kRsp,
  kRbp,
  kRsi,
  kRdi,
  kR8,
  kR9,
  kR10,
  kR11,
  kR12,
  kR13,
  kR14,
  kR15
};

// Callee-saved registers (System V ABI, x86-64), one bit each.
inline constexpr std::uint16_t kCallKeeps = 1 << kRbx | 1 << kRsp | 1 << kRbp | 1 << kR12 | 1 << kR13 | 1 << kR14 | 1 << kR15;

// The status bits of RFLAGS.
inline constexpr std::uint32_t kCf = 1, kPf = 1 << 2, kAf = 1 << 4, kZf = 1 << 6, kSf = 1 << 7, kOf = 1 << 11;
inline constexpr std::uint32_t kArithmeticFlags = kCf | kPf | kAf | kZf | kSf | kOf;
inline constexpr std::uint32_t kDirectionFlag = 1 << 10;

struct Registers {
  std::array<std::uint64_t, 16> gpr{};
  std::uint64_t rip = 0;
  std::uint64_t flags = 0;  // arithmetic flags; other bits are kept unread
  std::uint64_t fs_base = 0;

  friend bool operator==(const Registers&, const Registers&) = default;
};

// SSE and AVX registers. Only halves marked as known have a value.
struct VectorRegisters {
  std::array<std::array<std::uint64_t, 4>, 16> lane{};
  std::uint32_t known = 0;  // bit r: bits 0-127 of register r; bit 16 + r: bits 128-255
  // Registers of which only bits 0-63 of the low half are known: conversions keep the bits above.
  std::uint32_t low_only = 0;
  // Registers of which only bits 0-31 are known.
  std::uint32_t lowest_only = 0;
  // Registers whose bits above 255 a VEX instruction has cleared (they exist with AVX-512).
  std::uint32_t cleared_above = 0;

  friend bool operator==(const VectorRegisters&, const VectorRegisters&) = default;
};

namespace detail {
inline constexpr int kContextIndex[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                          REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                          REG_R12, REG_R13, REG_R14, REG_R15};
}

inline Registers from_context(const gregset_t& context, std::uint64_t fs_base) {
  Registers registers;
  for (int i = 0; i < 16; ++i) {
    registers.gpr[i] = static_cast<std::uint64_t>(context[detail::kContextIndex[i]]);
  }
  registers.rip = static_cast<std::uint64_t>(context[REG_RIP]);
  registers.flags = static_cast<std::uint64_t>(context[REG_EFL]) & (kArithmeticFlags | kDirectionFlag);
  registers.fs_base = fs_base;
  return registers;
}

// Keeps the bits of RFLAGS in `context` other than the arithmetic flags.
inline void to_context(const Registers& registers, gregset_t& context) {
  for (int i = 0; i < 16; ++i) {
    context[detail::kContextIndex[i]] = static_cast<greg_t>(registers.gpr[i]);
  }
  context[REG_RIP] = static_cast<greg_t>(registers.rip);
  const auto other = static_cast<std::uint64_t>(context[REG_EFL]) & ~std::uint64_t{kArithmeticFlags};
  context[REG_EFL] = static_cast<greg_t>(other | (registers.flags & kArithmeticFlags));
}

}  // namespace verbatim::spin
