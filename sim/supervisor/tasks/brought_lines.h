// Cache lines of program memory that a thread copies for the supervisor with a poll that may park it
// (protocol::PageLines): those that the last two analyses of its loop read. The next analysis then needs no
// system call to read the program's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "verbs_shim/protocol/region.h"

namespace verbatim::supervisor {

class ProcessMemory;

class BroughtLines {
 public:
  // The thread has made a poll request. Its copies are valid as long as the epoch (ProcessMemory::epoch) is
  // unchanged.
  void note(const protocol::ThreadSlot& slot, const ProcessMemory& memory);
  // Before an analysis: makes the thread's copies available through `memory`.
  void use(std::span<const std::byte> mailbox, ProcessMemory& memory);
  // After an analysis: requests the lines that it read, for the next poll.
  void ask_for(const ProcessMemory& memory, protocol::ThreadSlot& slot);

 private:
  std::vector<protocol::PageLines> asked_, looked_at_;
  std::uint32_t list_ = 0;  // identifies the list `asked_`
  std::uint64_t epoch_ = 0;
  bool is_there_ = false;
};

}  // namespace verbatim::supervisor
