// What adapters do to the memory of one process while a thread of it runs ahead of them (verbs_shim/protocol/touches.h): the
// thread does it when its clock comes there, and the adapter finds it done when the simulator's comes there.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "sim/core/time.h"
#include "sim/host/program_memory.h"
#include "sim/supervisor/machine/process_region.h"

namespace verbatim::supervisor {

// Bytes of a program that an adapter reads or writes at that time.
struct PlannedTouch {
  Instant when{};
  host::ProgramAddress address = 0;
  std::uint32_t length = 0;
  const std::byte* written = nullptr;  // null: they are read
};

class TouchesAhead {
 public:
  // How many of them, from the first on, fit into the list of a process.
  static std::size_t most(std::span<const PlannedTouch> touches);

  // The list of a thread that gets the token, in the order in which they are due. Returns when the first is.
  Instant list(ProcessRegion& region, std::span<const PlannedTouch> touches);
  // Keeps what has been done of them since. False: what the list says makes no sense.
  bool collect(ProcessRegion& region);
  // When the first one is due that has not been done; kNever: there is none.
  Instant next() const { return done_ < listed_.size() ? listed_[done_].when : kNever; }

  // Whether the read or write that is due now has been done; then `to` has what was read.
  bool take_read(Instant now, host::ProgramAddress from, std::span<std::byte> to);
  bool take_write(Instant now, host::ProgramAddress to, std::size_t length);

 private:
  struct Done {
    PlannedTouch touch;
    std::vector<std::byte> bytes;  // that were read
  };
  // Null: the next that has been done is another one.
  Done* find(Instant now, host::ProgramAddress address, std::size_t length, bool is_write);

  std::vector<PlannedTouch> listed_;
  std::vector<std::uint32_t> offsets_;  // of their bytes
  std::size_t done_ = 0;                // of the list
  std::deque<Done> done_ahead_;         // whose time the adapter has not reached
};

}  // namespace verbatim::supervisor
