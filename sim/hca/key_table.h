// Local and remote keys: 24 bits of index and a low byte that differs each time an index is used again, so
// that a stale key is detected (IBA 10.6.3), unless the adapter chooses to give the same key again
// (freedom.h). One key of a region serves as L_Key and R_Key; R_Key use needs a remote access right. A window
// has an R_Key, whose low byte is its program's choice whenever it is bound.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/hca/context.h"
#include "sim/hca/freedom.h"
#include "sim/ib/packet.h"
#include "sim/ib/types.h"

namespace verbatim::hca {

struct KeyCheck {
  MemoryRegion* region = nullptr;    // null: refused
  host::ProgramAddress address = 0;  // address of the first byte, in the program
};

class KeyTable {
 public:
  using Choice = freedom::KeyChoice;
  // Gives the region a key and returns it; 0 when the table is full.
  std::uint32_t add(MemoryRegion& region, Choice choice = Choice::kNextVariant) { return add({&region, nullptr, 0}, choice); }
  std::uint32_t add(MemoryWindow& window, Choice choice = Choice::kNextVariant) { return add({nullptr, &window, 0}, choice); }
  void remove(std::uint32_t key);
  // Gives the window's key another low byte.
  void rename(MemoryWindow& window, std::uint8_t variant);

  // Whether all of [va, va + length) may be used with `access` (local reading is always allowed) through a region's
  // key of this context's protection domain (IBA 10.6.3.1, 10.6.3.2).
  KeyCheck check(std::uint32_t key, const Context& context, std::uint32_t pd, std::uint64_t va,
                 std::uint64_t length, std::uint32_t access) const;
  // The same for the peer of queue pair `qp`, which may name a window, too (IBA 10.6.7.2). `context` and `pd` are those of the
  // memory that the peer may reach.
  KeyCheck check_remote(std::uint32_t key, const QueuePair* qp, const Context& context, std::uint32_t pd, std::uint64_t va,
                        std::uint64_t length, std::uint32_t access) const;
  // The index of a key, which stays the same when the key is used again.
  static constexpr std::uint32_t index_of(std::uint32_t key) { return key >> kVariantBits; }
  static constexpr std::uint8_t variant_of(std::uint32_t key) { return static_cast<std::uint8_t>(key); }
  // The region that a key names, directly or by a window that is bound to it; null: none.
  MemoryRegion* find(std::uint32_t key) const;
  // Whether the key has named a region or window before.
  bool was_given(std::uint32_t key) const;
  // The window that a key names; null: none.
  MemoryWindow* find_window(std::uint32_t key) const;

 private:
  struct Entry {
    MemoryRegion* region = nullptr;  // or
    MemoryWindow* window = nullptr;
    std::uint8_t variant = 0;
  };
  std::uint32_t add(const Entry& named, Choice choice);
  static KeyCheck check(MemoryRegion* region, const Context& context, std::uint32_t pd, std::uint64_t va,
                        std::uint64_t length, std::uint32_t access);
  const Entry* entry_of(std::uint32_t key) const;  // null: the key is not in use
  static constexpr int kVariantBits = 8;
  static constexpr std::uint32_t kFirstIndex = 8;  // small numbers are no keys
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;  // indices given back, the last first
};

}  // namespace verbatim::hca
