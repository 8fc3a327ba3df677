// Runs a few instructions on the real processor with given registers, and returns the results.
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

  // Where `run` will put the code: the interpreter is given the same address.
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(page_); }
  // Writes the code, followed by a return.
  void place(std::span<const std::uint8_t> code);
  // The code must end by continuing past its end. Registers and, with AVX2, vectors are loaded and
  // stored.
  void run(Registers& registers, VectorRegisters& vectors);

 private:
  std::uint8_t* page_ = nullptr;
};

}  // namespace verbatim::spin
