#include "sim/hca/datapath/completion_writer.h"

#include <algorithm>
#include <utility>

#include "sim/hca/adapter_base.h"
#include "sim/hca/datapath/payload_writer.h"
#include "sim/hca/datapath/queue_pair.h"
#include "sim/hca/freedom.h"
#include "sim/hca/queue_counters.h"

namespace verbatim::hca {

namespace {

bool is_receive(const protocol::Cqe& entry) { return entry.queue != protocol::CqeQueue::kSend; }

}  // namespace

CompletionWriter::CompletionWriter(AdapterBase& adapter, host::DmaEngine& dma, PayloadWriter& payloads,
                                   QueueCounters& counters)
    : adapter_(adapter),
      dma_(dma),
      payloads_(payloads),
      counters_(counters),
      stage_(adapter.clock, adapter.profile.completion),
      staged_(DelayLine<std::uint64_t>::of<&CompletionWriter::on_staged>(adapter.engine, adapter.id,
                                                                         EventClass::kStage, this)),
      hold_timer_(
          Timer::of<&CompletionWriter::on_hold_over>(adapter.engine, adapter.id, EventClass::kStage, this)) {}

void CompletionWriter::push(const Ref<CompletionQueue>& cq, protocol::Cqe entry, bool solicited, Trail trail,
                            const Ref<QueuePair>& source) {
  if (entry.status != 0) [[unlikely]] {
    counters_.on_error(static_cast<ib::WcStatus>(entry.status), is_receive(entry));
    choose_undefined_fields(entry);
  }
  const Instant now = adapter_.engine.now();
  const Duration delay = freedom::kCompletionDelay.choose(adapter_.choices, adapter_.id);
  Pending pending{cq, entry, solicited, std::move(trail), source};
  if (delay == Duration::zero() && held_.empty()) return stage(std::move(pending));
  Instant& last = last_[{entry.qpn, is_receive(entry)}];
  last = std::max(last, now + delay);
  // Flushed work requests complete behind the error that flushed them, even on the other work queue.
  const auto status = static_cast<ib::WcStatus>(entry.status);
  if (status == ib::WcStatus::kWorkRequestFlushed) {
    if (const auto error = last_error_.find(entry.qpn); error != last_error_.end()) last = std::max(last, error->second);
  } else if (status != ib::WcStatus::kSuccess) {
    last_error_[entry.qpn] = last;
  }
  held_.emplace(std::pair(last, held_ever_++), std::move(pending));
  hold_timer_.reschedule_at(held_.begin()->first.first);
}

void CompletionWriter::choose_undefined_fields(protocol::Cqe& entry) {
  Choices& choices = adapter_.choices;
  // The entry of an announced message (tag matching) has an unsuccessful status, and all its fields are
  // defined.
  if (static_cast<ib::WcStatus>(entry.status) == ib::WcStatus::kRendezvousIncomplete) return;
  if (choices.choose(freedom::kFailedFields, adapter_.id, 2) == 0) return;
  using ib::WcOpcode;
  static constexpr WcOpcode kOpcodes[] = {WcOpcode::kSend,     WcOpcode::kRdmaWrite, WcOpcode::kRdmaRead,
                                          WcOpcode::kFetchAdd, WcOpcode::kReceive,   WcOpcode::kReceiveRdmaWithImm};
  const auto opcode = choices.choose(freedom::kFailedOpcode, adapter_.id, std::size(kOpcodes));
  entry.opcode = static_cast<std::uint8_t>(kOpcodes[opcode]);
  const std::uint32_t value = choices.choose(freedom::kFailedValue, adapter_.id, 1u << 31);
  entry.byte_length = value;
  entry.immediate = ~value;
  entry.flags = static_cast<std::uint8_t>(value & (ib::kWcGrh | ib::kWcWithImm | ib::kWcWithInvalidate));
  entry.pkey_index = static_cast<std::uint16_t>(value);
  entry.service_level = value & 0xf;
  entry.dlid_path_bits = value & 0x7f;
  if (entry.is_frame == 0) entry.source_lid = static_cast<std::uint16_t>(value >> 8);
  if (entry.queue != protocol::CqeQueue::kNone) entry.source_qp = value & 0xff'ffff;  // otherwise the field is a part of the tag
}

void CompletionWriter::on_hold_over() {
  stage(held_.extract(held_.begin()).mapped());
  if (!held_.empty()) hold_timer_.schedule_at(held_.begin()->first.first);
}

void CompletionWriter::release_held() {
  hold_timer_.cancel();
  for (auto& [when, pending] : held_) stage(std::move(pending));
  held_.clear();
  last_.clear();
  last_error_.clear();
}

void CompletionWriter::stage(Pending pending) {
  if (!is_receive(pending.entry) || !payloads_.holds_any() ||
      !adapter_.quirk_fires(Quirk::kMultipath, freedom::kEarlyCompletion)) {
    payloads_.release_of(pending.entry.qpn);
  }
  const Instant now = adapter_.engine.now();
  pending.trail.add(now, {adapter_.id, "completion held back"});
  Instant ready = now;
  if (adapter_.profile.receive_completion_after_payload && is_receive(pending.entry)) {
    ready = std::max(now, payloads_.last_left());
    pending.trail.add(ready, {adapter_.id, "completion: the payload leaves first"});
  }
  const Instant done = stage_.accept(ready, pending.trail, adapter_.id, "completion");
  staged_.push(done, first_under_way_ + under_way_.size());
  under_way_.push_back(std::move(pending));
}

void CompletionWriter::on_staged(std::uint64_t number) {
  Pending& pending = under_way_[number - first_under_way_];
  pending.visible = dma_.write(sizeof(protocol::Cqe), *this, number, pending.trail.shared()).visible;
  if (CompletionQueue* cq = pending.cq.get(); cq != nullptr) pending.is_put = cq->begin_write(pending.entry, pending.visible);
}

host::Touch CompletionWriter::touch_of(std::uint64_t cookie, std::vector<host::TouchedBytes>&) const {
  const Pending& pending = under_way_[cookie - first_under_way_];
  return pending.is_put || pending.cq.get() == nullptr ? host::Touch::kUnseen : host::Touch::kUnknown;
}

void CompletionWriter::on_dma_write(std::uint64_t) {
  ++first_under_way_;
  const Pending pending = under_way_.pop_front();
  if (CompletionQueue* cq = pending.cq.get(); cq != nullptr) cq->end_write(pending.entry, pending.solicited, pending.is_put);
  if (const QueuePair* qp = pending.source.get(); qp != nullptr) [[unlikely]] complete_source(*qp, pending.entry);
  if (!pending.trail) [[likely]]
    return;
  const MessageEnd end = is_receive(pending.entry) ? MessageEnd::kReceived : MessageEnd::kCompleted;
  adapter_.tracer.report(
      {end, adapter_.id, pending.entry.qpn, pending.entry.status, adapter_.engine.now(), pending.trail});
}

void CompletionWriter::complete_source(const QueuePair& qp, const protocol::Cqe& entry) {
  if (adapter_.has_failed) return;
  adapter_.tracer.record(adapter_.id, TraceEvent::kCompletion, 0, entry.qpn, entry.wr_id, entry.status);
  if (!is_receive(entry)) {
    qp.source->source.on_completed(qp.number, static_cast<ib::WcStatus>(entry.status));
  } else if (entry.status == 0) {
    qp.source->source.on_received(qp.number, entry.byte_length);
  }
}

template <class Visit>
void CompletionWriter::for_each_begun(Visit visit) {
  for (std::size_t i = 0; i < under_way_.size(); ++i) {
    CompletionQueue* const cq = under_way_[i].cq.get();
    if (cq != nullptr && under_way_[i].visible != kNever) visit(*cq, under_way_[i]);
  }
}

template <class Matches>
void CompletionWriter::write_now(Matches matches) {
  for_each_begun([](CompletionQueue& cq, Pending&) { cq.forget_writes(); });
  for (std::size_t i = 0; i < under_way_.size(); ++i) {
    if (!matches(under_way_[i])) continue;
    const Ref<CompletionQueue> cq = std::exchange(under_way_[i].cq, {});
    // An overrun flushes; flushed requests complete behind these.
    const protocol::Cqe entry = under_way_[i].entry;
    if (cq.get() != nullptr) cq.get()->write(entry, under_way_[i].solicited);
  }
  // Other entries have other numbers now.
  for_each_begun([](CompletionQueue& cq, Pending& pending) { pending.is_put = cq.begin_write(pending.entry, pending.visible); });
}

void CompletionWriter::withdraw() {
  for_each_begun([](CompletionQueue& cq, Pending&) { cq.withdraw_writes(); });
}

void CompletionWriter::settle(std::uint32_t qpn) {
  write_now([qpn](const Pending& pending) { return pending.entry.qpn == qpn; });
}

void CompletionWriter::settle(const CompletionQueue& cq) {
  write_now([&cq](const Pending& pending) { return pending.cq.get() == &cq; });
}

}  // namespace verbatim::hca
