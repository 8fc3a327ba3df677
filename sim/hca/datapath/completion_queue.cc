#include "sim/hca/datapath/completion_queue.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "sim/hca/datapath/adapter.h"
#include "sim/hca/datapath/queue_pair.h"
#include "sim/hca/datapath/shared_receive_queue.h"
#include "sim/hca/freedom.h"

namespace verbatim::hca {

CompletionQueue::CompletionQueue(Ref<CompletionQueue> self, Adapter& adapter, Context& context,
                                 const CompletionQueueParams& params)
    : self(self), context(context), adapter_(adapter), params_(params) {}

protocol::Cqe* CompletionQueue::entry_at(std::uint64_t ring_offset, std::uint32_t entries,
                                         std::uint32_t number) const {
  const std::uint64_t size = std::uint64_t{entries} * sizeof(protocol::Cqe);
  return reinterpret_cast<protocol::Cqe*>(context.arena->at(ring_offset, size).data()) +
         (number & (entries - 1));
}

const protocol::CompletionQueueRecord& CompletionQueue::record() const {
  const auto bytes = context.arena->at(params_.record_offset, sizeof(protocol::CompletionQueueRecord));
  return *reinterpret_cast<const protocol::CompletionQueueRecord*>(bytes.data());
}

std::uint32_t CompletionQueue::read_consumer() const {
  const std::uint32_t consumer = record().consumer.load(std::memory_order_acquire);
  std::uint32_t ahead = consumer - consumer_;
  if (ahead > params_.entries) return consumer;  // an impossible number
  const auto is_later = [this](std::uint32_t number) {
    return entry_at(params_.ring_offset, params_.entries, number)->visible_at_ps > to_ps(adapter_.engine.now());
  };
  while (ahead > 0 && is_later(consumer_ + ahead - 1)) --ahead;
  return consumer_ + ahead;
}

CompletionQueue::Waiting CompletionQueue::waiting() const {
  const std::uint32_t consumer = read_consumer();
  Waiting waiting{producer_ - consumer};
  if (waiting.count == 0 || waiting.count > params_.entries) return {};
  const auto written_at = [&](std::uint32_t number) {
    const auto* ring = reinterpret_cast<const protocol::Cqe*>(
        context.arena->at(params_.ring_offset, std::uint64_t{params_.entries} * sizeof(protocol::Cqe)).data());
    return instant_from_ps(ring[number & (params_.entries - 1)].visible_at_ps);
  };
  waiting.oldest = written_at(consumer);
  waiting.newest = written_at(producer_ - 1);
  return waiting;
}

void CompletionQueue::write(protocol::Cqe entry, bool solicited) { write(entry, solicited, false); }

bool CompletionQueue::begin_write(protocol::Cqe entry, Instant when) {
  const bool is_behind_others = put_ != writing_++;
  if (overrun_ || is_behind_others) return false;
  const std::uint32_t number = producer_ + put_;
  // Until then the program can only make more room.
  if (number - consumer_ >= params_.entries) consumer_ = read_consumer();
  if (number - consumer_ >= params_.entries) return false;
  put(number, complete(entry, number, when));
  ++put_;
  return true;
}

void CompletionQueue::end_write(const protocol::Cqe& entry, bool solicited, bool was_put) {
  --writing_;
  if (was_put) --put_;
  write(entry, solicited, was_put);
}

void CompletionQueue::withdraw_writes() {
  for (; put_ > 0; --put_) {
    const std::uint32_t number = producer_ + put_ - 1;
    entry_at(params_.ring_offset, params_.entries, number)->sequence = number / params_.entries;
  }
  writing_ = 0;
}

protocol::Cqe CompletionQueue::complete(protocol::Cqe entry, std::uint32_t number, Instant when) const {
  entry.visible_at_ps = to_ps(when);
  entry.timestamp = static_cast<std::uint64_t>(adapter_.clock.next_edge_number(when));
  entry.sequence = number / params_.entries + 1;
  return entry;
}

void CompletionQueue::put(std::uint32_t number, const protocol::Cqe& entry) {
  protocol::Cqe* slot = entry_at(params_.ring_offset, params_.entries, number);
  // A reader takes the entry as soon as it sees the sequence, which is stored last.
  constexpr std::size_t kSequence = offsetof(protocol::Cqe, sequence);
  constexpr std::size_t kAfter = kSequence + sizeof(entry.sequence);
  std::memcpy(slot, &entry, kSequence);
  std::memcpy(reinterpret_cast<std::byte*>(slot) + kAfter,
              reinterpret_cast<const std::byte*>(&entry) + kAfter, sizeof(entry) - kAfter);
  std::atomic_ref(slot->sequence).store(entry.sequence, std::memory_order_release);
}

void CompletionQueue::write(const protocol::Cqe& incomplete, bool solicited, bool was_put) {
  protocol::Cqe entry = incomplete;
  if (overrun_) return record(entry, {});
  // The adapter reads the record when it believes the ring to be full; the time of that read is hidden behind
  // the writes ahead. A number outside the ring is a program's mistake and counts as full.
  const auto is_full = [this] { return !params_.ignores_overrun && producer_ - consumer_ >= params_.depth; };
  if (is_full()) consumer_ = read_consumer();
  if (is_full()) {
    record(entry, {});
    overrun_ = true;
    adapter_.diagnoses.on_overrun(*this, params_.number, params_.depth);
    adapter_.notifier.async_event(*this, ib::AsyncEventType::kCqError);
    fail_users();
    return;
  }
  const std::uint32_t number = producer_++;
  if (producer_ - consumer_ > most_waiting_) note_waiting();
  entry = complete(entry, number, adapter_.engine.now());
  record(entry, std::as_bytes(std::span(&entry, 1)));
  if (adapter_.tracer.wants_facts()) [[unlikely]] {
    adapter_.tracer.report_completion(adapter_.id, params_.number, entry.qpn, entry.queue != protocol::CqeQueue::kSend);
    adapter_.tracer.report_level(adapter_.id, FactObserver::Queue::kCompletions, params_.number, producer_ - read_consumer());
  }
  // The program may have taken it already and noted when.
  if (!was_put) put(number, entry);

  context.program.listener->on_completion_written(context.number, params_.number);

  // IBA 11.4.2.2: an unsuccessful completion counts as solicited.
  solicited = solicited || entry.status != 0;
  if (solicited) {
    solicited_end_ = producer_;
    has_solicited_ = true;
  }
  if (armed_ == Arm::kAny || (armed_ == Arm::kSolicited && solicited)) {
    want_event();
  } else if (moderation_ != nullptr && moderation_->timer.scheduled()) [[unlikely]] {
    want_moderated_event();
  }
}

void CompletionQueue::record(const protocol::Cqe& entry, std::span<const std::byte> written) {
  adapter_.tracer.record(adapter_.id, TraceEvent::kCompletion, params_.number, entry.qpn, entry.wr_id, entry.status,
                         written);
}

// Updates the greatest number of waiting completions.
void CompletionQueue::note_waiting() {
  consumer_ = read_consumer();
  most_waiting_ = std::max(most_waiting_, std::min(producer_ - consumer_, params_.entries));
}

void CompletionQueue::fail_users() {
  // Their work cannot complete.
  std::vector<Ref<QueuePair>> users;
  for (const auto* objects : {&context.objects.qps, &context.objects.wqs}) {
    for (const auto& [handle, qp] : *objects) {
      const QueuePairParams& params = qp.get()->params;
      if (params.send_cq.get() == this || params.recv_cq.get() == this) users.push_back(qp);
    }
  }
  for (const Ref<QueuePair>& qp : users) qp.get()->fail_with_queue();
  fail_shared_receives();
}

void CompletionQueue::fail_shared_receives() {
  std::vector<Ref<SharedReceiveQueue>> queues;
  for (const auto& [handle, srq] : context.objects.srqs) {
    if (srq.get()->params.cq.get() == this) queues.push_back(srq);
  }
  for (const Ref<SharedReceiveQueue>& srq : queues) {
    srq.get()->receives.fail();
    // The receiver's last message took a receive of the failed queue, and its completion may be the lost one.
    // Other receivers of the domain fail with their next message that names the queue.
    adapter_.qps.each([&](const Ref<QueuePair>& qp) {
      if (qp.get() != nullptr && qp.get()->is_xrc_receiver() && qp.get()->target() == srq.get()) qp.get()->fail_fatally();
    });
  }
}

void CompletionQueue::arm(bool solicited_only, std::uint32_t written_before, Instant asked_at) {
  asked_ = {asked_at, written_before, solicited_only, false, false};
  // A request for any completion is not weakened by a later one for solicited ones (IBA 11.4.2.2).
  if (armed_ != Arm::kAny) armed_ = solicited_only ? Arm::kSolicited : Arm::kAny;
  // Entries added since the program asked raise an event (IBA 11.4.2.2). This adapter also raises one for
  // earlier entries, which hides lost wake-ups from programs; the specification does not ask for it.
  consumer_ = read_consumer();
  const std::uint32_t waiting = producer_ - consumer_;
  if (waiting == 0 || waiting > params_.entries) return;
  if (solicited_only && !(has_solicited_ && solicited_end_ - consumer_ - 1 < waiting)) return;
  const std::uint32_t end = solicited_only ? solicited_end_ : producer_;
  const std::uint32_t added = producer_ - written_before;
  const bool is_new = end - written_before - 1 < added;
  if (!is_new && adapter_.choices.choose(freedom::kEventOnArm, adapter_.id, 2) != 0) return;
  asked_.is_courtesy = !is_new;
  want_event();
}

CompletionQueue::Moderation::Moderation(CompletionQueue& queue, Adapter& adapter)
    : timer(Timer::of<&CompletionQueue::raise_event>(adapter.engine, adapter.id, EventClass::kStage, &queue)) {}

void CompletionQueue::moderate(std::uint32_t count, Duration period) {
  const bool is_owed = moderation_ != nullptr && moderation_->timer.scheduled();
  if (count == 0 || period == Duration(0)) {
    moderation_.reset();
    if (is_owed) raise_event();
    return;
  }
  if (moderation_ == nullptr) {
    moderation_ = std::make_unique<Moderation>(*this, adapter_);
    moderation_->written_before = producer_;
    moderation_->last_event = adapter_.engine.now();
  }
  moderation_->count = count;
  moderation_->period = period;
  moderation_->timer.cancel();
  if (is_owed) want_moderated_event();
}

void CompletionQueue::want_moderated_event() {
  Moderation& moderation = *moderation_;
  const Instant due = moderation.last_event + moderation.period;
  if (producer_ - moderation.written_before >= moderation.count || adapter_.engine.now() >= due) return raise_event();
  if (!moderation.timer.scheduled()) moderation.timer.schedule_at(due);
}

void CompletionQueue::raise_event() {
  armed_ = Arm::kNone;
  asked_.answered = true;
  last_event_ = adapter_.engine.now();
  if (moderation_ != nullptr) [[unlikely]] {
    moderation_->timer.cancel();
    moderation_->written_before = producer_;
    moderation_->last_event = adapter_.engine.now();
  }
  if (params_.has_channel) adapter_.notifier.completion_event(*this);
}

bool CompletionQueue::move_to(std::uint64_t ring_offset, std::uint32_t entries, std::uint32_t depth) {
  consumer_ = read_consumer();
  const std::uint32_t waiting = producer_ - consumer_;
  if (waiting > params_.entries || waiting > depth) return false;
  for (std::uint32_t number = consumer_; number != producer_; ++number) {
    protocol::Cqe entry;
    std::memcpy(&entry, entry_at(params_.ring_offset, params_.entries, number), sizeof(entry));
    entry.sequence = number / entries + 1;
    std::memcpy(entry_at(ring_offset, entries, number), &entry, sizeof(entry));
  }
  params_.ring_offset = ring_offset;
  params_.entries = entries;
  params_.depth = depth;
  return true;
}

}  // namespace verbatim::hca
