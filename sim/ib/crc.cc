#include "sim/ib/crc.h"

#include <array>

namespace verbatim::ib {

namespace {

// Generator polynomials in reversed bit order, for right-shifting registers.
constexpr std::uint32_t kIcrcPolynomial = 0xedb8'8320;  // 0x04c1'1db7
constexpr std::uint16_t kVcrcPolynomial = 0xd008;       // 0x100b

template <class Register>
constexpr std::array<Register, 256> make_table(Register polynomial) {
  std::array<Register, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    Register state = static_cast<Register>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      state = static_cast<Register>(state >> 1 ^ ((state & 1) != 0 ? polynomial : Register{0}));
    }
    table[byte] = state;
  }
  return table;
}

constexpr auto kIcrcTable = make_table<std::uint32_t>(kIcrcPolynomial);
constexpr auto kVcrcTable = make_table<std::uint16_t>(kVcrcPolynomial);

}  // namespace

void Icrc::add(std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) {
    state_ = kIcrcTable[(state_ ^ static_cast<std::uint8_t>(byte)) & 0xff] ^ state_ >> 8;
  }
}

void Icrc::add_ones(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) state_ = kIcrcTable[(state_ ^ 0xff) & 0xff] ^ state_ >> 8;
}

std::uint16_t vcrc_of(std::span<const std::byte> bytes) {
  std::uint16_t state = 0xffff;
  for (const std::byte byte : bytes) {
    state =
        static_cast<std::uint16_t>(kVcrcTable[(state ^ static_cast<std::uint8_t>(byte)) & 0xff] ^ state >> 8);
  }
  return static_cast<std::uint16_t>(~state);
}

}  // namespace verbatim::ib
