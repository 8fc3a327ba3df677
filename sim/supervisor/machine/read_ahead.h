// Read-ahead of program memory for adapters. A message of megabytes is gathered packet by packet while its
// program waits, and a system call costs as much as copying some pages: one call reads for many packets. For
// short reads the whole page is read: small messages are adjacent, or sent repeatedly from the same place.
// See MEMORY_ACCESS.md.
//
// Data stay valid until a program of the host runs or memory of one is written. If no other process maps the
// pages, a placement by an adapter invalidates only the bytes that it overwrites.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace verbatim::supervisor {

class ProcessMemory;

class ReadAhead {
 public:
  // Shorter reads are not part of a stream.
  static constexpr std::size_t kLeast = 1024;

  // Copies the bytes at `from`; `follow` as in host::ProgramMemory::gather(). False: not available, or long
  // and not known to be followed by more; the caller must read memory.
  bool copy(const ProcessMemory& memory, std::uint64_t from, std::span<std::byte> to, std::uint64_t follow = 0);
  // A new epoch has just begun because an adapter writes these bytes, or skipped turns of a parked thread have
  // written them. Other writes precede the run of a program, which invalidates everything.
  void note_placement(const ProcessMemory& memory, std::uint64_t to, std::size_t length);
  // The memory is about to be destroyed.
  void forget(const ProcessMemory& memory);

 private:
  static constexpr std::size_t kMost = 64 << 10;  // bytes read at once
  static constexpr std::size_t kStreams = 8;      // messages at a time

  // A message whose packets are read one after the other.
  struct Stream {
    const ProcessMemory* memory = nullptr;
    std::uint64_t next = 0;   // address of the next packet
    std::uint64_t start = 0;  // address of `bytes`
    std::size_t length = 0;   // valid bytes
    std::size_t window = 0;   // bytes to read at once
    std::uint64_t epoch = 0;  // in which they were read, see ProcessMemory::epoch()
    std::optional<bool> is_private;  // determined when it matters
    std::uint64_t used = 0;
    std::vector<std::byte> bytes;
  };

  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kPages = 4;  // pages for short reads

  struct Page {
    const ProcessMemory* memory = nullptr;
    std::uint64_t number = 0;  // address / kPage
    std::uint64_t epoch = 0;   // in which it was read
    std::optional<bool> is_private;  // determined when it matters
    std::uint64_t used = 0;
    std::array<std::byte, kPage> bytes;
  };

  Stream& stream_of(const ProcessMemory& memory, std::uint64_t from);
  bool copy_short(const ProcessMemory& memory, std::uint64_t from, std::span<std::byte> to);

  std::array<Stream, kStreams> streams_;
  std::array<Page, kPages> pages_;
  std::uint64_t uses_ = 0;
};

}  // namespace verbatim::supervisor
