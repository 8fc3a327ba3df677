// What adapters write into programs' memory, packet by packet, is written for many packets at once: a message of megabytes is
// placed while its program waits, and each call of the kernel costs as much as the copy of some pages. What is kept is written
// before a program of its host runs or anybody looks at memory of its host. A thread that gets the token can write what is little
// by itself (verbs_shim/protocol/placements.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/host/program_memory.h"
#include "verbs_shim/protocol/placements.h"

namespace verbatim::supervisor {

class ProcessMemory;

class WriteBehind {
 public:
  // Keeps what is to be written. False: it has to be written at once, and what was kept of memory of its host has been written.
  bool keep(ProcessMemory& memory, host::ProgramAddress to, std::span<const std::byte> from, host::PlacementFault fault);
  // Writes what is kept: all of it, or of memory of the host with that ProcessMemory::epoch().
  void flush();
  void flush(const std::uint64_t* host);
  // What is kept of this memory is written by the thread that gets the token now, if it is little. Returns how many placements
  // are listed for it. Its next request says whether it could not write them: then finish_handed(), else drop_handed().
  std::uint32_t hand_to(ProcessMemory& memory, protocol::PlacementList& list);
  void finish_handed(const ProcessMemory& memory);
  void drop_handed() { handed_.memory = nullptr; }
  bool keeps_any() const { return kept_ != 0; }
  // The memory is about to go.
  void forget(const ProcessMemory& memory);

 private:
  static constexpr std::size_t kMost = 64 << 10;  // bytes at once
  static constexpr std::size_t kMostParts = protocol::kMostPlacements;
  static constexpr std::size_t kHosts = 8;  // at a time

  struct Part {
    host::ProgramAddress to = 0;
    std::uint32_t length = 0;
    host::PlacementFault fault;
  };
  // Of memory of one host.
  struct Kept {
    ProcessMemory* memory = nullptr;  // null: nothing is kept
    const std::uint64_t* host = nullptr;
    std::vector<std::byte> bytes;  // of all parts, one after the other
    std::vector<Part> parts;       // in the order in which they came
  };

  Kept* kept_of(const std::uint64_t* host);
  Kept& start(ProcessMemory& memory);
  void write(Kept& kept);
  static void write_parts(ProcessMemory& memory, std::span<const Part> parts, std::span<const std::byte> bytes);

  std::array<Kept, kHosts> hosts_;
  std::size_t next_ = 0;  // of hosts_, where room is made
  std::size_t kept_ = 0;  // hosts of which something is kept
  Kept handed_;           // to the thread that has the token
};

}  // namespace verbatim::supervisor
