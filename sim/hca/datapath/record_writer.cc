#include "sim/hca/datapath/record_writer.h"

#include "sim/hca/adapter_base.h"
#include "sim/hca/datapath/queue_pair.h"
#include "sim/hca/datapath/shared_receive_queue.h"
#include "sim/hca/datapath/tag_matching.h"

namespace verbatim::hca {

RecordWriter::RecordWriter(AdapterBase& adapter)
    : adapter_(adapter),
      writes_(DelayLine<Write>::of<&RecordWriter::on_visible>(adapter.engine, adapter.id, EventClass::kDma, this)) {}

Instant RecordWriter::visible() const {
  const host::PcieProfile& pcie = adapter_.profile.pcie;
  return adapter_.engine.now() + pcie.one_way_latency + pcie.memory_write_latency;
}

Instant RecordWriter::write_wish(QueuePair& qp, bool wants_recv_doorbell) {
  writes_.push(visible(), {qp.self, qp.ring_epoch, wants_recv_doorbell, {}, 0, 0});
  return visible();
}

void RecordWriter::write_tags(SharedReceiveQueue& srq, std::uint32_t operations_done, std::uint32_t tags_left) {
  writes_.push(visible(), {{}, 0, false, srq.self, operations_done, tags_left});
}

void RecordWriter::on_visible(Write&& write) {
  if (const SharedReceiveQueue* srq = write.srq.get(); srq != nullptr && srq->tags != nullptr) {
    srq->tags->show(write.operations_done, write.tags_left);
  }
  QueuePair* qp = write.qp.get();
  if (qp != nullptr && qp->ring_epoch == write.epoch) qp->write_rq_doorbell_request(write.wants_recv_doorbell);
}

}  // namespace verbatim::hca
