// What a thread brings of its memory with a poll that may park it (protocol::PageLines): the lines that the last analyses of its
// loop have looked at. So the next one reads them where the thread has put them, and asks the machine's kernel for nothing.
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
  // The thread has handed a poll over. Memory is as it left it for as long as its epoch (ProcessMemory::epoch) is the same.
  void note(const protocol::ThreadSlot& slot, const ProcessMemory& memory);
  // Memory is about to be looked at: what the thread has brought need not be read.
  void use(std::span<const std::byte> mailbox, ProcessMemory& memory);
  // It has been looked at: this is what the thread is to bring the next time.
  void ask_for(const ProcessMemory& memory, protocol::ThreadSlot& slot);

 private:
  std::vector<protocol::PageLines> asked_, looked_at_;
  std::uint32_t list_ = 0;  // number of `asked_`
  std::uint64_t epoch_ = 0;
  bool is_there_ = false;
};

}  // namespace verbatim::supervisor
