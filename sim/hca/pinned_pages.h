// What the registered memory of a program that has ended holds. An adapter pins the pages of a region, so they outlive the
// program as long as the region does, which somebody else may still use.
#pragma once

#include <array>
#include <map>
#include <memory>

#include "sim/host/program_memory.h"

namespace verbatim::hca {

class PinnedPages final : public host::ProgramMemory {
 public:
  // Takes over the bytes of a range, as far as they are mapped.
  void keep(host::ProgramMemory& from, host::ProgramAddress start, std::uint64_t length);

  bool read(host::ProgramAddress from, std::span<std::byte> to) override;
  bool write(host::ProgramAddress to, std::span<const std::byte> from) override;
  // For registration, which a program that has ended asks for no more.
  bool is_mapped(host::ProgramAddress, std::uint64_t, bool) override { return false; }

 private:
  static constexpr std::uint64_t kBytes = 4096;
  using Page = std::array<std::byte, kBytes>;
  // Calls visit(its page or null, offset, bytes) for each part; false when one is not kept.
  template <class Visit>
  bool visit(host::ProgramAddress start, std::uint64_t length, Visit visit);

  std::map<std::uint64_t, std::unique_ptr<Page>> pages_;  // by address / kBytes; null: of zeros
};

}  // namespace verbatim::hca
