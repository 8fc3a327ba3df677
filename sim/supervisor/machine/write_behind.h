// What adapters write into programs' memory, packet by packet, is written for many packets at once: a message of megabytes is
// placed while its program waits, and each call of the kernel costs as much as the copy of some pages. What is kept is written
// before a program runs or anybody looks at memory of its host.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/host/program_memory.h"

namespace verbatim::supervisor {

class ProcessMemory;

class WriteBehind {
 public:
  // Shorter writes are no part of a long message.
  static constexpr std::size_t kLeast = 1024;

  // Keeps what is to be written. False: it has to be written at once, and what was kept of memory of its host has been written.
  bool keep(ProcessMemory& memory, host::ProgramAddress to, std::span<const std::byte> from, host::PlacementFault fault);
  // Writes what is kept: all of it, or of memory of the host with that ProcessMemory::epoch().
  void flush();
  void flush(const std::uint64_t* host);
  bool keeps_any() const { return kept_ != 0; }
  // The memory is about to go.
  void forget(const ProcessMemory& memory);

 private:
  static constexpr std::size_t kMost = 64 << 10;  // bytes at once
  static constexpr std::size_t kStreams = 8;      // hosts at a time

  struct Part {
    std::uint32_t length = 0;
    host::PlacementFault fault;
  };
  // A message of which packets are written one behind the other; the only one of its host.
  struct Stream {
    ProcessMemory* memory = nullptr;  // null: nothing is kept
    const std::uint64_t* host = nullptr;
    host::ProgramAddress start = 0;
    std::vector<std::byte> bytes;
    std::vector<Part> parts;
  };

  void write(Stream& stream);

  std::array<Stream, kStreams> streams_;
  std::size_t kept_ = 0;  // streams of which something is kept
};

}  // namespace verbatim::supervisor
