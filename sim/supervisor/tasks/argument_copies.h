// Structures in the program's memory that the arguments of a system call refer to: vectors, headers, sets of descriptors,
// masks. Linux copies each once, when the call begins. A call that has to wait is tried again (kernel/kernel.h), and its further
// tries use the copies of the first one: other threads may have changed or unmapped the memory meanwhile. The bytes that a call
// moves are none of these.
//
// Bounds: a call has at most one vector (IOV_MAX parts), one set of descriptors (RLIMIT_NOFILE entries), or one command at a
// time; calls with many messages forget the copies of a message that is done.
#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "sim/supervisor/machine/process_memory.h"

namespace verbatim::supervisor {

class ArgumentCopies {
 public:
  // Fills `to` with what lay at `address` when the call first read there. False: it was not mapped, and nothing is kept.
  bool read(ProcessMemory& memory, host::ProgramAddress address, std::span<std::byte> to) {
    for (const auto& [at, bytes] : copies_) {
      if (at != address || bytes.size() != to.size()) continue;
      if (!to.empty()) std::memcpy(to.data(), bytes.data(), to.size());
      return true;
    }
    if (!memory.read(address, to)) return false;
    copies_.emplace_back(address, std::vector<std::byte>(to.begin(), to.end()));
    return true;
  }

  // A value that the call has made of its arguments, of a type that it knows: files that descriptors meant, for example.
  std::any made;

  // Bytes that have been moved of the message in turn, of a call with many.
  std::uint64_t moved = 0;

  // The call, or that part of it, has been answered.
  void forget() {
    copies_.clear();
    made.reset();
    moved = 0;
  }

 private:
  std::vector<std::pair<host::ProgramAddress, std::vector<std::byte>>> copies_;
};

}  // namespace verbatim::supervisor
