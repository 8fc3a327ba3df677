// Write-behind of program memory for adapters. A message of megabytes is placed packet by packet while its
// program waits, and a system call costs as much as copying some pages: one call writes many packets. Kept
// writes are performed before a program of the host runs or memory of the host is read. A thread that
// gets the token can perform a small number itself (verbs_shim/protocol/placements.h). See MEMORY_ACCESS.md.
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
  // Keeps a write. False: too long; the caller must write at once, and earlier writes kept for its host
  // have been performed.
  bool keep(ProcessMemory& memory, host::ProgramAddress to, std::span<const std::byte> from, host::PlacementFault fault);
  // Performs the kept writes: all, or those of one host. `host`: its ProcessMemory::epoch_of_host().
  void flush();
  void flush(const std::uint64_t* host);
  // Hands the writes kept for this memory to the thread that gets the token, if they are few bytes. Returns
  // the number of listed placements. The thread's next request says whether it could perform them:
  // drop_handed() if so, finish_handed() otherwise.
  std::uint32_t hand_to(ProcessMemory& memory, protocol::PlacementList& list);
  void finish_handed(const ProcessMemory& memory);
  void drop_handed() { handed_.memory = nullptr; }
  bool keeps_any() const { return kept_ != 0; }
  // The memory is about to be destroyed.
  void forget(const ProcessMemory& memory);

 private:
  static constexpr std::size_t kMost = 64 << 10;  // bytes kept per host
  static constexpr std::size_t kMostParts = protocol::kMostPlacements;
  static constexpr std::size_t kHosts = 8;  // hosts at a time

  struct Part {
    host::ProgramAddress to = 0;
    std::uint32_t length = 0;
    host::PlacementFault fault;
  };
  // Writes kept for memory of one host.
  struct Kept {
    ProcessMemory* memory = nullptr;  // nullptr: none
    const std::uint64_t* host = nullptr;
    std::vector<std::byte> bytes;  // of all parts, concatenated
    std::vector<Part> parts;       // in the order of their arrival
  };

  Kept* kept_of(const std::uint64_t* host);
  Kept& start(ProcessMemory& memory);
  void write(Kept& kept);
  static void write_parts(ProcessMemory& memory, std::span<const Part> parts, std::span<const std::byte> bytes);

  std::array<Kept, kHosts> hosts_;
  std::size_t next_ = 0;  // index in hosts_ of the next one to evict
  std::size_t kept_ = 0;  // number of hosts with kept writes
  Kept handed_;           // to the thread that has the token
};

}  // namespace verbatim::supervisor
