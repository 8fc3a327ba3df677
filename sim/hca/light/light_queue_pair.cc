#include "sim/hca/light/light_queue_pair.h"

#include <bit>
#include <utility>

#include "sim/hca/light/light_adapter.h"
#include "sim/ib/ecn.h"
#include "sim/ib/partition.h"

namespace verbatim::hca {

using ib::QpState;

namespace {
constexpr std::uint32_t kMemoryKey = 1;  // R_Key of memory without bytes, the same in every light endpoint
}  // namespace

LightQueuePair::LightQueuePair(LightAdapter& adapter, std::uint32_t number, WorkSource& source, std::uint32_t depth)
    : Connection(adapter.component(), adapter.profile(), adapter.address(), number, ib::QpType::kRc, false),
      adapter_(adapter),
      side_{.source = source, .key = kMemoryKey, .capacity = adapter.profile().max_message_bytes},
      queue_({}, std::bit_ceil(depth), 0),
      requester_(*this, queue_, *this),
      responder_(*this, responses_, *this),
      responses_(*this, *this),
      timers_(adapter.engine(), adapter.choices(), adapter.component(), *this) {}

void LightQueuePair::connect(const SourcePath& path) {
  side_.peer_key = path.peer.key;
  attributes = attributes_of(path);
  pkey_ = address.pkey(path.pkey_index);
  path_mtu_ = ib::mtu_bytes(path.mtu);
  renew_pacer();
  set_state(QpState::kRts);
  responder_.start({attributes.rq_psn});
  requester_.start({attributes.sq_psn});
}

void LightQueuePair::renew_pacer() {
  const protocol::AddressVector& path = attributes.path;
  const std::optional<ByteTime> line = adapter_.line();
  pacer = line ? adapter_.congestion().make_pacer(*line, path.static_rate, path.service_level, address.roce) : nullptr;
  limited_since = kNever;
}

void LightQueuePair::set_state(QpState to) {
  adapter_.tracer().record(component, TraceEvent::kQpState, number, static_cast<std::uint64_t>(state_),
                           static_cast<std::uint64_t>(to));
  state_ = to;
}

std::uint32_t LightQueuePair::announce(std::uint32_t count) {
  side_.producer += count;
  CHECK(side_.producer - queue_.retired() <= queue_.entries());
  return side_.producer;
}

void LightQueuePair::on_doorbell(std::uint32_t producer, Trail trail) {
  Actions actions;
  requester_.on_doorbell(producer, false, std::move(trail), actions);
  execute(actions);
}

// The checks of IBA 9.6.1: transport, state, partition and peer; other packets are dropped in silence.
void LightQueuePair::receive(ib::PacketPtr& owned, const ib::OpcodeInfo& operation) {
  ib::Packet& packet = *owned;
  if (ib::is_notification(packet.bth.opcode)) [[unlikely]] return on_notification(packet);
  if (transport_of(packet.bth.opcode) != transport()) return adapter_.drop(packet, DropReason::kWrongTransport);
  if (!(operation.is_request ? can_receive() : state_ == QpState::kRts)) return adapter_.drop(packet, DropReason::kWrongState);
  if (!ib::do_pkeys_match(packet.bth.pkey, pkey())) return adapter_.drop(packet, DropReason::kWrongPkey);
  if (!is_from_peer(packet)) return adapter_.drop(packet, DropReason::kWrongSource);
  if (ib::ecn_of(packet) == ib::Ecn::kCongestionExperienced &&
      adapter_.congestion().on_marked(adapter_.now(), packet, number)) [[unlikely]] {
    adapter_.acknowledge(make_notification());
  }
  if ((packet.bth.fecn || packet.bth.becn) && !packet.ethernet) [[unlikely]] on_marked(packet, operation);
  if (!operation.is_request) {
    if (pacer != nullptr && pacer->wants_round_trips()) [[unlikely]] on_answer(packet);
    return to_requester(owned);
  }
  if (packet.has_telemetry.value) [[unlikely]] keep_telemetry(packet);
  to_responder(owned);
}

void LightQueuePair::stop() {
  timers_.stop();
  drop_kept(DropReason::kUnknownQp);
}

// The same as QueuePair of whole adapters.
void LightQueuePair::on_notification(const ib::Packet& packet) {
  const bool is_ethernet = packet.bth.opcode == ib::Opcode::kCongestionNotification;
  if (is_ethernet != packet.ethernet.has_value()) return adapter_.drop(packet, DropReason::kWrongTransport);
  if (!can_receive()) return adapter_.drop(packet, DropReason::kWrongState);
  if (!ib::do_pkeys_match(packet.bth.pkey, pkey())) return adapter_.drop(packet, DropReason::kWrongPkey);
  if (!is_from_peer(packet)) return adapter_.drop(packet, DropReason::kWrongSource);
  if (!is_ethernet) {
    if (packet.bth.becn) on_backward_mark(packet);
    return;
  }
  adapter_.congestion().on_notification(adapter_.now(), pacer.get());
  if (pacer != nullptr) pacer->record_rate(adapter_.tracer(), component, number, adapter_.now());
}

// The same as QueuePair of whole adapters.
void LightQueuePair::on_marked(const ib::Packet& packet, const ib::OpcodeInfo& operation) {
  if (packet.bth.becn) on_backward_mark(packet);
  if (!packet.bth.fecn) return;
  const bool is_acknowledged = operation.is_request && packet.bth.ack_request;
  adapter_.congestion().on_forward_mark(!is_acknowledged);
  if (is_acknowledged) return owe_backward_mark();
  adapter_.acknowledge(make_notification_for(packet));
}

void LightQueuePair::on_backward_mark(const ib::Packet& packet) {
  adapter_.congestion().on_backward_mark(flow_of(packet, adapter_.now()), pacer.get());
  if (pacer != nullptr) pacer->record_rate(adapter_.tracer(), component, number, adapter_.now());
}

void LightQueuePair::on_answer(const ib::Packet& packet) {
  pacer->on_answer(packet, adapter_.now());
  pacer->record_rate(adapter_.tracer(), component, number, adapter_.now());
}

std::optional<Instant> LightQueuePair::put_off_until() {
  const Instant now = adapter_.now();
  if (pacer->wants_acknowledgements()) judge_window();
  const Instant due = pacer->due(now);
  if (due <= now) return std::nullopt;
  if (limited_since == kNever) limited_since = now;
  pacer->record_rate(adapter_.tracer(), component, number, now);
  return pacer->next_check(now, due);
}

void LightQueuePair::judge_window() {
  if (is_response_next() || requester_.is_repeating()) return pacer->pass_window();
  pacer->judge_window(requester_.unacknowledged(), requester_.next_psn(), path_mtu());
}

void LightQueuePair::on_paced(const ib::Packet& packet, Instant now) {
  limited_since = kNever;
  pacer->on_sent(now, packet.wire_bytes());
  pacer->record_rate(adapter_.tracer(), component, number, now);
}

void LightQueuePair::to_responder(ib::PacketPtr& packet) {
  if (process_request(*packet)) [[unlikely]] {
    const ib::Psn psn = packet->bth.psn;
    return kept_.keep(psn, std::move(packet));
  }
  while (!kept_.empty()) [[unlikely]] {
    const std::optional<ib::PacketPtr> next = kept_.take(responder_.expected());
    if (!next) return;
    (*next)->trail.add(adapter_.now(), {component, kMissingPackets});
    process_request(**next);
  }
}

bool LightQueuePair::process_request(ib::Packet& packet) {
  Actions actions;
  Responder::Verdict verdict = responder_.receive(packet, adapter_.now(), actions);
  if (verdict.need == Responder::Need::kReceive) verdict = responder_.on_receive(side_.take_receive(), packet, actions);
  execute(actions, &packet);
  if (verdict.need == Responder::Need::kPlacement) {
    Actions placed;
    responder_.execute(packet, verdict.placement, true, placed);
    execute(placed, &packet);
  }
  return verdict.need == Responder::Need::kOthers;
}

void LightQueuePair::drop_kept(DropReason reason) {
  const auto drop = [&](const ib::PacketPtr& packet) { adapter_.drop(*packet, reason); };
  kept_.drop_all(drop);
  kept_answers_.drop_all(drop);
}

void LightQueuePair::to_requester(ib::PacketPtr& packet) {
  if (process_answer(*packet)) [[unlikely]] {
    const ib::Psn psn = packet->bth.psn;
    return kept_answers_.keep(psn, std::move(packet));
  }
  while (!kept_answers_.empty()) [[unlikely]] {
    const std::optional<ib::Psn> psn = requester_.next_kept();
    const std::optional<ib::PacketPtr> next = psn ? kept_answers_.take(*psn) : std::nullopt;
    if (!next) return;
    (*next)->trail.add(adapter_.now(), {component, kMissingResponses});
    process_answer(**next);
  }
}

bool LightQueuePair::process_answer(const ib::Packet& packet) {
  Actions actions;
  const Requester::Placement placement = requester_.receive(packet, adapter_.now(), actions);
  restart_gather_after_go_back();
  execute(actions, &packet);
  if (placement.list != nullptr) {  // a READ response: memory without bytes takes it at once
    Actions placed;
    requester_.on_placed(packet, true, adapter_.now(), placed);
    execute(placed, &packet);
  }
  requester_.on_packet_done();
  return placement.is_early;
}

// When the requester goes back, packets gathered before are not sent: gathers begin again now.
void LightQueuePair::restart_gather_after_go_back() {
  if (requester_.epoch() == epoch_) return;
  epoch_ = requester_.epoch();
  gathers_since = adapter_.now();
}

void LightQueuePair::recover(const PutOff<LightQueuePair*>& step) {
  Actions actions;
  hca::recover(step, requester_, responder_, responses_, adapter_.now(), actions);
  restart_gather_after_go_back();
  execute(actions);
}

void LightQueuePair::execute(Actions& actions, const ib::Packet* packet) {
  if (!actions.empty()) execute(actions, packet, adapter_.now());
}

void LightQueuePair::execute(Actions& actions, const ib::Packet* packet, Instant from) {
  for (const Action& action : actions) {
    switch (action.kind) {
      case Action::Kind::kFetch:
        fetch(action.number, action.count);
        break;
      case Action::Kind::kFetchMore: {
        Actions fetches;
        requester_.fetch_more(fetches);
        execute(fetches);
        break;
      }
      case Action::Kind::kComplete:
        for (std::uint32_t i = 0; i < action.count; ++i) complete(std::move(actions.finished()[action.number + i]));
        break;
      case Action::Kind::kActivate:
        adapter_.activate(*this);
        break;
      case Action::Kind::kAcknowledge:
        acknowledge(action, actions.cause());
        break;
      case Action::Kind::kDrop:
        adapter_.drop(*packet, action.reason);
        break;
      case Action::Kind::kCompleteReceive:
        complete_receive(actions.received(), actions.received().has_message ? actions.cause() : Trail());
        break;
      case Action::Kind::kArmAckTimer:
      case Action::Kind::kCancelAckTimer:
      case Action::Kind::kArmRnrTimer:
      case Action::Kind::kCancelRnrTimer:
        timers_.execute(action, from);
        break;
      case Action::Kind::kRecoverLater:
        adapter_.recover_later(action, *this);
        break;
      case Action::Kind::kRecord:
        adapter_.tracer().record(component, action.event, number, action.values[0], action.values[1], action.values[2]);
        break;
      case Action::Kind::kEnterError:
        enter_error();
        break;
      case Action::Kind::kRelease:        // the buffer is free when the packet has been handled, which is at once
      case Action::Kind::kDiagnose:       // a source learns of errors by its completions
      case Action::Kind::kRaise:          // the same
      case Action::Kind::kEndMessage:     // nothing is held back
      case Action::Kind::kCheckDrained:   // there is no SQD
      case Action::Kind::kWatchReceives:  // there is always a receive
        break;
      case Action::Kind::kTakePushed:
      case Action::Kind::kExecuteAtomic:
      case Action::Kind::kCountQkeyViolation:
      case Action::Kind::kMigratePath:
      case Action::Kind::kEnterSendError:
      case Action::Kind::kFailFatally:
        CHECK(false);  // sources make no such requests, and give their peers no right to them
    }
  }
}

void LightQueuePair::fetch(std::uint32_t first, std::uint32_t count) {
  for (std::uint32_t entry = first; entry != first + count; ++entry) {
    SendWork work = side_.next_work(number, entry);
    work.fault = requester_.check(work);
    work.trail = requester_.trail_of(entry);
    if (work.trail) [[unlikely]] {
      work.trail.add(adapter_.now(), {component, "WQE fetch: earlier work requests"});
      work.trail.set_message({component, number, entry, name_of(type), name_of(work.opcode), work.length});
    }
    Actions actions;
    requester_.on_work(std::move(work), adapter_.now(), actions);
    execute(actions);
  }
}

void LightQueuePair::complete(FinishedRequest&& finished) {
  adapter_.complete({this, finished.wr_id, finished.length, finished.status, false, std::move(finished.trail)});
}

void LightQueuePair::complete_receive(const FinishedReceive& received, Trail trail) {
  adapter_.complete({this, received.wr_id, received.bytes, received.status, true, std::move(trail)});
}

void LightQueuePair::acknowledge(const Action& action, Trail cause) {
  ib::PacketPtr packet = make_packet(make_opcode(transport(), ib::Operation::kAcknowledge), ib::Psn{action.number});
  packet->aeth = {static_cast<std::uint8_t>(action.values[0]), action.values[1]};
  adapter_.tracer().record(component, TraceEvent::kAckSent, number, action.number, action.values[0], action.values[1]);
  packet->trail = std::move(cause);
  put_backward_mark(*packet);
  adapter_.acknowledge(put_telemetry(std::move(packet)));
}

void LightQueuePair::enter_error() {
  if (state_ == QpState::kErr) return;
  set_state(QpState::kErr);
  timers_.stop();
  drop_kept(DropReason::kWrongState);
  Actions actions;
  requester_.flush_all(adapter_.now(), actions);
  execute(actions);
  responses_.abandon();
  if (const std::optional<RecvWork> current = responder_.abandon()) {
    complete_receive({current->wr_id, current->number, ib::WcStatus::kWorkRequestFlushed, false, false, 0, nullptr}, Trail());
  }
}

void LightQueuePair::on_ack_timeout() {
  Actions actions;
  requester_.on_ack_timeout(adapter_.now(), actions);
  restart_gather_after_go_back();
  execute(actions);
}

void LightQueuePair::on_rnr_timeout() {
  Actions actions;
  requester_.on_rnr_timeout(adapter_.now(), actions);
  restart_gather_after_go_back();
  execute(actions);
}

std::optional<host::ProgramAddress> LightQueuePair::check_remote(const Ref<SharedReceiveQueue>*, std::uint32_t rkey,
                                                                 std::uint64_t va, std::uint32_t length, std::uint32_t access) {
  const bool is_inside = va <= side_.capacity && length <= side_.capacity - va;
  if (rkey != side_.key || !is_inside || (access & ~SourceSide::kAccess) != 0) return std::nullopt;
  return va;
}

const Ref<SharedReceiveQueue>& LightQueuePair::target_ref() const {
  static const Ref<SharedReceiveQueue> kNone;
  return kNone;
}

std::uint32_t LightQueuePair::unused_receives() const {
  constexpr std::uint32_t kMany = 1 << 15;  // a source never lacks a receive
  return kMany;
}

}  // namespace verbatim::hca
