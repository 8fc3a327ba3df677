#include "sim/hca/inspector.h"

#include <algorithm>
#include <cstring>

#include "sim/hca/datapath/adapter.h"
#include "sim/hca/datapath/completion_queue.h"
#include "sim/hca/datapath/queue_pair.h"
#include "sim/hca/datapath/shared_receive_queue.h"
#include "sim/ib/addressee.h"

namespace verbatim::hca {

namespace {

CompletionQueueState state_of(const CompletionQueue& cq) {
  const CompletionQueue::Waiting waiting = cq.waiting();
  const CompletionQueue::Asked& asked = cq.asked();
  const protocol::CompletionQueueRecord& record = cq.record();
  CompletionQueueState state;
  state.number = cq.number();
  state.channel = cq.params().has_channel ? cq.params().channel : 0;
  state.entries = cq.params().depth;
  state.waiting = waiting.count;
  state.most_waiting = cq.most_waiting();
  state.oldest = waiting.oldest;
  state.newest = waiting.newest;
  state.asked = asked.at;
  state.asked_solicited = asked.solicited_only;
  state.answered = asked.answered;
  const std::uint32_t old = asked.written_before - (cq.written() - waiting.count);
  if (asked.at != kNever && old <= waiting.count) state.old = old;
  state.last_event = cq.last_event();
  state.has_overrun = cq.has_overrun();
  state.armed_by = record.armed_by;
  state.armed_from = record.armed_from;
  state.created_from = record.created_from;
  return state;
}

QueuePairState state_of(QueuePair& qp) {
  const protocol::QueuePairRecord& record = qp.shared_record();
  QueuePairState state;
  state.number = qp.number;
  state.type = qp.type;
  state.state = qp.state();
  if (const CompletionQueue* cq = qp.params.send_cq.get(); cq != nullptr) state.send_cq = cq->number();
  if (const CompletionQueue* cq = qp.params.recv_cq.get(); cq != nullptr) state.recv_cq = cq->number();
  if (const SharedReceiveQueue* srq = qp.params.srq.get(); srq != nullptr) state.srq = srq->params.number;
  state.send_entries = qp.send_queue.entries();
  state.recv_entries = qp.own_receives.entries();
  const std::uint32_t producer = record.send_producer.load(std::memory_order_acquire);
  const auto is_signaled = [&](std::uint32_t number) {
    protocol::SendWqe wqe;
    std::memcpy(&wqe, qp.send_queue.entry(number).data(), sizeof wqe);
    return (wqe.flags & protocol::kWqeSignaled) != 0;
  };
  if (producer - qp.send_queue.retired() <= state.send_entries) {
    state.sends = producer - qp.send_queue.retired();
    for (std::uint32_t i = 0; i < state.sends; ++i) state.signaled += is_signaled(producer - 1 - i) ? 1 : 0;
  }
  state.last_is_unsignaled = producer != 0 && state.send_entries != 0 && !is_signaled(producer - 1);
  const ReceiveQueue& receives = state.srq != 0 ? qp.params.srq.get()->receives : qp.own_receives;
  state.receives = std::min(receives.posted_unused(), receives.entries());
  state.waits_for_receive = qp.requester.waits_for_receive();
  state.rnr_naks = qp.requester.rnr_naks();
  state.timeouts = qp.requester.timeouts();
  state.sends_again = qp.attributes.timeout != 0;
  state.send_most = record.send_most;
  state.send_full = record.send_full;
  state.recv_least = qp.own_receives.least();
  state.received = qp.own_receives.taken();
  state.send_psn = qp.requester.next_new_psn().value;
  state.receive_psn = qp.responder.expected().value;
  state.peer_number = qp.attributes.dest_qp_num;
  state.created_from = record.created_from;
  const PortAddress& address = qp.adapter.address;
  const ib::Qpn own{qp.number};
  if (!address.roce) state.names.push_back(ib::addressee(address.lid, own));
  for (const ib::Gid& gid : address.gids) state.names.push_back(ib::addressee(gid, own));
  if (qp.is_datagram() || qp.is_raw() || qp.is_xrc_receiver() || qp.attributes.dest_qp_num == 0) return state;
  state.peer = Diagnoses::peer_of(qp);
  return state;
}

template <class Object>
Object* find(const std::map<std::uint32_t, Ref<Object>>& objects, std::uint32_t handle) {
  const auto it = objects.find(handle);
  return it == objects.end() ? nullptr : it->second.get();
}

}  // namespace

const Context* Inspector::find_context(std::uint32_t number) const {
  const Context* const context = find(contexts_, number);
  return context == nullptr || context->has_left() ? nullptr : context;
}

Inspection Inspector::inspect(std::uint32_t number) const {
  Inspection inspection;
  const Context* const context = find_context(number);
  if (context == nullptr || context->arena == nullptr) return inspection;
  inspection.process = context->program.process;
  for (const auto& [handle, cq] : context->objects.cqs) {
    if (&cq.get()->context == context) inspection.cqs.push_back(state_of(*cq.get()));
  }
  for (const auto& [handle, qp] : context->objects.qps) {
    if (&qp.get()->context != context || qp.get()->params.scaling != nullptr) continue;
    inspection.qps.push_back(state_of(*qp.get()));
  }
  inspection.regions = static_cast<std::size_t>(
      std::ranges::count_if(context->objects.mrs, [&](const auto& entry) { return entry.second->context == context; }));
  inspection.domains = context->objects.pds.size();
  inspection.shared_queues = context->objects.srqs.size();
  return inspection;
}

std::vector<Inspection> Inspector::inspect_all() const {
  std::vector<Inspection> all;
  for (const auto& [number, context] : contexts_) {
    if (context.get()->program.process != 0) all.push_back(inspect(number));
  }
  return all;
}

Inspection Inspector::inspect_one(std::uint32_t number, bool is_cq, std::uint32_t handle) const {
  Inspection inspection;
  const Context* const context = find_context(number);
  if (context == nullptr || context->arena == nullptr) return inspection;
  const CompletionQueue* cq = is_cq ? find(context->objects.cqs, handle) : nullptr;
  QueuePair* qp = is_cq ? nullptr : find(context->objects.qps, handle);
  if (cq != nullptr && &cq->context == context) inspection.cqs.push_back(state_of(*cq));
  if (qp != nullptr && &qp->context == context && qp->params.scaling == nullptr) inspection.qps.push_back(state_of(*qp));
  return inspection;
}

Duration Inspector::least_patience() const {
  Duration least = patience_of(kLongestTimeout, 1);
  for (const auto& [number, context] : contexts_) {
    if (context.get() == nullptr) continue;
    for (const auto& [handle, ref] : context.get()->objects.qps) {
      const QueuePair& qp = *ref.get();
      if (qp.state() != ib::QpState::kRts || !qp.is_reliable() || qp.attributes.timeout == 0) continue;
      least = std::min(least, patience_of(qp.attributes.timeout, qp.attributes.retry_cnt));
    }
  }
  return least;
}

SleptOn Inspector::find_armed(std::uint32_t number, std::uint32_t channel, std::uint32_t thread, bool by_courtesy) const {
  const Context* const context = find_context(number);
  if (context == nullptr || channel == 0) return {};
  for (const auto& [handle, ref] : context->objects.cqs) {
    const CompletionQueue& cq = *ref.get();
    if (&cq.context != context || !cq.params().has_channel || cq.params().channel != channel) continue;
    const CompletionQueue::Asked& asked = cq.asked();
    if (asked.at == kNever || asked.solicited_only || cq.record().armed_by != thread) continue;
    if (by_courtesy) {
      const bool is_raised = adapter_.engine.now() >= cq.last_event() + adapter_.profile.event_latency;
      if (!asked.is_courtesy || !is_raised || cq.written() != asked.written_before) continue;
    }
    const std::uint32_t old = asked.written_before - cq.consumed();
    if (old != 0 && old <= cq.params().entries) return {cq.number(), old, cq.record().armed_from};
  }
  return {};
}

bool Inspector::waits_for_ever(std::uint32_t qpn) const {
  const QueuePair* const qp = adapter_.qp_by_number({qpn});
  return qp == nullptr || qp->attributes.rnr_retry == kEndlessRnrRetry;
}

std::optional<std::uint32_t> Inspector::empty_completion_queue(std::uint32_t number, std::uint32_t handle) const {
  if (adapter_.has_failed) return handle;
  const Context* const context = find_context(number);
  const CompletionQueue* const cq = context == nullptr ? nullptr : find(context->objects.cqs, handle);
  if (cq == nullptr || &cq->context != context || !cq->is_empty()) return std::nullopt;
  return cq->number();
}

bool Inspector::is_registered(std::uint32_t number, host::ProgramAddress start, std::uint64_t length) const {
  const Context* const context = find_context(number);
  if (context == nullptr) return false;
  return std::ranges::any_of(context->objects.mrs, [&](const auto& entry) {
    const MemoryRegion& region = *entry.second;
    const bool overlaps = region.start <= start ? start - region.start < region.length : region.start - start < length;
    return region.context == context && region.dm == 0 && overlaps;
  });
}

RegionUse Inspector::use_of_region(std::uint32_t number, std::uint32_t handle) const {
  const Context* const context = find_context(number);
  if (context == nullptr) return {};
  const auto region = context->objects.mrs.find(handle);
  if (region == context->objects.mrs.end()) return {};
  RegionUse use;
  use.key = region->second->key;
  const auto names_it = [&](const ScatterList& list) {
    return std::ranges::any_of(list.entries(), [&](const protocol::Sge& sge) { return sge.lkey == use.key && sge.length != 0; });
  };
  for (const auto& [qp_handle, ref] : context->objects.qps) {
    QueuePair& qp = *ref.get();
    if (&qp.context != context || !qp.can_receive()) continue;
    const protocol::QueuePairRecord& record = qp.shared_record();
    const std::uint32_t sent = record.send_producer.load(std::memory_order_acquire);
    std::uint32_t sends = 0, receives = 0;
    if (sent - qp.send_queue.retired() <= qp.send_queue.entries()) {
      for (std::uint32_t i = qp.send_queue.retired(); i != sent; ++i) {
        const SendWork work = parse_send(qp.send_queue.entry(i), i);
        if (!work.is_inline() && !work.is_local() && names_it(work.sges)) ++sends;
      }
    }
    const std::uint32_t posted = qp.own_receives.posted_unused();
    if (posted <= qp.own_receives.entries()) {
      for (std::uint32_t i = qp.own_receives.read_producer() - posted; i != qp.own_receives.read_producer(); ++i) {
        if (names_it(parse_recv(qp.own_receives.entry(i), i).sges)) ++receives;
      }
    }
    if (sends + receives == 0) continue;
    if (use.qp == 0) use.qp = qp.number;
    use.sends += sends;
    use.receives += receives;
  }
  return use;
}

}  // namespace verbatim::hca
