// Numbers from an input's bytes, each from as few bytes as its range needs; zeros after the input's end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

namespace verbatim::fuzz {

class Bytes {
 public:
  explicit Bytes(std::span<const std::uint8_t> rest) : rest_(rest) {}

  bool at_end() const { return rest_.empty(); }
  std::uint64_t next() { return take(8); }
  std::uint64_t below(std::uint64_t bound) {
    return take(bound <= 1 << 8 ? 1 : bound <= 1 << 16 ? 2 : 8) % bound;
  }
  bool chance(std::uint64_t n, std::uint64_t m) { return below(m) < n; }

 private:
  std::uint64_t take(std::size_t bytes) {
    std::uint64_t value = 0;
    const std::size_t n = std::min(bytes, rest_.size());
    if (n > 0) std::memcpy(&value, rest_.data(), n);
    rest_ = rest_.subspan(n);
    return value;
  }
  std::span<const std::uint8_t> rest_;
};

}  // namespace verbatim::fuzz
