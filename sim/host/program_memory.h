// The address space of a simulated program as an adapter sees it. In a run the supervisor implements it with
// process_vm_readv and process_vm_writev; model tests and benchmarks use plain buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sim/host/placement_log.h"

namespace verbatim::host {

// A virtual address in a simulated process; never dereferenced directly.
using ProgramAddress = std::uint64_t;

// Client of place(), notified if placed bytes are not mapped.
class PlacementClient {
 public:
  virtual void on_placement_fault(std::uint64_t cookie, ProgramAddress address, std::uint32_t length) = 0;

 protected:
  ~PlacementClient() = default;
};
// An optional client of a placement, and its cookie.
struct PlacementFault {
  PlacementClient* client = nullptr;
  std::uint64_t cookie = 0;
  void report(ProgramAddress address, std::uint32_t length) const {
    if (client != nullptr) client->on_placement_fault(cookie, address, length);
  }
};

class ProgramMemory {
 public:
  virtual ~ProgramMemory() = default;

  // Copies bytes from the program; false: some of them are not mapped, and `to` has zeros in their place.
  virtual bool read(ProgramAddress from, std::span<std::byte> to) = 0;
  // Copies bytes to the program regardless of page protection; false: some of them are not mapped, and the
  // others are written.
  virtual bool write(ProgramAddress to, std::span<const std::byte> from) = 0;
  // read() and write() by an adapter at the time of a transfer's memory access (Touch). If the program's
  // thread runs ahead of that time, it has executed the access itself, and the result is its result. A fault
  // of place() may be reported later, but before it can be observed. `follow`: number of further bytes of the
  // same message after these; 0: none, or unknown.
  virtual bool gather(ProgramAddress from, std::span<std::byte> to, [[maybe_unused]] std::uint64_t follow) {
    return read(from, to);
  }
  virtual void place(ProgramAddress to, std::span<const std::byte> from, PlacementFault fault) {
    if (!write(to, from)) fault.report(to, static_cast<std::uint32_t>(from.size()));
  }
  // As write(), for pages that are probably not writable by the program.
  virtual bool write_code(ProgramAddress to, std::span<const std::byte> from) { return write(to, from); }
  // Whether the whole range is mapped, and writable if `writable`. For memory registration.
  virtual bool is_mapped(ProgramAddress start, std::uint64_t length, bool writable) = 0;

  // The latest writes through place(); the adapters add them.
  PlacementLog placed;
};

}  // namespace verbatim::host
