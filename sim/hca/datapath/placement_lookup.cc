#include "sim/hca/datapath/placement_lookup.h"

#include <utility>

#include "sim/hca/adapter_base.h"
#include "sim/hca/datapath/queue_pair.h"
#include "sim/hca/stages/memory_caches.h"

namespace verbatim::hca {

PlacementLookup::PlacementLookup(AdapterBase& adapter, MemoryCaches& caches)
    : adapter_(adapter), caches_(caches), is_limited_(caches.is_limited()) {}

std::uint64_t PlacementLookup::begin(const Ref<QueuePair>& qp, bool is_response, std::span<const MemoryPiece> pieces,
                                     Trail trail) {
  const std::uint64_t number = last_ + 1;
  std::uint32_t missing = caches_.missing_protections(pieces, *this, number);
  const bool lacks_protection = missing > 0;
  if (!lacks_protection) missing = caches_.missing_translations(pieces, *this, number);
  if (missing == 0) return 0;
  last_ = number;
  waiting_[number] = {
      qp, is_response, lacks_protection, missing, {pieces.begin(), pieces.end()}, std::move(trail)};
  return number;
}

void PlacementLookup::on_cached(std::uint64_t number) {
  const auto found = waiting_.find(number);
  Waiting& waiting = found->second;
  if (--waiting.missing > 0) return;
  const bool was_protection = std::exchange(waiting.lacks_protection, false);
  waiting.trail.add(adapter_.engine.now(), {adapter_.id, was_protection ? kProtectionMiss : kTranslationMiss});
  if (was_protection) waiting.missing = caches_.missing_translations(waiting.pieces, *this, number);
  if (waiting.missing > 0) return;
  const Waiting done = std::move(waiting);
  waiting_.erase(found);
  QueuePair* qp = done.qp.get();
  if (qp == nullptr) return;
  if (done.is_response) {
    qp->requester_driver.on_looked_up(number);
  } else {
    qp->responder_driver.on_looked_up(number);
  }
}

}  // namespace verbatim::hca
