#include "sim/hca/datapath/late_receive.h"

#include "sim/hca/datapath/adapter.h"
#include "sim/hca/datapath/queue_pair.h"

namespace verbatim::hca {

namespace {

bool is_late(const QueuePair& qp, const RecvWork& work, const ib::Packet& packet) {
  const Adapter& adapter = qp.adapter;
  if (adapter.late_receive_judge == nullptr) return false;
  // The ring entry has not enough bits for later times.
  if (static_cast<std::uint64_t>(to_ps(adapter.engine.now())) > protocol::RecvWqe::kPostedMask) return false;
  const Instant posted = instant_from_ps(static_cast<std::int64_t>(work.posted_ps));
  if (posted <= qp.responder_driver.started()) return false;
  const bool found_none_before = adapter.diagnoses.starved_since(qp) < posted;
  return adapter.late_receive_judge->is_mistake({adapter.id, packet, qp.attributes.dest_qp_num, posted, found_none_before});
}

}  // namespace

void note_late_receive(QueuePair& qp, const RecvWork& work, const ib::Packet& packet) {
  if (qp.type == ib::QpType::kRc && &qp.receives() == &qp.own_receives) qp.note_first_receive(is_late(qp, work, packet));
}

}  // namespace verbatim::hca
