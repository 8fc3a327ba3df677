// The two cyclic redundancy checks of a packet (IBA 7.8): both take bits least significant first, start with
// all ones and are complemented at the end; both are stored so that the least significant byte of the
// register goes first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace verbatim::ib {

// Invariant CRC (IBA 7.8.1): the CRC-32 of Ethernet, over what no switch or router changes.
class Icrc {
 public:
  void add(std::span<const std::byte> bytes);
  void add_ones(std::size_t count);  // bytes of ones, which stand for what may change
  std::uint32_t value() const { return ~state_; }

 private:
  std::uint32_t state_ = 0xffff'ffff;
};

// Variant CRC (IBA 7.8.2): x^16 + x^12 + x^3 + x + 1, over everything from the LRH to the ICRC.
std::uint16_t vcrc_of(std::span<const std::byte> bytes);

}  // namespace verbatim::ib
