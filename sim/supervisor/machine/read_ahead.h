// What an adapter reads of programs' memory, packet by packet, is read for many packets at once: a message of megabytes is
// gathered while its program waits, and each call of the kernel costs as much as the copy of some pages. Of what is shorter the
// whole page is read: small messages lie side by side, or are sent again and again from the same place.
//
// What was read is valid until a program of the host runs or memory of one is written. Where no other process maps the pages, a
// placement of an adapter ends that only for the bytes that it overwrites.
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
  // Shorter reads are no part of a long message.
  static constexpr std::size_t kLeast = 1024;

  // Copies what lies at `from`; `follow` as for host::ProgramMemory::gather(). False: it is not there, or long and not known to
  // be followed by more; then it has to be read.
  bool copy(const ProcessMemory& memory, std::uint64_t from, std::span<std::byte> to, std::uint64_t follow = 0);
  // An epoch has just begun because an adapter writes these bytes. (Where somebody else writes, a program is about to run.)
  void note_placement(const ProcessMemory& memory, std::uint64_t to, std::size_t length);
  // The memory is about to go.
  void forget(const ProcessMemory& memory);

 private:
  static constexpr std::size_t kMost = 64 << 10;  // bytes at once
  static constexpr std::size_t kStreams = 8;      // messages at a time

  // A message of which packets are read one after the other.
  struct Stream {
    const ProcessMemory* memory = nullptr;
    std::uint64_t next = 0;   // where the next packet begins
    std::uint64_t start = 0;  // of `bytes`
    std::size_t length = 0;   // of them that are there
    std::size_t window = 0;   // to be read at once
    std::uint64_t epoch = 0;  // in which they were read, see ProcessMemory::epoch()
    std::optional<bool> is_private;  // asked for once it matters
    std::uint64_t used = 0;
    std::vector<std::byte> bytes;
  };

  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kPages = 4;  // from which short reads come at a time

  struct Page {
    const ProcessMemory* memory = nullptr;
    std::uint64_t number = 0;  // address / kPage
    std::uint64_t epoch = 0;   // in which it was read
    std::optional<bool> is_private;  // asked for once it matters
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
