#include "sim/hca/datapath/payload_memory.h"

#include <cstring>

#include "sim/hca/datapath/adapter.h"

namespace verbatim::hca {

namespace {

// The context whose program has the payload of a READ response; null: the key is unknown.
Context* answers_from(const QueuePair& qp, const Outgoing& response) {
  if (!qp.is_xrc_receiver() && !qp.context.objects.is_shared()) return &qp.context;
  // An XRC receiver, or a program that shares its opening, answers from the memory of the context that owns
  // the key.
  const MemoryRegion* region = qp.adapter.keys.find(response.work);
  return region != nullptr ? region->context : nullptr;
}

}  // namespace

bool show_gather(const QueuePair& qp, const Outgoing& outgoing, std::span<const GatherPiece> pieces,
                 std::vector<host::TouchedBytes>& bytes) {
  Context* const answerer = outgoing.is_response ? answers_from(qp, outgoing) : nullptr;
  if (outgoing.is_response && answerer == nullptr) return false;
  if (!needs_bytes(qp, outgoing)) return true;
  for (const GatherPiece& piece : pieces) {
    const Context& owner = answerer != nullptr ? *answerer : qp.owner_of(piece.key);
    if (!is_on_adapter(piece.address)) bytes.push_back({owner.program.memory, piece.address, piece.length});
  }
  return true;
}

void gather(const QueuePair& qp, const Outgoing& outgoing, std::span<const GatherPiece> pieces, std::span<std::byte> to) {
  Context* const answerer = outgoing.is_response ? answers_from(qp, outgoing) : nullptr;
  if ((outgoing.is_response && answerer == nullptr) || !needs_bytes(qp, outgoing)) {
    std::memset(to.data(), 0, to.size());
    return;
  }
  for (const GatherPiece& piece : pieces) {
    Context& owner = answerer != nullptr ? *answerer : qp.owner_of(piece.key);
    if (!qp.adapter.memory.gather(owner, piece.address, to.first(piece.length), piece.behind)) {
      qp.adapter.notifier.dma_fault(owner, piece.key, piece.address, piece.length);
    }
    to = to.subspan(piece.length);
  }
}

FoundPieces find_pieces(Adapter& adapter, const ScatterList& list, std::uint64_t offset, std::uint32_t length,
                        const Context& owner, std::uint32_t pd) {
  std::vector<MemoryPiece>& pieces = adapter.scratch_pieces;
  pieces.clear();
  const bool is_allowed = list.visit(offset, length, [&](const protocol::Sge& sge, std::uint32_t skip, std::uint32_t part) {
    const KeyCheck key = adapter.keys.check(sge.lkey, owner, pd, sge.va + skip, part, ib::kLocalWrite);
    if (key.region == nullptr) {
      pieces.push_back({0, 0, sge.lkey, nullptr});
      return false;
    }
    pieces.push_back({key.address, part, sge.lkey, key.region->context});
    return true;
  });
  return {pieces, is_allowed};
}

bool scatter(QueuePair& qp, const ScatterList& list, std::uint64_t offset, const ib::Payload& payload, Incoming& incoming,
             Context& owner, std::uint32_t pd, MessageStream stream) {
  if (payload.length == 0) return true;
  const FoundPieces found = find_pieces(qp.adapter, list, offset, payload.length, owner, pd);
  if (!found.is_allowed) {
    qp.adapter.diagnoses.on_unplaceable(qp, list, offset, payload.length, owner, pd);
    return false;
  }
  const auto times = qp.adapter.payloads.write(owner, payload, found.pieces, stream);
  incoming.release(times.left_adapter);
  return true;
}

}  // namespace verbatim::hca
