// Executes a few instructions on the processor with given registers, and returns the results.
#pragma once

#include <cstdint>
#include <span>

#include "sim/supervisor/spin/registers.h"

namespace verbatim::spin {

class NativeCode {
 public:
  NativeCode();
  ~NativeCode();

  static bool has_avx2() { return __builtin_cpu_supports("avx2"); }

  // Address at which `run` executes the code; the interpreter uses the same address.
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(page_); }
  // Writes the code, followed by a return.
  void place(std::span<const std::uint8_t> code);
  // The code must end by continuing past its end. Registers and, with AVX2, vector registers are loaded and
  // stored.
  void run(Registers& registers, VectorRegisters& vectors);

 private:
  std::uint8_t* page_ = nullptr;
};

}  // namespace verbatim::spin
