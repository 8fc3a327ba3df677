// What the adapter needs before it places what a packet brings, or executes an atomic: the protection entries of the
// keys by which memory is reached, then the translations of the pages. A packet that lacks some waits at the driver of
// its queue pair's responder or requester, and what comes behind it there, too; others pass.
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
  // 0: everything is here. Otherwise a number that is never used again, and on_looked_up() of the driver of the queue
  // pair's requester, or responder, tells by it that everything has come; `trail`, the packet's, says then what it has
  // waited for. Pieces of no bytes need their protection entry only.
  std::uint64_t begin(const Ref<QueuePair>& qp, bool is_response, std::span<const MemoryPiece> pieces, Trail trail);

 private:
  struct Waiting {
    Ref<QueuePair> qp;
    bool is_response = false;
    bool lacks_protection = false;
    std::uint32_t missing = 0;  // protection entries or translations that are still to come
    std::vector<MemoryPiece> pieces;
    Trail trail;
  };

  void on_cached(std::uint64_t number) override;

  AdapterBase& adapter_;
  MemoryCaches& caches_;
  const bool is_limited_;
  std::map<std::uint64_t, Waiting> waiting_;  // by number
  std::uint64_t last_ = 0;                    // number given
};

}  // namespace verbatim::hca
