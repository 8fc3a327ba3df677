// DMA accesses that a thread performs in an adapter's place while it runs ahead of it
// (verbs_shim/protocol/touches.h): the thread performs an access when its own clock reaches the access's
// time, and the adapter takes the result when the engine reaches it. See MEMORY_ACCESS.md.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "sim/core/time.h"
#include "sim/host/program_memory.h"
#include "sim/supervisor/machine/process_region.h"

namespace verbatim::supervisor {

// Access of an adapter to program memory at a time.
struct PlannedTouch {
  Instant when{};
  host::ProgramAddress address = 0;
  std::uint32_t length = 0;
  const std::byte* written = nullptr;  // bytes to write; nullptr: a read
};

class TouchesAhead {
 public:
  // Number of touches, from the first, that fit into the list of a process.
  static std::size_t most(std::span<const PlannedTouch> touches);

  // Lists the touches, sorted by time, for a thread that gets the token. Returns the time of the first.
  Instant list(ProcessRegion& region, std::span<const PlannedTouch> touches);
  // Takes over the touches that the thread has performed since. False: the list is corrupt.
  bool collect(ProcessRegion& region);
  // Time of the first touch that is not performed yet; kNever: none.
  Instant next() const { return done_ < listed_.size() ? listed_[done_].when : kNever; }

  // True if the read or write that is due now has been performed; `to` then holds the bytes read.
  bool take_read(Instant now, host::ProgramAddress from, std::span<std::byte> to);
  bool take_write(Instant now, host::ProgramAddress to, std::size_t length);

 private:
  struct Done {
    PlannedTouch touch;
    std::vector<std::byte> bytes;  // bytes that were read
  };
  // nullptr: the next performed touch is another one.
  Done* find(Instant now, host::ProgramAddress address, std::size_t length, bool is_write);

  std::vector<PlannedTouch> listed_;
  std::vector<std::uint32_t> offsets_;  // of their bytes in the list
  std::size_t done_ = 0;                // number of performed touches in the list
  std::deque<Done> done_ahead_;         // performed, and the engine has not reached their time
};

}  // namespace verbatim::supervisor
