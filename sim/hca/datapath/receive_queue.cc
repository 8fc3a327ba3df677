#include "sim/hca/datapath/receive_queue.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "sim/hca/datapath/adapter.h"
#include "sim/hca/datapath/queue_pair.h"
#include "sim/hca/datapath/shared_receive_queue.h"

namespace verbatim::hca {

void ReceiveQueue::restart(const ReceiveQueueOwner& owner, const WorkQueue& ring) {
  owner_ = owner;
  ring_ = ring;
  fetched_ = {};
  waiters_ = {};
  taken_ = fetching_ = limit_ = reread_below_ = 0;
  limit_check_ = watched_since_ = kNever;
  record_fetching_ = flushing_ = failed_ = false;
}

std::uint32_t ReceiveQueue::read_producer() const {
  const std::uint32_t producer = record_.load(std::memory_order_acquire), known = ring_.producer();
  std::uint32_t ahead = producer - known;
  if (ahead > ring_.entries()) return producer;  // it has not changed, or is impossible
  while (ahead > 0 && !is_posted(known + ahead - 1)) --ahead;
  return known + ahead;
}

bool ReceiveQueue::is_posted(std::uint32_t number) const {
  protocol::RecvWqe wqe;
  std::memcpy(&wqe, ring_.entry(number).data(), sizeof wqe);
  return !protocol::is_posted_later(wqe, to_ps(adapter_.engine.now()));
}

void ReceiveQueue::refill() {
  if (ring_.entries() == 0 || failed_) return;
  const std::uint32_t prefetch = adapter_.profile.wqe_prefetch;
  const std::uint32_t have = static_cast<std::uint32_t>(fetched_.size()) + fetching_;
  if (have < prefetch && ring_.to_fetch() > 0) {
    const std::uint32_t count = ring_.run_length(prefetch);
    adapter_.fetcher.fetch_recv(owner_, ring_.fetched(), count, bytes_of(ring_.fetched(), count));
    ring_.fetch(count);
    fetching_ += count;
  }
  if (unused() < std::max(prefetch, reread_below_)) fetch_record();
}

std::uint32_t ReceiveQueue::bytes_of(std::uint32_t first, std::uint32_t count) const {
  const std::uint32_t line = adapter_.profile.wqe_layout.receive_line_bytes;
  if (line == 0) return count * ring_.stride();
  std::uint32_t bytes = 0;
  for (std::uint32_t number = first; number != first + count; ++number) {
    bytes += (recv_data_bytes(ring_.entry(number)) + line - 1) / line * line;
  }
  return bytes;
}

void ReceiveQueue::fetch_record() {
  if (record_fetching_ || failed_ || ring_.entries() == 0) return;
  record_fetching_ = true;
  adapter_.fetcher.fetch_recv_record(owner_);
}

void ReceiveQueue::flush() {
  flushing_ = true;
  while (!fetched_.empty()) {
    ++taken_;
    owner_.qp.get()->responder_driver.flush_receive(fetched_.pop_front());
  }
  refill();
}

std::optional<RecvWork> ReceiveQueue::take() {
  if (fetched_.empty()) return std::nullopt;
  RecvWork work = fetched_.pop_front();
  least_ = std::min(least_, posted_unused());
  ++taken_;
  if (adapter_.tracer.wants_facts()) [[unlikely]] report_level();
  refill();
  if (limit_ != 0 && unused() < limit_) recheck_srq_limit();
  return work;
}

void ReceiveQueue::report_level() const {
  const SharedReceiveQueue* const srq = owner_.srq.get();
  const QueuePair* const qp = owner_.qp.get();
  using Queue = FactObserver::Queue;
  if (srq != nullptr) {
    adapter_.tracer.report_level(adapter_.id, Queue::kSharedReceives, srq->params.number, posted_unused());
  } else if (qp != nullptr) {
    adapter_.tracer.report_level(adapter_.id, Queue::kReceives, qp->params.number, posted_unused());
  }
}

void ReceiveQueue::await(const Ref<QueuePair>& qp, Instant since) {
  waiters_.push_back({qp, since});
  refill();
}

void ReceiveQueue::on_record(std::uint32_t producer, Instant sampled_at) {
  record_fetching_ = false;
  const auto announcement = ring_.announce(producer);
  if (announcement == WorkQueue::Announcement::kImpossible) return fail();
  if (adapter_.profile.end_to_end_credits && owner_.srq.get() == nullptr) reread_below_ = unused() / 2;
  if (announcement == WorkQueue::Announcement::kNew) refill();
  if (limit_ != 0 && limit_check_ != kNever) check_limit(sampled_at);
  if (watched_since_ != kNever) look_for_watcher(sampled_at);
  if (!fetched_.empty() || fetching_ > 0) return;
  for (std::size_t count = waiters_.size(); count > 0; --count) {
    const Waiter waiter = waiters_.pop_front();
    QueuePair* qp = waiter.qp.get();
    if (qp == nullptr) continue;
    if (sampled_at < waiter.since) {
      waiters_.push_back(waiter);
    } else {
      qp->responder_driver.on_no_receive(sampled_at);
    }
  }
  if (!waiters_.empty()) fetch_record();
}

void ReceiveQueue::on_work(RecvWork work) {
  --fetching_;
  if (flushing_) {
    ++taken_;
    owner_.qp.get()->responder_driver.flush_receive(std::move(work));
    if (fetching_ == 0) refill();
    return;
  }
  fetched_.push_back(std::move(work));
  serve_waiters();
}

void ReceiveQueue::serve_waiters() {
  while (!fetched_.empty() && !waiters_.empty()) {
    const Waiter waiter = waiters_.pop_front();
    if (QueuePair* qp = waiter.qp.get(); qp != nullptr) qp->responder_driver.on_receive();
  }
}

void ReceiveQueue::watch() {
  // The record is read again for receives posted between its last read and the time at which the program sees
  // the wish.
  watched_since_ = owner_.qp.get()->request_rq_doorbell(true);
  fetch_record();
}

void ReceiveQueue::look_for_watcher(Instant sampled_at) {
  QueuePair& qp = *owner_.qp.get();
  if (unused() == 0) {
    if (sampled_at < watched_since_) fetch_record();
    return;
  }
  watched_since_ = kNever;
  if (!flushing_) qp.request_rq_doorbell(false);
  qp.responder_driver.on_receives();
}

void ReceiveQueue::on_doorbell(std::uint32_t producer) {
  if (!flushing_) {
    if (watched_since_ != kNever) {
      watched_since_ = adapter_.engine.now();
      fetch_record();
    }
    if (QueuePair* qp = owner_.qp.get(); qp != nullptr) qp->responder_driver.on_posted();
    return;
  }
  if (ring_.announce(producer) == WorkQueue::Announcement::kNew) refill();
}

void ReceiveQueue::look_for_flush() {
  if (flushing_ && ring_.announce(read_producer()) == WorkQueue::Announcement::kNew) refill();
}

void ReceiveQueue::set_limit(std::uint32_t limit) {
  limit_ = limit;
  limit_check_ = kNever;
  if (limit != 0 && unused() < limit) recheck_srq_limit();
}

void ReceiveQueue::recheck_srq_limit() {
  if (limit_check_ == kNever) limit_check_ = adapter_.engine.now();
  fetch_record();
}

void ReceiveQueue::check_limit(Instant sampled_at) {
  if (sampled_at < limit_check_) return fetch_record();
  limit_check_ = kNever;
  if (unused() >= limit_) return;
  limit_ = 0;
  adapter_.notifier.async_event(*owner_.srq.get(), ib::AsyncEventType::kSrqLimitReached);
}

void ReceiveQueue::fail() {
  if (failed_) return;
  failed_ = true;
  if (QueuePair* qp = owner_.qp.get(); qp != nullptr) return qp->fail_fatally();
  const SharedReceiveQueue& srq = *owner_.srq.get();
  adapter_.notifier.async_event(*owner_.srq.get(), ib::AsyncEventType::kSrqError);
  // Takers that wait ask again, and find that the queue has failed.
  for (std::size_t count = waiters_.size(); count > 0; --count) {
    const Waiter waiter = waiters_.pop_front();
    if (QueuePair* qp = waiter.qp.get(); qp != nullptr) qp->responder_driver.on_receive();
  }
  // IBA 11.6.3: receives of its queue pairs cannot complete.
  std::vector<Ref<QueuePair>> users;
  for (const auto& [handle, qp] : srq.context.objects.qps) {
    if (qp.get()->params.srq.get() == &srq) users.push_back(qp);
  }
  for (const Ref<QueuePair>& qp : users) qp.get()->fail_fatally();
}

}  // namespace verbatim::hca
