// The address space of a simulated program as an adapter sees it. In a run the supervisor implements it with
// process_vm_readv and process_vm_writev; model tests and benchmarks use plain buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sim/host/placement_log.h"

namespace verbatim::host {

// A virtual address in a simulated process; never dereferenced here.
using ProgramAddress = std::uint64_t;

// Whoever is to be told that bytes which were placed are not mapped, if anybody, and what it knows the placement by.
class PlacementClient {
 public:
  virtual void on_placement_fault(std::uint64_t cookie, ProgramAddress address, std::uint32_t length) = 0;

 protected:
  ~PlacementClient() = default;
};
struct PlacementFault {
  PlacementClient* client = nullptr;
  std::uint64_t cookie = 0;
  void tell(ProgramAddress address, std::uint32_t length) const {
    if (client != nullptr) client->on_placement_fault(cookie, address, length);
  }
};

class ProgramMemory {
 public:
  virtual ~ProgramMemory() = default;

  // Copies bytes from the program; false when any of them is not mapped (then `to` holds zeros for those).
  virtual bool read(ProgramAddress from, std::span<std::byte> to) = 0;
  // Copies bytes to the program whatever the protection of its pages; false when any of them is not mapped
  // (the mapped ones are written).
  virtual bool write(ProgramAddress to, std::span<const std::byte> from) = 0;
  // As read() and write(), by an adapter at the time at which a transfer touches memory (Touch): a program that runs ahead of
  // the adapter's time may have done it by itself. That bytes are not mapped to which something is placed may be found later,
  // but before anybody can know. `follow`: how many bytes of the same message lie behind these; 0: none, or it is not known.
  virtual bool gather(ProgramAddress from, std::span<std::byte> to, [[maybe_unused]] std::uint64_t follow) {
    return read(from, to);
  }
  virtual void place(ProgramAddress to, std::span<const std::byte> from, PlacementFault fault) {
    if (!write(to, from)) fault.tell(to, static_cast<std::uint32_t>(from.size()));
  }
  // As write(), of pages that are most likely not writable for the program.
  virtual bool write_code(ProgramAddress to, std::span<const std::byte> from) { return write(to, from); }
  // Whether the whole range is mapped, and writable when `writable`. For memory registration.
  virtual bool is_mapped(ProgramAddress start, std::uint64_t length, bool writable) = 0;

  // What adapters have written here by place(), kept by them.
  PlacementLog placed;
};

}  // namespace verbatim::host
