// The two cyclic redundancy checks of a packet (IBA 7.8). Both process bits least significant first, start
// with all ones, are complemented at the end, and are sent least significant byte first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace verbatim::ib {

// Invariant CRC (IBA 7.8.1): the CRC-32 of Ethernet, over the fields that no switch or router changes.
class Icrc {
 public:
  void add(std::span<const std::byte> bytes);
  void add_ones(std::size_t count);  // bytes of ones, in place of variant fields
  std::uint32_t value() const { return ~state_; }

 private:
  std::uint32_t state_ = 0xffff'ffff;
};

// Variant CRC (IBA 7.8.2): x^16 + x^12 + x^3 + x + 1, over everything from the LRH to the ICRC.
std::uint16_t vcrc_of(std::span<const std::byte> bytes);

}  // namespace verbatim::ib
