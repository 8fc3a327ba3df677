// Memory the adapter and one program share: rings and doorbell records. The adapter hands out places in it,
// first fit in the order of addresses, so that the same calls give the same places; the program may scribble
// anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

namespace verbatim::hca {

class Arena {
 public:
  explicit Arena(std::span<std::byte> memory);

  // Offset of `size` zeroed bytes, 64-byte aligned; none when there is no room.
  std::optional<std::uint64_t> allocate(std::uint64_t size);
  // Gives back what allocate() gave for this size.
  void release(std::uint64_t offset, std::uint64_t size);

  std::span<std::byte> at(std::uint64_t offset, std::uint64_t size) const {
    return memory_.subspan(offset, size);
  }
  std::span<std::byte> memory() const { return memory_; }
  std::uint64_t bytes_in_use() const { return in_use_; }

 private:
  static std::uint64_t round_up(std::uint64_t size) { return (size + 63) & ~std::uint64_t{63}; }

  std::span<std::byte> memory_;
  std::map<std::uint64_t, std::uint64_t> free_;  // offset to size; no two touch
  std::uint64_t in_use_ = 0;
  std::uint64_t high_water_ = 0;  // end of the highest place ever handed out
};

}  // namespace verbatim::hca
