// Caches and queues between the simulator and the memory of programs (machine/MEMORY_ACCESS.md).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/supervisor/machine/page_cache.h"
#include "sim/supervisor/machine/read_ahead.h"
#include "sim/supervisor/machine/write_behind.h"
#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

class RunMemory {
 public:
  explicit RunMemory(std::size_t hosts) : epochs_(hosts) {}

  void use_for(Process& process) {
    process.memory().use(page_cache_, read_ahead_, write_behind_, epochs_[process.host_index()]);
  }
  // A program of the process's host runs, and may change memory that programs of the host share.
  void begin_epoch(const Process& process) { ++epochs_[process.host_index()]; }
  WriteBehind& write_behind() { return write_behind_; }

 private:
  PageCache page_cache_;  // of the process whose memory is being read
  ReadAhead read_ahead_;
  WriteBehind write_behind_;
  std::vector<std::uint64_t> epochs_;  // by host, see ProcessMemory::use(); never resized
};

}  // namespace verbatim::supervisor
