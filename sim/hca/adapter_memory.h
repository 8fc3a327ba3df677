// Memory that an adapter accesses without PCI Express: device memory (ibv_alloc_dm(3)), and that of null
// regions, which always reads as zeros (ibv_alloc_null_mr(3)). Both have addresses that no program uses:
// is_on_adapter() decides by the address alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "sim/hca/context.h"

namespace verbatim::hca {

inline constexpr host::ProgramAddress kNullMemory = 1ull << 62, kDeviceMemory = 1ull << 63;
constexpr bool is_on_adapter(host::ProgramAddress address) { return address >= kNullMemory; }

class AdapterMemory {
 public:
  explicit AdapterMemory(std::uint64_t size) : size_(size) {}

  // Allocates `length` zeroed bytes of device memory and returns their offset; nullopt: no room. `alignment`
  // is a power of two.
  std::optional<std::uint64_t> allocate(std::uint64_t length, std::uint64_t alignment);
  void release(std::uint64_t offset) { used_.erase(offset); }

  // As in host::ProgramMemory, for an address on the adapter or in the context's program.
  bool read(const Context& context, host::ProgramAddress from, std::span<std::byte> to) const;
  bool write(const Context& context, host::ProgramAddress to, std::span<const std::byte> from);
  bool gather(const Context& context, host::ProgramAddress from, std::span<std::byte> to, std::uint64_t follow) const {
    return is_on_adapter(from) ? read(context, from, to) : context.program.memory->gather(from, to, follow);
  }
  void place(const Context& context, host::ProgramAddress to, std::span<const std::byte> from, host::PlacementFault fault) {
    is_on_adapter(to) ? void(write(context, to, from)) : context.program.memory->place(to, from, fault);
  }

 private:
  const std::uint64_t size_;
  std::vector<std::byte> bytes_;                // empty until something is allocated
  std::map<std::uint64_t, std::uint64_t> used_;  // length by offset
};

}  // namespace verbatim::hca
