// Local and remote keys: 24 bits of index and a low byte, the variant, which changes each time an index is
// reused: a stale key is detected (IBA 10.6.3), unless a choice reuses the same key (freedom.h). One key of a
// region is both L_Key and R_Key; its use as R_Key requires a remote access right. A window has an R_Key; its
// program chooses the low byte at each bind.
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
  // Assigns a key and returns it; 0: the table is full.
  std::uint32_t add(MemoryRegion& region, Choice choice = Choice::kNextVariant) { return add({&region, nullptr, 0}, choice); }
  std::uint32_t add(MemoryWindow& window, Choice choice = Choice::kNextVariant) { return add({nullptr, &window, 0}, choice); }
  void remove(std::uint32_t key);
  // Changes the low byte of the window's key.
  void rename(MemoryWindow& window, std::uint8_t variant);

  // Whether all of [va, va + length) may be used with `access` (local reading is always allowed) through a region's
  // key of this context's protection domain (IBA 10.6.3.1, 10.6.3.2).
  KeyCheck check(std::uint32_t key, const Context& context, std::uint32_t pd, std::uint64_t va,
                 std::uint64_t length, std::uint32_t access) const;
  // As check(), for the peer of queue pair `qp`; the key may also be a window's (IBA 10.6.7.2). `context` and
  // `pd` are those of the memory that the peer may access.
  KeyCheck check_remote(std::uint32_t key, const QueuePair* qp, const Context& context, std::uint32_t pd, std::uint64_t va,
                        std::uint64_t length, std::uint32_t access) const;
  // The index of a key, without its variant.
  static constexpr std::uint32_t index_of(std::uint32_t key) { return key >> kVariantBits; }
  static constexpr std::uint8_t variant_of(std::uint32_t key) { return static_cast<std::uint8_t>(key); }
  // The region of a key, or the region to which the key's window is bound; null: none.
  MemoryRegion* find(std::uint32_t key) const;
  // Whether the key is or was in use, according to the variants of its index.
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
  std::vector<std::uint32_t> free_;  // freed indices; the last one is reused first
};

}  // namespace verbatim::hca
