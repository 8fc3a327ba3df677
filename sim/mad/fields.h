// Fields of management datagrams by bit position; bit 0 of a byte is its most significant bit. A format is
// one function that lists every field with its position; a FieldWriter runs it to produce the bytes, a
// FieldReader to parse them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "sim/core/check.h"
#include "sim/ib/packet.h"

namespace verbatim::mad {

namespace detail {
template <class T>
constexpr std::uint64_t number_of(const T& value) {
  if constexpr (requires { value.value; }) {
    return value.value;
  } else {
    return static_cast<std::uint64_t>(value);
  }
}
}  // namespace detail

class FieldWriter {
 public:
  explicit FieldWriter(std::span<std::byte> bytes) : bytes_(bytes) {}

  // Writes the low `bits` bits of a number, from bit `bit` of byte `byte` on.
  template <class T>
  void number(std::size_t byte, unsigned bit, unsigned bits, const T& value) {
    const std::uint64_t all = detail::number_of(value);
    for (unsigned i = 0; i < bits; ++i) {
      const std::size_t at = byte * 8 + bit + i;
      const unsigned shift = 7 - at % 8;
      const auto one = static_cast<unsigned>(all >> (bits - 1 - i) & 1);
      bytes_[at / 8] = (bytes_[at / 8] & ~std::byte(1u << shift)) | std::byte(one << shift);
    }
  }
  void bytes(std::size_t byte, std::span<const std::byte> from) { std::memcpy(&bytes_[byte], from.data(), from.size()); }
  void gid(std::size_t byte, const ib::Gid& from) { std::memcpy(&bytes_[byte], from.raw, sizeof from.raw); }

 private:
  std::span<std::byte> bytes_;
};

class FieldReader {
 public:
  explicit FieldReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  void number(std::size_t byte, unsigned bit, unsigned bits, T& value) const {
    std::uint64_t all = 0;
    for (unsigned i = 0; i < bits; ++i) {
      const std::size_t at = byte * 8 + bit + i;
      all = all << 1 | (std::to_integer<unsigned>(bytes_[at / 8]) >> (7 - at % 8) & 1);
    }
    value = static_cast<T>(all);
  }
  void bytes(std::size_t byte, std::span<std::byte> to) const { std::memcpy(to.data(), &bytes_[byte], to.size()); }
  void gid(std::size_t byte, ib::Gid& to) const { std::memcpy(to.raw, &bytes_[byte], sizeof to.raw); }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace verbatim::mad
