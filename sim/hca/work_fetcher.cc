#include "sim/hca/work_fetcher.h"

#include <utility>

#include "sim/hca/adapter.h"
#include "sim/hca/queue_pair.h"

namespace verbatim::hca {

WorkFetcher::WorkFetcher(Adapter& adapter)
    : adapter_(adapter),
      decode_(adapter.clock, adapter.profile.wqe_decode),
      decoded_(DelayLine<Decoded>::of<&WorkFetcher::on_decoded>(adapter.engine, adapter.id,
                                                                EventClass::kStage, this)),
      received_(DelayLine<Received>::of<&WorkFetcher::on_received>(adapter.engine, adapter.id,
                                                                   EventClass::kStage, this)) {}

void WorkFetcher::fetch_send(QueuePair& qp, std::uint32_t first, std::uint32_t count) {
  start(qp, Kind::kSend, first, count, count * qp.send_queue.stride());
}

void WorkFetcher::fetch_recv(QueuePair& qp, std::uint32_t first, std::uint32_t count) {
  start(qp, Kind::kRecv, first, count, count * qp.recv_queue.stride());
}

void WorkFetcher::fetch_recv_record(QueuePair& qp) {
  start(qp, Kind::kRecvRecord, 0, 0, sizeof(std::uint32_t));
}

void WorkFetcher::start(QueuePair& qp, Kind kind, std::uint32_t first, std::uint32_t count,
                        std::uint32_t bytes) {
  fetching_.push_back({qp.self, qp.ring_epoch, kind, first, count});
  adapter_.dma.read(bytes, *this, 0);
}

void WorkFetcher::on_dma_read(std::uint64_t, Instant at_adapter) {
  const Fetch fetch = fetching_.pop_front();
  QueuePair* qp = fetch.qp.get();
  if (qp == nullptr || qp->ring_epoch != fetch.epoch) return;
  if (fetch.kind == Kind::kRecvRecord) {
    Received received{fetch.qp, fetch.epoch, true, qp->read_recv_producer(), adapter_.engine.now(), {}};
    received_.push(at_adapter, std::move(received));
    return;
  }
  for (std::uint32_t number = fetch.first; number != fetch.first + fetch.count; ++number) {
    if (fetch.kind == Kind::kSend) {
      SendWork work = parse_send(qp->send_queue.entry(number), number);
      decoded_.push(decode_.accept(at_adapter), {fetch.qp, fetch.epoch, std::move(work)});
    } else {
      RecvWork work = parse_recv(qp->recv_queue.entry(number), number);
      received_.push(at_adapter, {fetch.qp, fetch.epoch, false, 0, {}, std::move(work)});
    }
  }
}

void WorkFetcher::on_decoded(Decoded decoded) {
  QueuePair* qp = decoded.qp.get();
  if (qp == nullptr || qp->ring_epoch != decoded.epoch) return;
  adapter_.tracer.record(adapter_.id, TraceEvent::kWqeFetched, qp->number, decoded.work.number,
                         static_cast<std::uint64_t>(decoded.work.opcode), decoded.work.length);
  qp->requester.on_work(std::move(decoded.work));
}

void WorkFetcher::on_received(Received received) {
  QueuePair* qp = received.qp.get();
  if (qp == nullptr || qp->ring_epoch != received.epoch) return;
  if (received.is_record) {
    qp->responder.on_record(received.producer, received.sampled_at);
  } else {
    qp->responder.on_work(std::move(received.work));
  }
}

}  // namespace verbatim::hca
