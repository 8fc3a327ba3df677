// The bytes of the registered memory of a program that has ended. An adapter pins the pages of a region: they
// outlive the program while another process uses the region.
#pragma once

#include <array>
#include <map>
#include <memory>

#include "sim/host/program_memory.h"

namespace verbatim::hca {

class PinnedPages final : public host::ProgramMemory {
 public:
  // Copies the mapped bytes of a range.
  void keep(host::ProgramMemory& from, host::ProgramAddress start, std::uint64_t length);

  bool read(host::ProgramAddress from, std::span<std::byte> to) override;
  bool write(host::ProgramAddress to, std::span<const std::byte> from) override;
  // Only registrations call it, and the program has ended.
  bool is_mapped(host::ProgramAddress, std::uint64_t, bool) override { return false; }

 private:
  static constexpr std::uint64_t kBytes = 4096;
  using Page = std::array<std::byte, kBytes>;
  // Calls visit(its page or null, offset, bytes) for each part; false when one is not kept.
  template <class Visit>
  bool visit(host::ProgramAddress start, std::uint64_t length, Visit visit);

  std::map<std::uint64_t, std::unique_ptr<Page>> pages_;  // by address / kBytes; null: all bytes are 0
};

}  // namespace verbatim::hca
