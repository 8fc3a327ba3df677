#include "sim/hca/datapath/queue_pair.h"

#include <atomic>
#include <utility>

#include "sim/hca/datapath/adapter.h"
#include "sim/hca/datapath/memory_window.h"
#include "sim/hca/datapath/received_frame.h"
#include "sim/hca/datapath/shared_receive_queue.h"
#include "sim/hca/freedom.h"
#include "sim/ib/ecn.h"
#include "sim/ib/group_address.h"

namespace verbatim::hca {

using ib::QpState;
using ib::WcStatus;

namespace {

// Vendor errors of mlx5, which programs print.
std::uint8_t vendor_error(WcStatus status) {
  switch (status) {
    case WcStatus::kSuccess:
      return 0;
    case WcStatus::kLocalLengthError:
      return 0x32;
    case WcStatus::kLocalQpOperationError:
      return 0x50;
    case WcStatus::kLocalProtectionError:
      return 0x52;
    case WcStatus::kRetryExceeded:
      return 0x81;
    case WcStatus::kRnrRetryExceeded:
      return 0x87;
    case WcStatus::kRemoteAccessError:
      return 0x88;
    case WcStatus::kRemoteOperationError:
      return 0x89;
    case WcStatus::kRemoteInvalidRequestError:
      return 0x8a;
    default:
      return 0xff;
  }
}

}  // namespace

QueuePair::QueuePair(Ref<QueuePair> self, Adapter& adapter, Context& context, const QueuePairParams& params,
                     const WorkQueue& send, const WorkQueue& recv)
    : Connection(adapter.id, adapter.profile, adapter.address, params.number, params.type, params.signal_all),
      self(self),
      adapter(adapter),
      context(context),
      params(params),
      send_queue(send),
      own_receives(adapter, recv, record().recv_producer, record().receive_notes),
      frame_options(params.frame_options),
      requester(*this, send_queue, *this),
      responder(*this, responses, *this),
      responses(*this, *this),
      executor(*this),
      requester_driver(*this),
      responder_driver(*this),
      target_(params.srq) {
  own_receives.restart({self, ring_epoch, {}}, recv);
}

protocol::QueuePairRecord& QueuePair::record() {
  if (context.arena == nullptr) return no_record_;
  return *reinterpret_cast<protocol::QueuePairRecord*>(
      context.arena->at(params.record_offset, sizeof(protocol::QueuePairRecord)).data());
}

std::span<std::byte> QueuePair::ring(std::uint64_t offset, std::uint64_t bytes) const {
  return bytes == 0 ? std::span<std::byte>() : context.arena->at(offset, bytes);
}

ReceiveQueue& QueuePair::receives() {
  SharedReceiveQueue* srq = target_.get();
  return srq != nullptr ? srq->receives : own_receives;
}

const Ref<CompletionQueue>& QueuePair::receive_cq() const {
  const SharedReceiveQueue* srq = target_.get();
  return srq != nullptr && srq->params.cq.get() != nullptr ? srq->params.cq : params.recv_cq;
}

TagMatching* QueuePair::tags_of(const ib::Packet& packet) const {
  const SharedReceiveQueue* srq = target_.get();
  if (srq == nullptr || srq->tags == nullptr) [[likely]] return nullptr;
  // A WRITE with immediate takes a receive of the ring and is not matched.
  return ib::info(packet.bth.opcode).has_reth ? nullptr : srq->tags.get();
}

std::uint32_t QueuePair::receive_pd() const {
  const SharedReceiveQueue* srq = target_.get();
  return srq != nullptr ? srq->params.pd : params.pd;
}

Context& QueuePair::target_owner() const {
  const SharedReceiveQueue* srq = target_.get();
  return srq != nullptr ? srq->context : context;
}

Context& QueuePair::find_owner(Context& named, std::uint32_t key) const {
  const MemoryRegion* region = adapter.keys.find(key);
  return region != nullptr ? *region->context : named;
}

QueuePair::~QueuePair() {
  requester_driver.drop_held();
  responder_driver.drop_held();
}

std::uint32_t QueuePair::on_ring(std::uint32_t producer) {
  std::optional<std::uint32_t> bytes;
  if (profile.blueflame_bytes > 0 && send_queue.entries() > 0) bytes = inline_bytes(send_queue.entry(producer - 1));
  return requester.on_ring(producer, bytes);
}

void QueuePair::receive_frame(Incoming&& incoming) {
  if (!is_raw() || !can_receive()) return incoming.drop(DropReason::kWrongState);
  responder_driver.receive(std::move(incoming));
}

void QueuePair::move_work_queue(ib::QpState to) {
  if (to == ib::QpState::kErr) return enter_error();
  if (to == state_) return;
  set_state(to);
  if (to == ib::QpState::kReset) return reset();
  responder_driver.start({});
}

std::uint32_t QueuePair::placed_bytes(const ib::Packet& frame) const { return hca::placed_bytes(frame, frame_options); }

void QueuePair::receive(Incoming&& incoming, const ib::OpcodeInfo& operation) {
  const ib::Packet& packet = *incoming.packet;
  if (ib::is_notification(packet.bth.opcode)) [[unlikely]] return on_notification(std::move(incoming));
  // IBA 9.6.1.4, 9.6.1.5: transport, state and partition; the packet is dropped in silence, and the peer's
  // timer expires.
  if (transport_of(packet.bth.opcode) != transport() || is_raw()) {
    return incoming.drop(DropReason::kWrongTransport);
  }
  // An XRC queue pair either sends requests or answers them.
  const ib::QpType wrong_xrc_side = operation.is_request ? ib::QpType::kXrcSend : ib::QpType::kXrcReceive;
  if (params.type == wrong_xrc_side) return incoming.drop(DropReason::kWrongTransport);
  const bool receives =
      operation.is_request ? can_receive() : state_ == QpState::kRts || state_ == QpState::kSqd;
  if (!receives) {
    adapter.diagnoses.on_wrong_state(*this, packet);
    return incoming.drop(DropReason::kWrongState);
  }
  if (!has_migrated() && !follow_peer(packet)) [[unlikely]] {
    return incoming.drop(DropReason::kWrongSource);
  }
  // IBA C9-41 to C9-43, 10.9.3.
  if (!ib::do_pkeys_match(packet.bth.pkey, pkey())) {
    adapter.key_guard.on_bad_pkey(packet);
    return incoming.drop(DropReason::kWrongPkey);
  }
  if (!is_datagram() && !is_from_peer(packet)) {
    return incoming.drop(DropReason::kWrongSource);
  }
  const bool is_marked = ib::ecn_of(packet) == ib::Ecn::kCongestionExperienced;
  if (is_marked || incoming.finds_full_buffer) [[unlikely]] on_congestion(packet, is_marked);
  if ((packet.bth.fecn || packet.bth.becn) && !packet.ethernet) [[unlikely]] on_marked(packet, operation);
  if (operation.is_request) {
    if (packet.has_telemetry.value) [[unlikely]] keep_telemetry(packet);
    responder_driver.receive(std::move(incoming));
  } else {
    if (pacer != nullptr && pacer->wants_round_trips()) [[unlikely]] on_answer(packet);
    requester_driver.receive(std::move(incoming));
  }
}

// The checks of every packet of a connection (IBA 9.6.1), except that of the transport, which a notification
// does not have.
void QueuePair::on_notification(Incoming&& incoming) {
  const ib::Packet& packet = *incoming.packet;
  const auto drop = [&](DropReason reason) { incoming.drop(reason); };
  const bool is_ethernet = packet.bth.opcode == ib::Opcode::kCongestionNotification;
  if (is_raw() || is_ethernet != packet.ethernet.has_value()) return drop(DropReason::kWrongTransport);
  if (is_datagram() && is_ethernet) return drop(DropReason::kWrongTransport);
  if (!can_receive()) return drop(DropReason::kWrongState);
  if (!ib::do_pkeys_match(packet.bth.pkey, pkey())) {
    adapter.key_guard.on_bad_pkey(packet);
    return drop(DropReason::kWrongPkey);
  }
  if (!is_datagram() && !is_from_peer(packet)) return drop(DropReason::kWrongSource);
  if (is_ethernet) {
    adapter.congestion.on_notification(adapter.engine.now(), pacer.get());
    if (pacer != nullptr) pacer->record_rate(adapter.tracer, adapter.id, number, adapter.engine.now());
  } else if (packet.bth.becn) {
    on_backward_mark(packet);
  }
  incoming.release(adapter.engine.now());
}

// The acknowledgement of a marked request has BECN. For other marked packets a notification is sent at once.
void QueuePair::on_marked(const ib::Packet& packet, const ib::OpcodeInfo& operation) {
  if (packet.bth.becn) on_backward_mark(packet);
  if (!packet.bth.fecn || ib::is_to_group(packet)) return;
  const bool is_acknowledged = is_reliable() && operation.is_request && packet.bth.ack_request;
  adapter.congestion.on_forward_mark(!is_acknowledged);
  if (is_acknowledged) return owe_backward_mark();
  adapter.sender.notify(make_notification_for(packet), self);
}

void QueuePair::on_backward_mark(const ib::Packet& packet) {
  const Instant now = adapter.engine.now();
  adapter.congestion.on_backward_mark(flow_of(packet, now), pacer.get());
  if (pacer != nullptr) pacer->record_rate(adapter.tracer, adapter.id, number, now);
}

void QueuePair::on_congestion(const ib::Packet& packet, bool is_marked) {
  if (is_datagram() || !packet.ethernet) return;
  const Instant now = adapter.engine.now();
  CongestionPoint& point = adapter.congestion;
  if (!(is_marked ? point.on_marked(now, packet, number) : point.on_full_buffer(now, packet, number))) return;
  adapter.sender.notify(make_notification(), self);
}

bool QueuePair::is_put_off() {
  const Instant now = adapter.engine.now();
  if (pacer->wants_acknowledgements() && is_reliable()) judge_window();
  if (pacer->due(now) <= now) return false;
  if (limited_since == kNever) limited_since = now;
  pacer->record_rate(adapter.tracer, adapter.id, number, now);
  return true;
}

void QueuePair::judge_window() {
  if (is_response_next() || requester.is_repeating()) return pacer->pass_window();
  pacer->judge_window(requester.unacknowledged(), requester.next_psn(), path_mtu());
}

void QueuePair::on_paced(const ib::Packet& packet) {
  const Instant now = adapter.engine.now();
  limited_since = kNever;
  pacer->on_sent(now, packet.wire_bytes());
  pacer->record_rate(adapter.tracer, adapter.id, number, now);
}

void QueuePair::on_answer(const ib::Packet& packet) {
  const Instant now = adapter.engine.now();
  pacer->on_answer(packet, now);
  pacer->record_rate(adapter.tracer, adapter.id, number, now);
}

void QueuePair::renew_pacer() {
  const std::optional<ByteTime> line = is_datagram() || is_raw() ? std::nullopt : adapter.sender.line();
  const protocol::AddressVector& path = attributes.path;
  pacer = line ? adapter.congestion.make_pacer(*line, path.static_rate, path.service_level, adapter.address.roce) : nullptr;
  limited_since = kNever;
}

void QueuePair::set_state(QpState to) {
  adapter.tracer.record(adapter.id, TraceEvent::kQpState, number, static_cast<std::uint64_t>(state_),
                        static_cast<std::uint64_t>(to));
  state_ = to;
}

void QueuePair::enter_send_error() {
  set_state(QpState::kSqe);
  requester_driver.flush();
}

void QueuePair::enter_error() {
  if (state_ == QpState::kErr) return;
  set_state(QpState::kErr);
  requester_driver.flush();
  responses.abandon();
  responder_driver.flush();
  // IBA 11.6.3: no more receives of the shared queue will complete here.
  if (params.srq.get() != nullptr) raise(ib::AsyncEventType::kQpLastWqeReached);
}

void QueuePair::fail_fatally() {
  if (state_ == QpState::kErr || state_ == QpState::kReset) return;
  raise(ib::AsyncEventType::kQpFatal);
  enter_error();
}

void QueuePair::reset() {
  adapter.completions.settle(number);
  ++ring_epoch;
  executor.stop_timers();
  pacer.reset();
  limited_since = kNever;
  forget_backward_mark();
  requester.reset();
  requester_driver.drop_held();
  responses.reset();
  responder_driver.drop_held();
  responder.reset();
  send_queue =
      WorkQueue(ring(params.send_offset, send_queue.size_bytes()), send_queue.entries(), send_queue.stride());
  const std::uint64_t recv_bytes = std::uint64_t{own_receives.entries()} * own_receives.stride();
  own_receives.restart({self, ring_epoch, {}}, WorkQueue(ring(params.recv_offset, recv_bytes),
                                                         own_receives.entries(), own_receives.stride()));
  record().send_producer = record().recv_producer = record().recv_doorbell_wanted = 0;
  drain_pending_ = false;
  flushed_before_ = false;
  const protocol::QpCapabilities capabilities = attributes.capabilities;
  attributes = {};
  attributes.capabilities = capabilities;
}

void QueuePair::raise(ib::AsyncEventType type) {
  if (source != nullptr) return;  // there is no program; the work source learns of errors by completions
  if (type == ib::AsyncEventType::kQpLastWqeReached && adapter.quirk_fires(Quirk::kNoLastWqe, freedom::kLastWqeEvent)) return;
  // LAST_WQE_REACHED and SQ_DRAINED mean that no more completions follow.
  adapter.completions.release_held();
  adapter.payloads.release_of(number);
  if (params.is_work_queue) {
    if (type != ib::AsyncEventType::kQpFatal) return;
    type = ib::AsyncEventType::kWqFatal;
  }
  adapter.notifier.async_event(*this, type);
}

void QueuePair::check_drained() {
  if (state_ != QpState::kSqd || !drain_pending_ || !requester.is_drained()) return;
  drain_pending_ = false;
  attributes.sq_draining = 0;
  if (attributes.en_sqd_async_notify != 0) raise(ib::AsyncEventType::kSqDrained);
}

Instant QueuePair::request_rq_doorbell(bool wanted) { return adapter.records.write_wish(*this, wanted); }

void QueuePair::write_rq_doorbell_request(bool wanted) {
  record().recv_doorbell_wanted.store(wanted ? 1 : 0, std::memory_order_release);
  if (wanted) own_receives.look_for_flush();
}

WcStatus QueuePair::execute_local(const SendWork& work) {
  if (work.opcode == protocol::WqeOpcode::kBindMemoryWindow) return bind_window(adapter, *this, work);
  return invalidate_window(adapter, *this, work.rkey) ? WcStatus::kSuccess : WcStatus::kLocalQpOperationError;
}

std::optional<host::ProgramAddress> QueuePair::check_remote(const Ref<SharedReceiveQueue>* target, std::uint32_t rkey,
                                                            std::uint64_t va, std::uint32_t length,
                                                            std::uint32_t access) {
  const auto check = [&]() -> std::optional<host::ProgramAddress> {
    const KeyCheck key = adapter.keys.check_remote(rkey, this, memory_owner(), memory_pd(), va, length, access);
    if (key.region == nullptr) return std::nullopt;
    return key.address;
  };
  if (target == nullptr || !is_xrc_receiver()) [[likely]] return check();
  const TargetScope scope(*this, *target);
  return check();
}

bool QueuePair::invalidate(std::uint32_t rkey) { return invalidate_window(adapter, *this, rkey); }

Ref<SharedReceiveQueue> QueuePair::find_target(std::uint32_t srq_number) const {
  const Ref<SharedReceiveQueue> srq = adapter.srq_by_number(srq_number);
  const bool is_of_domain = srq.get() != nullptr && srq.get()->params.domain == params.domain;
  return is_of_domain ? srq : Ref<SharedReceiveQueue>();
}

protocol::Cqe QueuePair::make_completion(std::uint64_t wr_id, WcStatus status) {
  protocol::Cqe entry{};
  entry.wr_id = wr_id;
  entry.qpn = number;
  entry.status = static_cast<std::uint8_t>(status);
  if (status == WcStatus::kWorkRequestFlushed) {
    entry.vendor_error = flushed_before_ ? 0xf9 : 0xf5;
    flushed_before_ = true;
  } else {
    entry.vendor_error = vendor_error(status);
  }
  return entry;
}

}  // namespace verbatim::hca
