#include "sim/hca/work_fetcher.h"

#include <utility>

#include "sim/hca/adapter.h"
#include "sim/hca/queue_pair.h"
#include "sim/hca/shared_receive_queue.h"

namespace verbatim::hca {

WorkFetcher::WorkFetcher(Adapter& adapter)
    : adapter_(adapter),
      decode_(adapter.clock, adapter.profile.wqe_decode),
      decoded_(DelayLine<Decoded>::of<&WorkFetcher::on_decoded>(adapter.engine, adapter.id,
                                                                EventClass::kStage, this)),
      received_(DelayLine<Received>::of<&WorkFetcher::on_received>(adapter.engine, adapter.id,
                                                                   EventClass::kStage, this)) {}

void WorkFetcher::fetch_send(QueuePair& qp, std::uint32_t first, std::uint32_t count) {
  start({qp.self, qp.ring_epoch, {}}, Kind::kSend, first, count, count * qp.send_queue.stride());
}

void WorkFetcher::fetch_recv(const ReceiveQueueOwner& owner, std::uint32_t first, std::uint32_t count,
                             std::uint32_t bytes) {
  start(owner, Kind::kRecv, first, count, bytes);
}

void WorkFetcher::fetch_recv_record(const ReceiveQueueOwner& owner) {
  start(owner, Kind::kRecvRecord, 0, 0, sizeof(std::uint32_t));
}

void WorkFetcher::start(const ReceiveQueueOwner& owner, Kind kind, std::uint32_t first, std::uint32_t count,
                        std::uint32_t bytes) {
  Trail trail;
  if (kind == Kind::kSend) trail = adapter_.tracer.trail(adapter_.engine.now());
  adapter_.dma.read(bytes, *this, 0, trail.shared());
  fetching_.push_back({owner, kind, first, count, std::move(trail)});
}

void WorkFetcher::extend(SendWork& work, const QueuePair& qp, const Trail& fetch) const {
  work.trail.add(fetch.begin(), {adapter_.id, "WQE fetch: earlier work requests"});
  work.trail.follow(fetch);
  work.trail.set_message(
      {adapter_.id, qp.number, work.number, name_of(qp.params.type), name_of(work.opcode), work.length});
}

ReceiveQueue* WorkFetcher::receives_of(const ReceiveQueueOwner& owner) {
  if (SharedReceiveQueue* srq = owner.srq.get(); srq != nullptr) return &srq->receives;
  QueuePair* qp = owner.qp.get();
  return qp != nullptr && qp->ring_epoch == owner.epoch ? &qp->own_receives : nullptr;
}

void WorkFetcher::on_dma_read(std::uint64_t, Instant at_adapter) {
  const Fetch fetch = fetching_.pop_front();
  if (fetch.kind == Kind::kSend) {
    QueuePair* qp = fetch.owner.qp.get();
    if (qp == nullptr || qp->ring_epoch != fetch.owner.epoch) return;
    for (std::uint32_t number = fetch.first; number != fetch.first + fetch.count; ++number) {
      SendWork work = parse_send(qp->send_queue.entry(number), number);
      work.trail = qp->requester.trail_of(number);
      if (work.trail) [[unlikely]]
        extend(work, *qp, fetch.trail);
      const Instant done = decode_.accept(at_adapter, work.trail, adapter_.id, "WQE decode");
      decoded_.push(done, {fetch.owner.qp, fetch.owner.epoch, std::move(work)});
    }
    return;
  }
  const ReceiveQueue* receives = receives_of(fetch.owner);
  if (receives == nullptr) return;
  if (fetch.kind == Kind::kRecvRecord) {
    received_.push(at_adapter, {fetch.owner, true, receives->read_producer(), adapter_.engine.now(), {}});
    return;
  }
  for (std::uint32_t number = fetch.first; number != fetch.first + fetch.count; ++number) {
    RecvWork work = parse_recv(receives->entry(number), number);
    received_.push(at_adapter, {fetch.owner, false, 0, {}, std::move(work)});
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
  ReceiveQueue* receives = receives_of(received.owner);
  if (receives == nullptr) return;
  if (received.is_record) {
    receives->on_record(received.producer, received.sampled_at);
  } else {
    receives->on_work(std::move(received.work));
  }
}

}  // namespace verbatim::hca
