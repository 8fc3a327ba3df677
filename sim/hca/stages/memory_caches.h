// The adapter's caches of memory protection entries and of address translations (adapter_cache.h). Memory is reached after the
// protection entries of its keys, and then the translations of its pages, have been read.
#pragma once

#include <cstdint>
#include <ranges>

#include "sim/hca/adapter_base.h"
#include "sim/hca/adapter_memory.h"
#include "sim/hca/stages/adapter_cache.h"

namespace verbatim::hca {

class MemoryCaches {
 public:
  MemoryCaches(AdapterBase& adapter, host::DmaEngine& dma)
      : adapter_(adapter),
        protections_(adapter, dma, adapter.profile.protection_cache),
        translations_(adapter, dma, adapter.profile.translation_cache) {}

  // Misses are possible.
  bool is_limited() const { return has_protection_misses() || translations_.is_limited(); }
  bool has_protection_misses() const { return protections_.is_limited(); }

  // As AdapterCache::use() of the protection entry of a region's key.
  bool use_protection(std::uint32_t key, CacheClient& client, std::uint64_t cookie) {
    return protections_.use(AdapterBase::protection_key(key), client, cookie);
  }
  // How many entries are missing for these pieces, which have `key`, `address` and `length`. client.on_cached(cookie) is called
  // for each. Pieces without bytes, and memory of the adapter itself, need no translation.
  template <std::ranges::range Pieces>
  std::uint32_t missing_protections(const Pieces& pieces, CacheClient& client, std::uint64_t cookie) {
    std::uint32_t missing = 0;
    for (const auto& piece : pieces) {
      if (!use_protection(piece.key, client, cookie)) ++missing;
    }
    return missing;
  }
  template <std::ranges::range Pieces>
  std::uint32_t missing_translations(const Pieces& pieces, CacheClient& client, std::uint64_t cookie) {
    const std::uint64_t page_bytes = adapter_.profile.translation_page_bytes;
    std::uint32_t missing = 0;
    for (const auto& piece : pieces) {
      if (piece.length == 0 || is_on_adapter(piece.address)) continue;
      const std::uint64_t last = (piece.address + piece.length - 1) / page_bytes;
      for (std::uint64_t page = piece.address / page_bytes; page <= last; ++page) {
        if (!translations_.use(adapter_.translation_key(piece.key, page * page_bytes), client, cookie)) ++missing;
      }
    }
    return missing;
  }

 private:
  AdapterBase& adapter_;
  AdapterCache protections_;   // by protection_key()
  AdapterCache translations_;  // by translation_key()
};

}  // namespace verbatim::hca
