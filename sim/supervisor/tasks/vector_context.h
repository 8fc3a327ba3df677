// Vector registers of a thread in a signal frame.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "sim/supervisor/machine/process_memory.h"
#include "sim/supervisor/spin/registers.h"

namespace verbatim::supervisor {

// Layout (Intel SDM 1, 13.4): the FXSAVE area, with software bytes that list the components for which the
// frame has room (Linux, asm/sigcontext.h); the XSAVE header, which lists the components that are present
// (the others are zero); the upper halves of the YMM registers.
class VectorContext {
 public:
  VectorContext(ProcessMemory& memory, std::uint64_t state) : memory_(memory), state_(state) {
    if (state == 0 || !read()) return;
    const bool has_high = (software_[1] & kAvx) != 0;
    if ((held_ & kSse) == 0) low_ = {};
    if (has_high && (held_ & kAvx) != 0 && !read_part(kHigh, high_)) return;
    registers_.known = has_high ? 0xffff'ffff : 0xffff;
    for (unsigned r = 0; r < 16; ++r) registers_.lane[r] = {low_[r][0], low_[r][1], high_[r][0], high_[r][1]};
  }

  const spin::VectorRegisters& registers() const { return registers_; }
  // True if the frame has room for all halves that are known in `wanted`.
  bool holds(const spin::VectorRegisters& wanted) const { return (wanted.known & ~registers_.known) == 0; }
  // Writes the values that differ from those in the frame.
  void set(const spin::VectorRegisters& wanted) {
    const auto low = low_, high = high_;
    const std::uint64_t held = held_;
    for (unsigned r = 0; r < 16; ++r) {
      if (wanted.known >> r & 1) std::copy_n(wanted.lane[r].begin(), 2, low_[r].begin());
      if (wanted.known >> (16 + r) & 1) std::copy_n(wanted.lane[r].begin() + 2, 2, high_[r].begin());
    }
    if (low_ != low) {
      held_ |= kSse;
      memory_.write(state_ + kLow, std::as_bytes(std::span(low_)));
    }
    if (high_ != high) {
      held_ |= kAvx;
      memory_.write(state_ + kHigh, std::as_bytes(std::span(high_)));
    }
    if (held_ != held) memory_.write(state_ + kHeader, std::as_bytes(std::span(&held_, 1)));
  }

 private:
  static constexpr std::uint64_t kLow = 160, kSoftware = 464, kHeader = 512, kHigh = 576;
  static constexpr std::uint64_t kSse = 2, kAvx = 4;

  template <class Part>
  bool read_part(std::uint64_t offset, Part& part) {
    const spin::MemoryRange range{state_ + offset, sizeof part};
    return memory_.read_ranges({&range, 1}, reinterpret_cast<std::uint8_t*>(&part));
  }
  bool read() {
    constexpr std::uint64_t kMagic = 0x46505853;
    return read_part(kSoftware, software_) && (software_[0] & 0xffff'ffff) == kMagic && (software_[1] & kSse) != 0 &&
           read_part(kHeader, held_) && read_part(kLow, low_);
  }

  ProcessMemory& memory_;
  std::uint64_t state_;
  std::array<std::uint64_t, 2> software_{};  // magic and size, then the components
  std::uint64_t held_ = 0;
  std::array<std::array<std::uint64_t, 2>, 16> low_{}, high_{};
  spin::VectorRegisters registers_;
};

}  // namespace verbatim::supervisor
