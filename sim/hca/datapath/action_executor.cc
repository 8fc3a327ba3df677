#include "sim/hca/datapath/action_executor.h"

#include <endian.h>
#include <infiniband/tm_types.h>

#include <span>
#include <utility>

#include "sim/hca/datapath/adapter.h"
#include "sim/hca/datapath/queue_pair.h"
#include "sim/hca/datapath/received_frame.h"
#include "sim/hca/datapath/shared_receive_queue.h"
#include "sim/hca/freedom.h"

namespace verbatim::hca {

using protocol::WqeOpcode;

namespace {

ib::WcOpcode wc_opcode(WqeOpcode opcode) {
  switch (opcode) {
    case WqeOpcode::kSend:
    case WqeOpcode::kSendWithImm:
    case WqeOpcode::kSendWithInvalidate:
      return ib::WcOpcode::kSend;
    case WqeOpcode::kRdmaWrite:
    case WqeOpcode::kRdmaWriteWithImm:
      return ib::WcOpcode::kRdmaWrite;
    case WqeOpcode::kRdmaRead:
      return ib::WcOpcode::kRdmaRead;
    case WqeOpcode::kAtomicCompareSwap:
      return ib::WcOpcode::kCompareSwap;
    case WqeOpcode::kAtomicFetchAdd:
      return ib::WcOpcode::kFetchAdd;
    case WqeOpcode::kLocalInvalidate:
      return ib::WcOpcode::kLocalInvalidate;
    case WqeOpcode::kBindMemoryWindow:
      return ib::WcOpcode::kBindMw;
    case WqeOpcode::kAtomicWrite:
      return ib::WcOpcode::kAtomicWrite;
  }
  return ib::WcOpcode::kSend;
}

void write_match(const TagMatch& match, protocol::Cqe& entry) {
  if (entry.status == 0) {
    entry.opcode = static_cast<std::uint8_t>(match.opcode);
    entry.flags |= match.flags;
    if (match.is_incomplete) entry.status = static_cast<std::uint8_t>(ib::WcStatus::kRendezvousIncomplete);
  }
  if (!match.is_expected) return;
  entry.queue = protocol::CqeQueue::kNone;
  entry.wqe_counter = static_cast<std::uint32_t>(match.tag);
  entry.source_qp = static_cast<std::uint32_t>(match.tag >> 32);
  entry.srq_number = match.app_ctx;
}

}  // namespace

ActionExecutor::ActionExecutor(QueuePair& qp)
    : qp_(qp), timers_(qp.adapter.engine, qp.adapter.choices, qp.adapter.id, *this) {}

Instant ActionExecutor::now() const { return qp_.adapter.engine.now(); }

void ActionExecutor::execute_all(Actions& actions, Incoming* incoming) {
  Adapter& adapter = qp_.adapter;
  for (const Action& action : actions) {
    switch (action.kind) {
      case Action::Kind::kFetch:
        adapter.fetcher.fetch_send(qp_, action.number, action.count);
        break;
      case Action::Kind::kTakePushed:
        adapter.fetcher.take_pushed(qp_, action.number);
        break;
      case Action::Kind::kFetchMore: {
        Actions fetches;
        qp_.requester.fetch_more(fetches);
        execute(fetches);
        break;
      }
      case Action::Kind::kComplete:
        for (std::uint32_t i = 0; i < action.count; ++i) complete(std::move(actions.finished()[action.number + i]));
        break;
      case Action::Kind::kActivate:
        adapter.sender.activate(qp_);
        break;
      case Action::Kind::kRelease:
        incoming->release(now());
        break;
      case Action::Kind::kDrop:
        adapter.counters.on_drop(action.reason, distance(qp_.responder.expected(), incoming->packet->bth.psn) > 0);
        incoming->drop(action.reason);
        break;
      case Action::Kind::kDiagnose:
        adapter.diagnoses.on_refused(qp_, *incoming->packet, action.refusal);
        break;
      case Action::Kind::kAcknowledge:
        acknowledge(action, actions.cause());
        break;
      case Action::Kind::kExecuteAtomic:
        execute_atomic(*incoming->packet, action.address, actions.cause());
        break;
      case Action::Kind::kCompleteReceive:
        complete_receive(actions.received(), incoming, actions.received().has_message ? actions.cause() : Trail());
        break;
      case Action::Kind::kWatchReceives:
        qp_.receives().watch();
        break;
      case Action::Kind::kEndMessage:
        adapter.payloads.release_stream(message_stream(qp_.number, true));
        break;
      case Action::Kind::kArmAckTimer:
      case Action::Kind::kCancelAckTimer:
      case Action::Kind::kArmRnrTimer:
      case Action::Kind::kCancelRnrTimer:
        timers_.execute(action, now());
        break;
      case Action::Kind::kRecoverLater:
        put_off(adapter.recoveries, now(), action, qp_.self, qp_.ring_epoch);
        break;
      case Action::Kind::kRecord:
        adapter.tracer.record(adapter.id, action.event, qp_.number, action.values[0], action.values[1],
                              action.values[2]);
        adapter.counters.on_record(action.event, action.values[1]);
        break;
      case Action::Kind::kRaise:
        qp_.raise(action.raised);
        break;
      case Action::Kind::kCountQkeyViolation:
        adapter.key_guard.on_bad_qkey(*incoming->packet);
        break;
      case Action::Kind::kMigratePath:
        qp_.migrate();
        break;
      case Action::Kind::kCheckDrained:
        qp_.check_drained();
        break;
      case Action::Kind::kEnterError:
        qp_.enter_error();
        break;
      case Action::Kind::kEnterSendError:
        qp_.enter_send_error();
        break;
      case Action::Kind::kFailFatally:
        qp_.fail_fatally();
        break;
    }
  }
}

void ActionExecutor::complete(FinishedRequest&& finished) {
  if (finished.is_own) [[unlikely]] return end_rendezvous(finished);
  if (!finished.has_entry) {
    const Trail& trail = finished.trail;
    qp_.adapter.tracer.report({MessageEnd::kAcknowledged, qp_.adapter.id, qp_.number, 0, trail.end(), trail});
    return;
  }
  if (finished.status != ib::WcStatus::kSuccess && finished.status != ib::WcStatus::kWorkRequestFlushed) [[unlikely]] {
    qp_.adapter.diagnoses.on_failed_work(qp_, finished);
  }
  protocol::Cqe entry = qp_.make_completion(finished.wr_id, finished.status);
  entry.opcode = static_cast<std::uint8_t>(wc_opcode(finished.opcode));
  entry.byte_length = finished.length;
  entry.wqe_counter = finished.number;
  qp_.adapter.completions.push(qp_.params.send_cq, entry, false, std::move(finished.trail), qp_.source_ref());
}

void ActionExecutor::complete_receive(const FinishedReceive& received, const Incoming* incoming, Trail trail) {
  protocol::Cqe entry = qp_.make_completion(received.wr_id, received.status);
  entry.opcode = static_cast<std::uint8_t>(ib::WcOpcode::kReceive);
  entry.wqe_counter = received.number;
  entry.queue = protocol::CqeQueue::kReceive;
  bool solicited = false;
  if (received.has_message && qp_.is_raw()) [[unlikely]] {
    entry.is_frame = 1;
    entry.byte_length = received.bytes;
    entry.immediate = incoming->flow_tag;
    entry.source_lid = tag_to_strip(*incoming->packet, qp_.frame_options).value_or(0);
  } else if (received.has_message) {
    const ib::Packet* const packet = incoming->packet.get();
    const ib::OpcodeInfo& operation = ib::info(packet->bth.opcode);
    entry.byte_length = received.bytes;
    if (received.is_write) entry.opcode = static_cast<std::uint8_t>(ib::WcOpcode::kReceiveRdmaWithImm);
    if (operation.has_immediate) {
      entry.immediate = packet->immediate;
      entry.flags |= ib::kWcWithImm;
    }
    entry.source_qp = qp_.is_datagram() ? packet->deth.source.value : qp_.attributes.dest_qp_num;
    // Only completions of datagrams have the flag (facts/verbs_semantics.md): the peer of a connection is
    // known.
    if (qp_.is_datagram() && packet->grh) entry.flags |= ib::kWcGrh;
    entry.source_lid = packet->lrh.source.value;
    // The priority of an Ethernet frame is in its VLAN tag; a frame without a tag has none.
    entry.service_level = packet->ethernet ? static_cast<std::uint8_t>(packet->ethernet->vlan >> ib::kVlanPriorityShift)
                                           : packet->lrh.service_level.value;
    // IBA A17.4.5.1: a datagram's completion has the type of its frame. Verbs have no field for it; ConnectX
    // uses the service level: 8 for UDP, and 1 for IPv6 or 2 for IPv4 (UCX relies on it).
    if (qp_.is_datagram() && packet->ethernet) entry.service_level = ib::is_over_ipv4(*packet) ? 8 | 2 : 8 | 1;
    if (operation.has_invalidate) {
      entry.immediate = packet->invalidate_rkey;
      entry.flags |= ib::kWcWithInvalidate;
    }
    solicited = packet->bth.solicited;
  }
  if (qp_.target() != nullptr) entry.srq_number = qp_.target()->params.number;
  const TagMatch* const match = received.match.get();
  if (match != nullptr) [[unlikely]] write_match(*match, entry);
  if (match == nullptr || !match->is_expected) qp_.receives().retire();
  qp_.adapter.completions.push(qp_.receive_cq(), entry, solicited, std::move(trail), qp_.source_ref());
  if (match != nullptr && match->rendezvous && received.has_message) [[unlikely]] begin_rendezvous(received.wr_id, *match);
}

void ActionExecutor::begin_rendezvous(std::uint64_t wr_id, const TagMatch& match) {
  const Rendezvous& rendezvous = *match.rendezvous;
  SendWork read;
  read.opcode = WqeOpcode::kRdmaRead;
  read.wr_id = wr_id;
  read.remote_va = rendezvous.va;
  read.rkey = rendezvous.rkey;
  read.length = rendezvous.length;
  read.sges = rendezvous.sges;
  SendWork end;
  const ibv_tmh header{.opcode = IBV_TMH_FIN, .reserved = {}, .app_ctx = match.app_ctx, .tag = htobe64(match.tag)};
  end.flags = protocol::kWqeInline | protocol::kWqeFence;
  end.length = sizeof(header);
  end.inline_data = ib::PayloadBuffer::copy_of(std::as_bytes(std::span(&header, 1)));
  qp_.requester_driver.on_own_work(std::move(read));
  qp_.requester_driver.on_own_work(std::move(end));
}

void ActionExecutor::end_rendezvous(const FinishedRequest& read) {
  if (read.status != ib::WcStatus::kSuccess && read.status != ib::WcStatus::kWorkRequestFlushed) {
    qp_.adapter.diagnoses.on_failed_work(qp_, read);
  }
  protocol::Cqe entry = qp_.make_completion(read.wr_id, read.status);
  entry.opcode = static_cast<std::uint8_t>(ib::WcOpcode::kTagReceive);
  entry.queue = protocol::CqeQueue::kNone;
  entry.flags = ib::kWcTagDataValid;
  entry.byte_length = read.length;
  qp_.adapter.completions.push(qp_.receive_cq(), entry, false, Trail());
}

void ActionExecutor::acknowledge(const Action& action, Trail cause) {
  const ib::Opcode opcode = make_opcode(qp_.transport(), ib::Operation::kAcknowledge);
  ib::PacketPtr packet = qp_.make_packet(opcode, ib::Psn{action.number});
  packet->aeth = {static_cast<std::uint8_t>(action.values[0]), action.values[1]};
  packet->trail = std::move(cause);
  qp_.put_backward_mark(*packet);
  qp_.adapter.sender.acknowledge(qp_.put_telemetry(std::move(packet)), qp_.self);
}

void ActionExecutor::execute_atomic(const ib::Packet& packet, host::ProgramAddress address, Trail cause) {
  AtomicRequest atomic;
  atomic.is_compare_swap = operation_of(packet.bth.opcode) == ib::Operation::kCompareSwap;
  atomic.swap_add = packet.atomic.swap_add;
  atomic.compare = packet.atomic.compare;
  atomic.address = address;
  atomic.key = packet.atomic.rkey.value;
  atomic.psn = packet.bth.psn;
  atomic.trail = std::move(cause);
  qp_.adapter.atomics.execute(qp_, qp_.owner_of(atomic.key), atomic);
}

void ActionExecutor::recover(const PutOff<Ref<QueuePair>>& step) {
  if (step.life != qp_.ring_epoch) return;
  Actions actions;
  hca::recover(step, qp_.requester, qp_.responder, qp_.responses, now(), actions);
  execute(actions);
}

void ActionExecutor::on_ack_timeout() {
  Actions actions;
  qp_.requester.on_ack_timeout(now(), actions);
  execute(actions);
}

void ActionExecutor::on_rnr_timeout() {
  Actions actions;
  qp_.requester.on_rnr_timeout(now(), actions);
  execute(actions);
}

}  // namespace verbatim::hca
