// The test's own address space as the memory of the analysed program.
#pragma once

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <span>

#include "sim/supervisor/spin/code_memory.h"
#include "sim/supervisor/spin/interpreter.h"
#include "sim/supervisor/spin/memory_view.h"

namespace verbatim::spin {

class SelfMemory : public CodeMemory {
 public:
  bool read(std::uint64_t address, void* to, std::size_t n) override {
    ++reads;
    const auto begin = reinterpret_cast<std::uint64_t>(mapped.data());
    if (address >= begin && address < begin + mapped.size() && n <= begin + mapped.size() - address) {
      std::memcpy(to, reinterpret_cast<const void*>(address), n);
      return true;
    }
    const iovec local{to, n};
    const iovec remote{reinterpret_cast<void*>(address), n};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(n);
  }
  bool read_all(std::span<const MemoryRange> ranges, std::uint8_t* to) override {
    ++batches;
    return CodeMemory::read_all(ranges, to);
  }
  bool is_fixed_code(std::uint64_t) override { return fixed_code; }

  std::span<const std::uint8_t> mapped;  // known to be mapped: read without a system call
  bool fixed_code = false;
  int reads = 0;
  int batches = 0;
};

// A stack for the analysed code whose return address is unmapped, and registers that call `function` on it.
class TestStack {
 public:
  static constexpr std::uint64_t kNowhere = 0x10;  // never mapped

  template <class Function>
  Registers call(Function* function, std::uint64_t rdi = 0, std::uint64_t rsi = 0, std::uint64_t rdx = 0) {
    Registers registers;
    top()[0] = kNowhere;
    registers.rip = reinterpret_cast<std::uint64_t>(function);
    registers.gpr[kRsp] = reinterpret_cast<std::uint64_t>(top());
    registers.gpr[kRdi] = rdi;
    registers.gpr[kRsi] = rsi;
    registers.gpr[kRdx] = rdx;
    return registers;
  }
  // 8 modulo 16, as the ABI demands at a function's entry.
  std::uint64_t* top() { return &words_[kWords - 63]; }

 private:
  static constexpr int kWords = 4096;
  alignas(64) std::uint64_t words_[kWords] = {};
};

inline std::uint64_t address(const volatile void* object) { return reinterpret_cast<std::uint64_t>(object); }

// A thread of the test whose instructions are interpreted; its stores do not reach memory.
struct InterpretedThread {
  InterpretedThread(CodeMemory& memory, const Registers& start) {
    view.begin(memory, 64);
    code.begin();
    view.set_anchor();
    interpreter.state.registers = start;
  }
  // Makes its stores.
  void write_changes() const {
    for (const ByteRun& run : view.changes())
      std::copy(run.bytes.begin(), run.bytes.end(), reinterpret_cast<std::uint8_t*>(run.address));
  }

  CodeCache code;
  MemoryView view;
  Interpreter interpreter{code, view};
};

}  // namespace verbatim::spin
