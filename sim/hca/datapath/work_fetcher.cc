#include "sim/hca/datapath/work_fetcher.h"

#include <algorithm>
#include <utility>

#include "sim/hca/adapter_base.h"
#include "sim/hca/datapath/queue_pair.h"
#include "sim/hca/datapath/shared_receive_queue.h"

namespace verbatim::hca {

WorkFetcher::WorkFetcher(AdapterBase& adapter, host::DmaEngine& dma, AdapterCache& contexts)
    : adapter_(adapter),
      dma_(dma),
      contexts_(contexts),
      decode_(adapter.clock, adapter.profile.wqe_decode),
      decoded_(DelayLine<FetchedWork>::of<&WorkFetcher::on_decoded>(adapter.engine, adapter.id,
                                                                    EventClass::kStage, this)),
      units_(adapter, *this),
      received_(DelayLine<Received>::of<&WorkFetcher::on_received>(adapter.engine, adapter.id,
                                                                   EventClass::kStage, this)) {}

void WorkFetcher::fetch_send(QueuePair& qp, std::uint32_t first, std::uint32_t count) {
  start_send(qp, first, count, bytes_of(qp, first, count));
}

void WorkFetcher::take_pushed(QueuePair& qp, std::uint32_t number) { start_send(qp, number, 1, 0); }

void WorkFetcher::start_send(QueuePair& qp, std::uint32_t first, std::uint32_t count, std::uint32_t bytes) {
  Fetch fetch{{qp.self, qp.ring_epoch, {}}, Kind::kSend, first, count, bytes,
              adapter_.tracer.trail(adapter_.engine.now())};
  if (contexts_.use(qp.number, *this, waited_ever_)) return start(std::move(fetch));
  waiting_.emplace(waited_ever_++, std::move(fetch));
}

void WorkFetcher::on_cached(std::uint64_t cookie) {
  Fetch fetch = std::move(waiting_.extract(cookie).mapped());
  fetch.trail.add(adapter_.engine.now(), {adapter_.id, kContextMiss});
  start(std::move(fetch));
}

std::uint32_t WorkFetcher::bytes_of(const QueuePair& qp, std::uint32_t first, std::uint32_t count) const {
  const WqeLayout& layout = adapter_.profile.wqe_layout;
  if (layout.line_bytes == 0) return count * qp.send_queue.stride();
  const std::uint32_t header = qp.is_datagram() ? layout.datagram_header_bytes : layout.header_bytes;
  std::uint32_t bytes = 0;
  for (std::uint32_t number = first; number != first + count; ++number) {
    const std::uint32_t data =
        qp.source != nullptr ? SourceSide::kScatterBytes : send_data_bytes(qp.send_queue.entry(number));
    bytes += layout.bytes_in_lines(header + data);
  }
  return bytes;
}

void WorkFetcher::fetch_recv(const ReceiveQueueOwner& owner, std::uint32_t first, std::uint32_t count,
                             std::uint32_t bytes) {
  start({owner, Kind::kRecv, first, count, bytes, {}});
}

void WorkFetcher::fetch_recv_record(const ReceiveQueueOwner& owner) {
  start({owner, Kind::kRecvRecord, 0, 0, sizeof(std::uint32_t), {}});
}

void WorkFetcher::fetch_tag_operations(const Ref<SharedReceiveQueue>& srq, std::uint32_t first, std::uint32_t count,
                                       std::uint32_t bytes) {
  start({{{}, 0, srq}, Kind::kTagOperation, first, count, bytes, {}});
}

void WorkFetcher::start(Fetch fetch) {
  if (fetch.bytes == 0) return decode(fetch, adapter_.engine.now());
  dma_.read(fetch.bytes, *this, 0, fetch.trail.shared());
  fetching_.push_back(std::move(fetch));
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

void WorkFetcher::decode(const Fetch& fetch, Instant at_adapter) {
  QueuePair* qp = fetch.owner.qp.get();
  if (qp == nullptr || qp->ring_epoch != fetch.owner.epoch) return;
  // A pushed entry does not pass entries that were read before.
  last_arrival_ = std::max(last_arrival_, at_adapter);
  for (std::uint32_t number = fetch.first; number != fetch.first + fetch.count; ++number) {
    SendWork work = qp->source != nullptr ? qp->source->next_work(qp->number, number)
                                          : parse_send(qp->send_queue.entry(number), number);
    work.trail = qp->requester.trail_of(number);
    if (work.trail) [[unlikely]] {
      extend(work, *qp, fetch.trail);
      work.trail.add(last_arrival_, {adapter_.id, "WQE decode: earlier work requests"});
    }
    FetchedWork fetched{fetch.owner.qp, fetch.owner.epoch, qp->number, std::move(work)};
    if (adapter_.profile.processing_units > 0) {
      units_.push(last_arrival_, std::move(fetched));
      continue;
    }
    const Instant done = decode_.accept(last_arrival_, fetched.work.trail, adapter_.id, "WQE decode");
    decoded_.push(done, std::move(fetched));
  }
}

void WorkFetcher::on_dma_read(std::uint64_t, Instant at_adapter) {
  const Fetch fetch = fetching_.pop_front();
  if (fetch.kind == Kind::kSend) return decode(fetch, at_adapter);
  const ReceiveQueue* receives = receives_of(fetch.owner);
  if (receives == nullptr) return;
  if (fetch.kind == Kind::kRecvRecord) {
    received_.push(at_adapter, {fetch.owner, true, receives->read_producer(), adapter_.engine.now(), {}, {}});
    return;
  }
  if (fetch.kind == Kind::kTagOperation) {
    const TagMatching& tags = *fetch.owner.srq.get()->tags;
    for (std::uint32_t number = fetch.first; number != fetch.first + fetch.count; ++number) {
      auto operation = std::make_unique<TagOperation>(parse_tag_operation(tags.entry(number)));
      received_.push(at_adapter, {fetch.owner, false, 0, {}, {}, std::move(operation)});
    }
    return;
  }
  for (std::uint32_t number = fetch.first; number != fetch.first + fetch.count; ++number) {
    RecvWork work = parse_recv(receives->entry(number), number);
    received_.push(at_adapter, {fetch.owner, false, 0, {}, std::move(work), {}});
  }
}

void WorkFetcher::on_decoded(FetchedWork decoded) {
  QueuePair* qp = decoded.qp.get();
  if (qp == nullptr || qp->ring_epoch != decoded.epoch) return;
  adapter_.tracer.record(adapter_.id, TraceEvent::kWqeFetched, qp->number, decoded.work.number,
                         static_cast<std::uint64_t>(decoded.work.opcode), decoded.work.length);
  qp->requester_driver.on_work(std::move(decoded.work));
}

void WorkFetcher::on_received(Received received) {
  ReceiveQueue* receives = receives_of(received.owner);
  if (receives == nullptr) return;
  if (received.operation != nullptr) {
    received.owner.srq.get()->tags->on_operation(std::move(*received.operation));
  } else if (received.is_record) {
    receives->on_record(received.producer, received.sampled_at);
  } else {
    receives->on_work(std::move(received.work));
  }
}

}  // namespace verbatim::hca
