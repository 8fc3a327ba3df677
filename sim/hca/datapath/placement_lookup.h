// Lookups in the adapter's caches before payload is placed or an atomic is executed: the protection entries
// of the keys, then the translations of the pages. A packet that lacks some waits at the driver of its queue
// pair's responder or requester, and the packets behind it there; other packets pass.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sim/core/trail.h"
#include "sim/hca/context.h"
#include "sim/hca/datapath/payload_writer.h"
#include "sim/hca/stages/adapter_cache.h"

namespace verbatim::hca {

class MemoryCaches;
struct AdapterBase;

class PlacementLookup final : public CacheClient {
 public:
  PlacementLookup(AdapterBase& adapter, MemoryCaches& caches);

  // Misses are possible.
  bool is_limited() const { return is_limited_; }
  // 0: nothing is missing. Otherwise a number that is never used again: on_looked_up(number) of the driver of
  // the queue pair's requester (`is_response`) or responder is called when all entries have been read. The
  // waits are added to `trail`, the packet's. Pieces of no bytes need their protection entry only.
  std::uint64_t begin(const Ref<QueuePair>& qp, bool is_response, std::span<const MemoryPiece> pieces, Trail trail);

 private:
  struct Waiting {
    Ref<QueuePair> qp;
    bool is_response = false;
    bool lacks_protection = false;
    std::uint32_t missing = 0;  // protection entries or translations that are being read
    std::vector<MemoryPiece> pieces;
    Trail trail;
  };

  void on_cached(std::uint64_t number) override;

  AdapterBase& adapter_;
  MemoryCaches& caches_;
  const bool is_limited_;
  std::map<std::uint64_t, Waiting> waiting_;  // by number
  std::uint64_t last_ = 0;                    // the last number
};

}  // namespace verbatim::hca
