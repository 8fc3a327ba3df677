// Program memory of the payload of a queue pair's packets: which bytes a packet is gathered from or placed in, and the
// transfer itself.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/hca/datapath/payload_writer.h"
#include "sim/hca/datapath/queue_pair.h"
#include "sim/hca/transport/outgoing.h"

namespace verbatim::hca {

// Calls visit(GatherPiece) for each piece of the payload of a packet that QueuePair::next_packet() has just returned.
template <class Visit>
void visit_gather(const QueuePair& qp, const Outgoing& outgoing, Visit visit) {
  const std::uint32_t length = outgoing.packet->payload.length;
  if (outgoing.is_response) return visit(GatherPiece{outgoing.address, length, outgoing.work});
  qp.requester.work_of(outgoing)->sges.visit(
      outgoing.offset, length, [&](const protocol::Sge& sge, std::uint32_t skip, std::uint32_t part) {
        visit(GatherPiece{sge.va + skip, part, sge.lkey, sge.length - skip - part});
        return true;
      });
}
// False: an earlier transmission of the packet has been acknowledged; the program may reuse its memory.
inline bool needs_bytes(const QueuePair& qp, const Outgoing& outgoing) {
  return outgoing.is_response || qp.requester.work_of(outgoing) != nullptr;
}
// Appends the program memory that gather() will read to `bytes`; false: it is not known.
bool show_gather(const QueuePair& qp, const Outgoing& outgoing, std::span<const GatherPiece> pieces,
                 std::vector<host::TouchedBytes>& bytes);
// Reads the packet's payload from program memory now; zeros unless needs_bytes().
void gather(const QueuePair& qp, const Outgoing& outgoing, std::span<const GatherPiece> pieces, std::span<std::byte> to);

// The memory of a part of a scatter list; valid until the next call for any queue pair of the adapter.
// `is_allowed` is false if a key does not allow local writes; the last piece then has that key and no bytes.
struct FoundPieces {
  std::span<const MemoryPiece> pieces;
  bool is_allowed = false;
};
// `owner`, `pd`: the context and the protection domain of the list's keys.
FoundPieces find_pieces(Adapter& adapter, const ScatterList& list, std::uint64_t offset, std::uint32_t length,
                        const Context& owner, std::uint32_t pd);
// Writes payload at byte `offset` of a scatter list in `owner`'s memory. False: the list's keys do not allow
// local writes, and nothing is written.
bool scatter(QueuePair& qp, const ScatterList& list, std::uint64_t offset, const ib::Payload& payload, Incoming& incoming,
             Context& owner, std::uint32_t pd, MessageStream stream);

}  // namespace verbatim::hca
