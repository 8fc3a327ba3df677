// Program memory in plain buffers, for model tests and benchmarks. Ranges are mapped at chosen addresses;
// everything else is unmapped.
#pragma once

#include <map>
#include <vector>

#include "sim/host/program_memory.h"

namespace verbatim::host {

class BufferMemory final : public ProgramMemory {
 public:
  // Maps `size` zeroed bytes; ranges must not overlap. Returns the bytes, valid until unmapped.
  std::span<std::byte> map(ProgramAddress start, std::uint64_t size, bool writable = true);
  void unmap(ProgramAddress start);
  // The mapped bytes at an address, for direct access by tests; they must be in one range.
  std::span<std::byte> at(ProgramAddress start, std::uint64_t size);

  bool read(ProgramAddress from, std::span<std::byte> to) override;
  bool write(ProgramAddress to, std::span<const std::byte> from) override;
  bool is_mapped(ProgramAddress start, std::uint64_t length, bool writable) override;

 private:
  struct Range {
    std::vector<std::byte> bytes;
    bool writable = true;
  };
  // Calls visit(offset into [start, start + length), bytes of the range, writable) for each mapped part;
  // returns false if a part is not mapped.
  template <class Visit>
  bool visit(ProgramAddress start, std::uint64_t length, Visit visit);

  std::map<ProgramAddress, Range> ranges_;
};

}  // namespace verbatim::host
