// Runs a few instructions on the real processor with given registers, and tells what they left.
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
  // Puts the code in place, followed by the way back.
  void place(std::span<const std::uint8_t> code);
  // The code must end by running into what follows it. Registers and, with AVX2, vectors are loaded and
  // stored.
  void run(Registers& registers, VectorRegisters& vectors);

 private:
  std::uint8_t* page_ = nullptr;
};

}  // namespace verbatim::spin
