// Local and remote keys: 24 bits of index and a low byte that differs each time an index is used again, so
// that a stale key is found out (IBA 10.6.3). One key serves as L_Key and R_Key; R_Key use needs a remote
// access right.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/hca/context.h"
#include "sim/ib/packet.h"
#include "sim/ib/types.h"

namespace verbatim::hca {

struct KeyCheck {
  MemoryRegion* region = nullptr;    // null: refused
  host::ProgramAddress address = 0;  // of the first byte, in the program
};

class KeyTable {
 public:
  // Gives the region a key and returns it; 0 when the table is full.
  std::uint32_t add(MemoryRegion& region);
  void remove(std::uint32_t key);

  // Whether all of [va, va + length) may be used with `access` (local reading is always allowed) through a
  // key of this context's protection domain (IBA 10.6.3.1, 10.6.3.2).
  KeyCheck check(std::uint32_t key, const Context& context, std::uint32_t pd, std::uint64_t va,
                 std::uint64_t length, std::uint32_t access) const;
  // Of the region, without what differs each time it is used again.
  static constexpr std::uint32_t index_of(std::uint32_t key) { return key >> kVariantBits; }
  // The region a key names now, null if none.
  MemoryRegion* find(std::uint32_t key) const;

 private:
  struct Entry {
    MemoryRegion* region = nullptr;
    std::uint8_t variant = 0;
  };
  static constexpr int kVariantBits = 8;
  static constexpr std::uint32_t kFirstIndex = 8;  // small numbers are no keys
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;  // indices given back, the last first
};

}  // namespace verbatim::hca
