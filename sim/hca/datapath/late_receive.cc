#include "sim/hca/datapath/late_receive.h"

#include <cstddef>
#include <span>

#include "sim/hca/adapter.h"
#include "sim/hca/queues/queue_pair.h"
#include "verbs_shim/protocol/post_notes.h"

namespace verbatim::hca {

void note_late_receive(QueuePair& qp, const RecvWork& work, const ib::Packet& packet) {
  const std::uint64_t note = qp.own_receives.note_of(work.number);
  host::ProgramMemory* const memory = qp.context.program.memory;
  if (note == 0 || memory == nullptr || qp.type != ib::QpType::kRc || &qp.receives() != &qp.own_receives) return;
  // Beyond that the time of a post is not known whole.
  if (static_cast<std::uint64_t>(to_ps(qp.adapter.engine.now())) > protocol::RecvWqe::kPostedMask) return;
  const Instant posted = instant_from_ps(static_cast<std::int64_t>(work.posted_ps));
  if (posted <= qp.responder_driver.started()) return;
  const bool came_before = qp.adapter.diagnoses.starved_since(qp) < posted;
  if (!qp.adapter.tracer.is_mistake({qp.adapter.id, packet, qp.attributes.dest_qp_num, posted, came_before})) return;
  std::uint32_t bits = 0;
  const std::uint64_t at = note + offsetof(protocol::PostNote, receive);
  if (!memory->read(at, std::as_writable_bytes(std::span(&bits, 1)))) return;
  bits |= protocol::kReceiveLate;
  memory->write(at, std::as_bytes(std::span(&bits, 1)));
}

}  // namespace verbatim::hca
