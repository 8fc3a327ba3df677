#include "sim/hca/datapath/action_executor.h"

#include <memory>
#include <span>
#include <utility>

#include "sim/hca/adapter.h"
#include "sim/hca/freedom.h"
#include "sim/hca/queues/queue_pair.h"

namespace verbatim::hca {

using ib::WcStatus;
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
  }
  return ib::WcOpcode::kSend;
}

}  // namespace

ActionExecutor::ActionExecutor(QueuePair& qp)
    : qp_(qp),
      ack_timer_(Timer::of<&ActionExecutor::on_ack_timer>(qp.adapter.engine, qp.adapter.id, EventClass::kTimeout,
                                                          this)),
      rnr_timer_(Timer::of<&ActionExecutor::on_rnr_timer>(qp.adapter.engine, qp.adapter.id, EventClass::kTimeout,
                                                          this)) {}

Instant ActionExecutor::now() const { return qp_.adapter.engine.now(); }

void ActionExecutor::execute(const Actions& actions, Incoming* incoming) {
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
        complete(action.count);
        break;
      case Action::Kind::kActivate:
        adapter.sender.activate(qp_);
        break;
      case Action::Kind::kRelease:
        adapter.receiver.release(*incoming, now());
        break;
      case Action::Kind::kDropStale:
        adapter.receiver.drop(*incoming, DropReason::kStale);
        break;
      case Action::Kind::kEndMessage:
        adapter.payloads.release_held();
        break;
      case Action::Kind::kArmAckTimer:
        arm_ack_timer(action.duration);
        break;
      case Action::Kind::kCancelAckTimer:
        ack_deadline_ = kNever;
        ack_timer_.cancel();
        break;
      case Action::Kind::kArmRnrTimer: {
        // IBA 9.7.5.2.8: at least the time asked for.
        const auto factor = 1 + adapter.choices.choose(freedom::kRnrTimer, adapter.id, freedom::kRnrTimerFactors);
        rnr_timer_.schedule_after(action.duration * factor);
        break;
      }
      case Action::Kind::kCancelRnrTimer:
        rnr_timer_.cancel();
        break;
      case Action::Kind::kRecord:
        adapter.tracer.record(adapter.id, action.event, qp_.number, action.values[0], action.values[1],
                              action.values[2]);
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

void ActionExecutor::complete(std::uint32_t count) {
  for (; count > 0; --count) {
    Requester::Finished finished = qp_.requester.take_finished();
    if (!finished.has_entry) {
      const Trail& trail = finished.trail;
      qp_.adapter.tracer.report({MessageEnd::kAcknowledged, qp_.adapter.id, qp_.number, 0, trail.end(), trail});
      continue;
    }
    protocol::Cqe entry = qp_.make_completion(finished.wr_id, finished.status);
    entry.opcode = static_cast<std::uint8_t>(wc_opcode(finished.opcode));
    entry.byte_length = finished.length;
    entry.wqe_counter = finished.number;
    qp_.adapter.completions.push(qp_.params.send_cq, entry, false, std::move(finished.trail));
  }
}

void ActionExecutor::on_doorbell(std::uint32_t producer, bool has_work, Trail trail) {
  Actions actions;
  qp_.requester.on_doorbell(producer, has_work, std::move(trail), actions);
  execute(actions);
}

void ActionExecutor::on_work(SendWork work) {
  if (!qp_.requester.is_flushing()) {
    work.fault = qp_.requester.check(work);
    if (work.fault == WcStatus::kSuccess) work.fault = check_names(work);
  }
  Actions actions;
  qp_.requester.on_work(std::move(work), now(), actions);
  execute(actions);
}

WcStatus ActionExecutor::check_names(SendWork& work) const {
  if (work.is_local()) return WcStatus::kSuccess;
  if (qp_.is_datagram()) {
    const auto handle = qp_.context.ahs.find(work.address_handle);
    if (handle == qp_.context.ahs.end() || handle->second.pd != qp_.params.pd) {
      return WcStatus::kLocalQpOperationError;
    }
    work.path = std::make_unique<protocol::AddressVector>(handle->second.address);
  }
  if (work.is_inline()) return WcStatus::kSuccess;
  const std::uint32_t access = work.has_response() ? std::uint32_t{ib::kLocalWrite} : 0;
  for (protocol::Sge& sge : work.sges.entries()) {
    if (sge.length == 0) continue;
    const KeyCheck key =
        qp_.adapter.keys.check(sge.lkey, qp_.context, qp_.params.pd, sge.va, sge.length, access);
    if (key.region == nullptr) return WcStatus::kLocalProtectionError;
    if (!work.has_response()) sge.va = key.address;  // a response is checked again when it is placed
  }
  return WcStatus::kSuccess;
}

void ActionExecutor::wake() {
  Actions actions;
  qp_.requester.wake(now(), actions);
  execute(actions);
}

void ActionExecutor::flush_requests() {
  stop_timers();
  drop_held();
  Actions actions;
  qp_.requester.flush_all(now(), actions);
  execute(actions);
}

Outgoing ActionExecutor::next_packet() {
  Actions actions;
  Outgoing outgoing = qp_.requester.next_packet(now(), actions);
  outgoing.qp = qp_.self;
  execute(actions);
  return outgoing;
}

void ActionExecutor::on_transmit(const Outgoing& outgoing) {
  Actions actions;
  qp_.requester.on_transmit(outgoing, now(), actions);
  execute(actions);
}

void ActionExecutor::receive(Incoming&& incoming) {
  if (lookup_ != 0) return behind_.push_back(std::move(incoming));
  deal_with(std::move(incoming));
}

void ActionExecutor::deal_with(Incoming&& incoming) {
  Actions actions;
  const Requester::Placement placement = qp_.requester.receive(*incoming.packet, now(), actions);
  execute(actions, &incoming);
  const bool is_held = placement.list != nullptr && !place(incoming, placement);
  qp_.requester.on_dealt_with();
  if (is_held) held_ = std::move(incoming);
}

bool ActionExecutor::place(Incoming& incoming, const Requester::Placement& placement) {
  Adapter& adapter = qp_.adapter;
  const ib::Packet& packet = *incoming.packet;
  if (adapter.placements.is_limited() && !looked_up_) [[unlikely]] {
    qp_.find_pieces(*placement.list, placement.offset, placement.length, qp_.context, qp_.params.pd);
    lookup_ = adapter.placements.begin(qp_.self, true, adapter.scratch_pieces, packet.trail.shared());
    if (lookup_ != 0) return false;
  }
  ib::Payload payload = packet.payload;
  if (ib::info(packet.bth.opcode).has_atomic_ack_eth) {
    const auto original = std::as_bytes(std::span(&packet.atomic_ack, 1));
    payload = {ib::PayloadBuffer::copy_of(original), 0, sizeof(packet.atomic_ack)};
  }
  const bool allowed = qp_.scatter(*placement.list, placement.offset, payload, incoming, qp_.context, qp_.params.pd,
                                   message_stream(qp_.number, true));
  Actions actions;
  qp_.requester.on_placed(packet, allowed, now(), actions);
  execute(actions, &incoming);
  return true;
}

void ActionExecutor::on_looked_up(std::uint64_t number) {
  if (number != lookup_) return;  // it has been dropped meanwhile
  lookup_ = 0;
  looked_up_ = true;
  deal_with(Incoming(std::move(held_)));
  looked_up_ = false;
  while (lookup_ == 0 && !behind_.empty()) {
    Incoming next = behind_.pop_front();
    next.packet->trail.add(now(), {qp_.adapter.id, kEarlierPackets});
    deal_with(std::move(next));
  }
}

void ActionExecutor::drop_held() {
  if (lookup_ != 0) qp_.adapter.receiver.drop(held_, DropReason::kWrongState);
  lookup_ = 0;
  while (!behind_.empty()) {
    Incoming incoming = behind_.pop_front();
    qp_.adapter.receiver.drop(incoming, DropReason::kWrongState);
  }
}

void ActionExecutor::stop_timers() {
  ack_deadline_ = kNever;
  ack_timer_.cancel();
  rnr_timer_.cancel();
}

void ActionExecutor::arm_ack_timer(Duration interval) {
  // IBA 9.7.6.1.3: the timer expires after one to four times the configured time.
  const std::int64_t factor =
      1 + qp_.adapter.choices.choose(freedom::kAckTimeout, qp_.adapter.id, freedom::kAckTimeoutFactors);
  ack_deadline_ = now() + interval * factor;
  if (!ack_timer_.scheduled()) ack_timer_.schedule_at(ack_deadline_);
}

void ActionExecutor::on_ack_timer() {
  if (ack_deadline_ > now()) return ack_timer_.schedule_at(ack_deadline_);
  Actions actions;
  qp_.requester.on_ack_timeout(now(), actions);
  execute(actions);
}

void ActionExecutor::on_rnr_timer() {
  Actions actions;
  qp_.requester.on_rnr_timeout(now(), actions);
  execute(actions);
}

}  // namespace verbatim::hca
