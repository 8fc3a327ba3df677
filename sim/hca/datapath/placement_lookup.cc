#include "sim/hca/datapath/placement_lookup.h"

#include <utility>

#include "sim/hca/adapter.h"
#include "sim/hca/queues/queue_pair.h"

namespace verbatim::hca {

PlacementLookup::PlacementLookup(Adapter& adapter)
    : adapter_(adapter), is_limited_(adapter.protections.is_limited() || adapter.translations.is_limited()) {}

std::uint64_t PlacementLookup::begin(const Ref<QueuePair>& qp, bool is_response, std::span<const MemoryPiece> pieces,
                                     Trail trail) {
  const std::uint64_t number = last_ + 1;
  std::uint32_t missing = missing_protections(pieces, number);
  const bool lacks_protection = missing > 0;
  if (!lacks_protection) missing = missing_translations(pieces, number);
  if (missing == 0) return 0;
  last_ = number;
  waiting_[number] = {
      qp, is_response, lacks_protection, missing, {pieces.begin(), pieces.end()}, std::move(trail)};
  return number;
}

std::uint32_t PlacementLookup::missing_protections(std::span<const MemoryPiece> pieces, std::uint64_t number) {
  std::uint32_t missing = 0;
  for (const MemoryPiece& piece : pieces) {
    if (!adapter_.protections.use(adapter_.protection_key(piece.key), *this, number)) ++missing;
  }
  return missing;
}

std::uint32_t PlacementLookup::missing_translations(std::span<const MemoryPiece> pieces, std::uint64_t number) {
  const std::uint64_t page_bytes = adapter_.profile.translation_page_bytes;
  std::uint32_t missing = 0;
  for (const MemoryPiece& piece : pieces) {
    if (piece.length == 0 || is_on_adapter(piece.address)) continue;
    const std::uint64_t last = (piece.address + piece.length - 1) / page_bytes;
    for (std::uint64_t page = piece.address / page_bytes; page <= last; ++page) {
      if (!adapter_.translations.use(adapter_.translation_key(piece.key, page * page_bytes), *this, number)) ++missing;
    }
  }
  return missing;
}

void PlacementLookup::on_cached(std::uint64_t number) {
  const auto found = waiting_.find(number);
  Waiting& waiting = found->second;
  if (--waiting.missing > 0) return;
  const bool was_protection = std::exchange(waiting.lacks_protection, false);
  waiting.trail.add(adapter_.engine.now(), {adapter_.id, was_protection ? kProtectionMiss : kTranslationMiss});
  if (was_protection) waiting.missing = missing_translations(waiting.pieces, number);
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
