#include "sim/hca/adapter_memory.h"

#include <cstring>

#include "sim/core/check.h"

namespace verbatim::hca {

std::optional<std::uint64_t> AdapterMemory::allocate(std::uint64_t length, std::uint64_t alignment) {
  if (length == 0 || length > size_) return std::nullopt;
  // The first gap that is long enough.
  std::uint64_t offset = 0;
  for (const auto& [used, used_length] : used_) {
    if (offset + length <= used) break;
    offset = (used + used_length + alignment - 1) / alignment * alignment;
  }
  if (offset > size_ || length > size_ - offset) return std::nullopt;
  bytes_.resize(size_);
  used_[offset] = length;
  std::memset(bytes_.data() + offset, 0, length);
  return offset;
}

bool AdapterMemory::read(const Context& context, host::ProgramAddress from, std::span<std::byte> to) const {
  if (!is_on_adapter(from)) return context.program.memory->read(from, to);
  if (from < kDeviceMemory) {
    std::memset(to.data(), 0, to.size());
    return true;
  }
  const std::uint64_t offset = from - kDeviceMemory;
  CHECK(offset + to.size() <= bytes_.size());
  if (!to.empty()) std::memcpy(to.data(), bytes_.data() + offset, to.size());
  return true;
}

bool AdapterMemory::write(const Context& context, host::ProgramAddress to, std::span<const std::byte> from) {
  if (!is_on_adapter(to)) return context.program.memory->write(to, from);
  if (to < kDeviceMemory) return true;
  const std::uint64_t offset = to - kDeviceMemory;
  CHECK(offset + from.size() <= bytes_.size());
  if (!from.empty()) std::memcpy(bytes_.data() + offset, from.data(), from.size());
  return true;
}

}  // namespace verbatim::hca
