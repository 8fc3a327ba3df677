// Copies of the structures in program memory to which the arguments of a system call point: vectors, headers,
// descriptor sets, masks. Linux copies each of them once, when the call begins. A blocked call is retried
// (kernel/kernel.h). Its retries use the copies of the first try, because other threads may have changed or
// unmapped the memory. Data that the call transfers is not copied here.
//
// Bounds: one vector (IOV_MAX parts), one descriptor set (RLIMIT_NOFILE entries) or one command per call. A
// call with several messages drops the copies of each message that is complete.
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
  // Fills `to` with the bytes at `address` as first read by this call. False: not mapped; nothing is kept.
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

  // A value derived from the arguments, of a type known to the call, for example the files to which
  // descriptors referred.
  std::any made;

  // Bytes of the current message that were transferred, in a call with several messages.
  std::uint64_t moved = 0;

  // The call, or its current part, is complete.
  void forget() {
    copies_.clear();
    made.reset();
    moved = 0;
  }

 private:
  std::vector<std::pair<host::ProgramAddress, std::vector<std::byte>>> copies_;
};

}  // namespace verbatim::supervisor
