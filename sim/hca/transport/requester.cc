#include "sim/hca/transport/requester.h"

#include <algorithm>
#include <utility>

#include "sim/ib/segmentation.h"
#include "sim/ib/wire.h"

namespace verbatim::hca {

using ib::QpState;
using ib::WcStatus;
using protocol::WqeOpcode;

namespace {

// IBA 9.7.4.1.2: a requester may have at most 2^23 PSNs outstanding, or serial order would be lost.
constexpr std::int32_t kPsnWindow = (1 << 23) - 1;

ib::MessageKind kind_of(WqeOpcode opcode) {
  switch (opcode) {
    case WqeOpcode::kSendWithImm:
      return ib::MessageKind::kSendImm;
    case WqeOpcode::kSendWithInvalidate:
      return ib::MessageKind::kSendInvalidate;
    case WqeOpcode::kRdmaWrite:
      return ib::MessageKind::kWrite;
    case WqeOpcode::kRdmaWriteWithImm:
      return ib::MessageKind::kWriteImm;
    default:
      return ib::MessageKind::kSend;
  }
}

// Name of the time lost by a retransmission, from its cause and the fate of the first lost packet.
const char* name_of(RetryCause cause, TrailLoss loss) {
  const auto one_of = [loss](const char* unnamed, const char* full_buffer, const char* dead_link) {
    return loss == TrailLoss::kFullBuffer ? full_buffer : loss == TrailLoss::kDeadLink ? dead_link : unnamed;
  };
  switch (cause) {
    case RetryCause::kTimeout:
      return one_of("lost: timeout", "lost in a full buffer: timeout", "lost on a dead link: timeout");
    case RetryCause::kSequenceNak:
      return one_of("lost: sequence error", "lost in a full buffer: sequence error", "lost on a dead link: sequence error");
    case RetryCause::kRnrNak:
      return "lost: receiver not ready";
    case RetryCause::kMissingResponse:
      return one_of("lost: missing response", "lost in a full buffer: missing response", "lost on a dead link: missing response");
  }
  return "lost";
}

bool is_write(WqeOpcode opcode) {
  return opcode == WqeOpcode::kRdmaWrite || opcode == WqeOpcode::kRdmaWriteWithImm;
}

// Whether a message takes a receive at the other side.
bool needs_receive(WqeOpcode opcode) {
  return opcode <= WqeOpcode::kSendWithInvalidate || opcode == WqeOpcode::kRdmaWriteWithImm;
}

// Requests that a queue pair of a type may make (IBA 9.2.1, table 38).
bool is_allowed(ib::Transport transport, WqeOpcode opcode) {
  switch (transport) {
    case ib::Transport::kUd:
      return opcode == WqeOpcode::kSend || opcode == WqeOpcode::kSendWithImm;
    case ib::Transport::kUc:
      return opcode == WqeOpcode::kSend || opcode == WqeOpcode::kSendWithImm || is_write(opcode) ||
             opcode == WqeOpcode::kLocalInvalidate || opcode == WqeOpcode::kBindMemoryWindow;
    case ib::Transport::kXrc:
      return opcode <= WqeOpcode::kBindMemoryWindow;
    default:
      return opcode <= WqeOpcode::kAtomicWrite;
  }
}

}  // namespace

std::uint32_t Requester::on_ring(std::uint32_t producer, std::optional<std::uint32_t> inline_bytes) {
  const bool is_single = producer - std::exchange(rung_, producer) == 1;
  if (!is_single || !inline_bytes) return 0;
  const WqeLayout& layout = connection_.profile.wqe_layout;
  const std::uint32_t header = connection_.is_datagram() ? layout.datagram_header_bytes : layout.header_bytes;
  const std::uint32_t bytes = header + *inline_bytes;
  // Providers copy whole lines to the write-combining buffer (rdma-core: align(size * 16, 64)).
  constexpr std::uint32_t kLine = 64;
  return bytes <= connection_.profile.blueflame_bytes ? (bytes + kLine - 1) / kLine * kLine : 0;
}

bool Requester::takes_pushed() const {
  const std::uint32_t unsent = static_cast<std::uint32_t>(works_.size()) - cursor_;
  return connection_.state() >= QpState::kRts && fetching_ == 0 && queue_.to_fetch() == 1 &&
         unsent < connection_.profile.wqe_prefetch;
}

void Requester::on_doorbell(std::uint32_t producer, bool has_work, Trail trail, Actions& actions) {
  switch (queue_.announce(producer)) {
    case WorkQueue::Announcement::kOld:
      return;
    case WorkQueue::Announcement::kImpossible:
      return actions.add(Action::Kind::kFailFatally);
    case WorkQueue::Announcement::kNew:
      break;
  }
  if (trail) posts_.push_back({producer, std::move(trail)});
  if (!has_work || !takes_pushed()) return fetch_more(actions);
  const std::uint32_t number = queue_.fetched();
  queue_.fetch(1);
  ++fetching_;
  actions.add(Action::Kind::kTakePushed, number, 1);
}

Trail Requester::trail_of(std::uint32_t number) {
  while (!posts_.empty() && static_cast<std::int32_t>(posts_.front().producer - number) <= 0)
    posts_.pop_front();
  return posts_.empty() ? Trail() : posts_.front().trail;
}

void Requester::wake(Instant now, Actions& actions) {
  run_local(now, actions);
  fail_front_if_faulty(now, actions);
  if (queue_.to_fetch() > 0) actions.add(Action::Kind::kFetchMore);
  actions.add(Action::Kind::kActivate);
}

void Requester::flush_all(Instant now, Actions& actions) {
  ack_timer_runs_ = rnr_waiting_ = false;
  ++epoch_;
  while (!works_.empty()) {
    complete(works_.front(), WcStatus::kWorkRequestFlushed, now, actions);
    drop_front();
  }
  cursor_ = 0;
  cursor_offset_ = 0;
  responses_awaited_ = 0;
  repeats_.forget(highest_psn_);
  missing_responses_.forget(highest_psn_);
  kept_.start(repeats_.window(), highest_psn_);
  recovers_from_timeout_ = false;
  fetch_more(actions);
}

void Requester::reset() {
  ack_timer_runs_ = rnr_waiting_ = false;
  ++epoch_;
  first_sequence_ += static_cast<std::uint32_t>(works_.size());
  works_ = {};
  posts_ = {};
  rung_ = 0;
  fetching_ = 0;
  cursor_ = 0;
  cursor_offset_ = 0;
  packets_since_ack_request_ = 0;
  responses_awaited_ = 0;
  asked_again_ = migrates_ = recovers_from_timeout_ = false;
  next_psn_ = unacknowledged_ = highest_psn_ = {};
  repeats_.start(0, {});
  missing_responses_.start(0, {});
  kept_.start(0, {});
}

void Requester::start(ib::Psn first) {
  next_psn_ = unacknowledged_ = highest_psn_ = first;
  transmissions_.start(first);
  const LossRecoveryProfile& recovery = connection_.profile.loss_recovery;
  const std::uint32_t window = recovery.selective_repeat && connection_.is_reliable() ? recovery.psn_window() : 0;
  repeats_.start(window, first);
  missing_responses_.start(window, first);
  kept_.start(window, first);
  credits_.start(connection_.profile.end_to_end_credits && connection_.type == ib::QpType::kRc);
  reload_retries();
}

void Requester::reload_retries() {
  retries_left_ = connection_.attributes.retry_cnt;
  rnr_retries_left_ = connection_.attributes.rnr_retry;
  timeouts_ = 0;
  was_idle_ = false;
}

void Requester::fetch_more(Actions& actions) {
  if (connection_.state() < QpState::kRts) return;
  const std::uint32_t prefetch = connection_.profile.wqe_prefetch;
  const std::uint32_t unsent = static_cast<std::uint32_t>(works_.size()) - cursor_ + fetching_;
  if (unsent >= prefetch || queue_.to_fetch() == 0) return;
  const std::uint32_t count = queue_.run_length(prefetch);
  actions.add(Action::Kind::kFetch, queue_.fetched(), count);
  queue_.fetch(count);
  fetching_ += count;
}

TrailPart Requester::turn_of(std::uint32_t offset) const {
  return {connection_.component, offset == 0 ? "queue pair: turn" : "queue pair: earlier packets of the message"};
}

WcStatus Requester::check(const SendWork& work) const {
  if (work.fault != WcStatus::kSuccess) return work.fault;
  if (!is_allowed(connection_.transport(), work.opcode)) return WcStatus::kLocalQpOperationError;
  if (work.is_local()) return WcStatus::kSuccess;  // checked when it is executed
  if (work.length > connection_.profile.max_message_bytes) return WcStatus::kLocalLengthError;
  if (connection_.is_raw()) {
    if (work.opcode != WqeOpcode::kSend) return WcStatus::kLocalQpOperationError;
    if (work.length < ib::kEthernetBytes || work.length > connection_.path_mtu()) return WcStatus::kLocalLengthError;
  }
  if (work.has_response() && (work.is_inline() || connection_.attributes.max_rd_atomic == 0)) {
    return WcStatus::kLocalQpOperationError;
  }
  // IBA 9.8.3.1: a datagram is one packet.
  if (connection_.is_datagram() && work.length > connection_.path_mtu()) return WcStatus::kLocalLengthError;
  if (work.is_atomic() && work.length != sizeof(std::uint64_t)) return WcStatus::kLocalLengthError;
  return WcStatus::kSuccess;
}

void Requester::on_work(SendWork&& work, Instant now, Actions& actions) {
  --fetching_;
  if (is_flushing()) {
    complete(work, WcStatus::kWorkRequestFlushed, now, actions);
    queue_.retire();
  } else {
    push(std::move(work));
    run_local(now, actions);
    fail_front_if_faulty(now, actions);
    actions.add(Action::Kind::kActivate);
  }
  if (queue_.to_fetch() > 0) actions.add(Action::Kind::kFetchMore);
}

void Requester::on_own_work(SendWork&& work, Instant now, Actions& actions) {
  work.is_own = true;
  if (is_flushing()) return complete(work, WcStatus::kWorkRequestFlushed, now, actions);
  push(std::move(work));
  fail_front_if_faulty(now, actions);
  actions.add(Action::Kind::kActivate);
}

void Requester::push(SendWork&& work) {
  work.sequence = first_sequence_ + static_cast<std::uint32_t>(works_.size());
  works_.push_back(std::move(work));
}

void Requester::drop_front() {
  if (!works_.front().is_own) queue_.retire();
  works_.drop_front();
  ++first_sequence_;
}

bool Requester::has_packet() const {
  if (is_repeating()) [[unlikely]] return !rnr_waiting_ && connection_.state() <= QpState::kSqd;
  if (cursor_ >= works_.size() || rnr_waiting_) return false;
  const SendWork& work = works_[cursor_];
  if (work.fault != WcStatus::kSuccess || work.is_local()) return false;
  const QpState state = connection_.state();
  // IBA 10.3.1.5: in SQD a begun request continues, no other begins.
  if (state != QpState::kRts && !(state == QpState::kSqd && work.begun)) return false;
  // IBA 10.8.3.3: a fenced request waits for the READs and atomics before it.
  if (responses_awaited_ > 0 && work.is_fenced()) return false;
  if (work.has_response() && responses_awaited_ >= connection_.attributes.max_rd_atomic) return false;
  if (!work.begun && !credits_.may_begin(needs_receive(work.opcode))) return false;
  const std::uint32_t psns = work.has_response() ? response_psns(work) : 1;
  const std::int32_t outstanding = distance(unacknowledged_, next_psn_);
  return outstanding + static_cast<std::int32_t>(psns) <= kPsnWindow && repeats_.allows(outstanding);
}

std::uint32_t Requester::next_packet_bytes() const {
  Place place{cursor_, cursor_offset_};
  if (is_repeating()) [[unlikely]] place = place_of(repeats_.has_next() ? repeats_.next() : missing_responses_.next());
  const SendWork& work = works_[place.work];
  if (work.is_atomic_write()) return work.length;
  return work.has_response() ? 0 : std::min(work.length - place.offset, connection_.path_mtu());
}

std::uint32_t Requester::response_psns(const SendWork& work) const {
  return ib::packet_count(work.length - cursor_offset_, connection_.path_mtu());
}

void Requester::take_psns(std::uint32_t count) {
  next_psn_ = next_psn_ + count;
  if (distance(highest_psn_, next_psn_) > 0) highest_psn_ = next_psn_;
}

void Requester::finish_work(Instant now, Actions& actions) {
  ++cursor_;
  cursor_offset_ = 0;
  run_local(now, actions);
  fetch_more(actions);
}

void Requester::run_local(Instant now, Actions& actions) {
  while (cursor_ < works_.size() && works_[cursor_].is_local()) {
    SendWork& work = works_[cursor_];
    if (!work.begun) {
      if (work.fault != WcStatus::kSuccess || rnr_waiting_ || connection_.state() != QpState::kRts) return;
      if (responses_awaited_ > 0 && work.is_fenced()) return;
      work.fault = local_.execute_local(work);
      if (work.fault != WcStatus::kSuccess) return;
      work.begun = true;
      work.first_psn = next_psn_;
    }
    if (cursor_ == 0) {
      retire_local_front(now, actions);
    } else {
      ++cursor_;
    }
  }
}

void Requester::begin(SendWork& work) {
  credits_.on_begin(needs_receive(work.opcode));
  work.begun = true;
  work.first_psn = next_psn_;
  work.packets = ib::packet_count(work.length, connection_.path_mtu());
}

Outgoing Requester::next_packet(Instant now, Actions& actions) {
  if (repeats_.has_next()) [[unlikely]] return make_repeated(now, actions);
  if (missing_responses_.has_next()) [[unlikely]] return make_request_for_missing(now);
  return make_packet(now, actions);
}

Outgoing Requester::make_repeated(Instant now, Actions& actions) {
  const ib::Psn resume = next_psn_;
  seek(repeats_.next());
  Outgoing outgoing = make_packet(now, actions);
  outgoing.packet->bth.ack_request = true;
  packets_since_ack_request_ = 0;
  repeats_.on_repeated(next_psn_);
  seek(resume);
  return outgoing;
}

Outgoing Requester::make_request_for_missing(Instant now) {
  const ib::Psn first = missing_responses_.next();
  const Place place = place_of(first);
  const SendWork& work = works_[place.work];
  const ib::Psn end = missing_responses_.end_of_missing(work.end_psn());
  const std::uint64_t bytes = static_cast<std::uint64_t>(distance(first, end)) * connection_.path_mtu();
  const std::uint64_t rest = work.length - place.offset;
  Outgoing outgoing = response_request(work, first, place.offset, static_cast<std::uint32_t>(std::min(bytes, rest)), now);
  packets_since_ack_request_ = 0;
  missing_responses_.on_repeated(end);
  return outgoing;
}

Outgoing Requester::make_packet(Instant now, Actions& actions) {
  SendWork& work = works_[cursor_];
  if (!work.begun) begin(work);
  if (work.has_response()) return next_response_request(work, now, actions);
  const ib::Segment segment =
      ib::next_segment(connection_.transport(), kind_of(work.opcode), work.length, cursor_offset_, connection_.path_mtu());

  Outgoing outgoing;
  outgoing.packet = work.path == nullptr
                        ? connection_.make_packet(segment.opcode, next_psn_)
                        : connection_.make_packet(segment.opcode, next_psn_, *work.path, ib::Qpn{work.remote_qpn});
  outgoing.packet->trail = work.trail;
  connection_.add_wait(outgoing.packet->trail, now, turn_of(segment.offset));
  outgoing.epoch = epoch_;
  outgoing.work = work.sequence;
  outgoing.offset = segment.offset;
  outgoing.needs_gather = segment.length > 0 && !work.is_inline();
  ib::Packet& packet = *outgoing.packet;
  packet.payload.length = segment.length;
  if (work.is_inline() && segment.length > 0) {
    packet.payload.buffer = work.inline_data;
    packet.payload.offset = segment.offset;
  }
  const ib::OpcodeInfo& info = ib::info(segment.opcode);
  if (info.has_reth) packet.reth = {ib::RemoteVa{work.remote_va}, ib::RKey{work.rkey}, work.length};
  if (info.has_immediate) packet.immediate = work.immediate;
  if (info.has_invalidate) packet.invalidate_rkey = work.immediate;
  if (info.has_xrc_eth) packet.xrc_srqn = work.remote_srqn;
  if (info.has_deth) {
    // IBA 10.2.5: a Q_Key with the high bit set stands for the queue pair's own.
    constexpr std::uint32_t kOwnQkey = 1u << 31;
    const bool is_own = (work.remote_qkey & kOwnQkey) != 0;
    packet.deth = {is_own ? connection_.attributes.qkey : work.remote_qkey, ib::Qpn{connection_.number}};
  }
  const bool notifies = !is_write(work.opcode) || info.has_immediate;
  packet.bth.solicited = segment.ends_message && notifies && (work.flags & protocol::kWqeSolicited) != 0;
  std::uint32_t ack_every = connection_.profile.ack_every_packets;
  // The window must not be full before an acknowledgement is asked for.
  if (repeats_.is_on()) [[unlikely]] ack_every = std::min(ack_every - 1, repeats_.window() / 4 - 1) + 1;
  ++packets_since_ack_request_;
  if (!connection_.is_reliable()) {
    // No acknowledgement is sent for it.
  } else if (segment.ends_message || (ack_every > 0 && packets_since_ack_request_ >= ack_every)) {
    packet.bth.ack_request = true;
    packets_since_ack_request_ = 0;
  }

  take_psns(1);
  cursor_offset_ += segment.length;
  if (segment.ends_message) finish_work(now, actions);
  return outgoing;
}

Outgoing Requester::next_response_request(const SendWork& work, Instant now, Actions& actions) {
  Outgoing outgoing = response_request(work, next_psn_, cursor_offset_, work.length - cursor_offset_, now);
  packets_since_ack_request_ = 0;
  take_psns(response_psns(work));
  ++responses_awaited_;
  finish_work(now, actions);
  return outgoing;
}

Outgoing Requester::response_request(const SendWork& work, ib::Psn psn, std::uint32_t offset, std::uint32_t length,
                                     Instant now) {
  const ib::Operation operation = work.opcode == WqeOpcode::kRdmaRead         ? ib::Operation::kReadRequest
                                  : work.is_atomic_write()                    ? ib::Operation::kAtomicWrite
                                  : work.opcode == WqeOpcode::kAtomicFetchAdd ? ib::Operation::kFetchAdd
                                                                              : ib::Operation::kCompareSwap;
  Outgoing outgoing;
  outgoing.packet = connection_.make_packet(make_opcode(connection_.transport(), operation), psn);
  outgoing.packet->trail = work.trail;
  connection_.add_wait(outgoing.packet->trail, now, turn_of(0));
  outgoing.epoch = epoch_;
  outgoing.work = work.sequence;
  ib::Packet& packet = *outgoing.packet;
  const ib::RKey rkey{work.rkey};
  packet.xrc_srqn = work.remote_srqn;
  if (work.opcode == WqeOpcode::kRdmaRead) {
    packet.reth = {ib::RemoteVa{work.remote_va + offset}, rkey, length};
  } else if (work.is_atomic_write()) {
    packet.reth = {ib::RemoteVa{work.remote_va}, rkey, work.length};
    packet.payload = {work.inline_data, 0, work.length};
  } else if (work.opcode == WqeOpcode::kAtomicFetchAdd) {
    packet.atomic = {ib::RemoteVa{work.remote_va}, rkey, work.compare_add, 0};
  } else {
    packet.atomic = {ib::RemoteVa{work.remote_va}, rkey, work.swap, work.compare_add};
  }
  packet.bth.ack_request = true;
  return outgoing;
}

void Requester::on_transmit(const Outgoing& outgoing, Instant now, Actions& actions) {
  if (outgoing.packet->trail) [[unlikely]] {
    outgoing.packet->trail.add(now, {connection_.component, kHandedOver, TrailKind::kMark});
    if (const auto index = index_of(outgoing); index < works_.size()) works_[index].sent = outgoing.packet->trail;
  }
  if (!connection_.is_reliable()) return on_sent(*outgoing.packet, now, actions);
  ib::Packet& packet = *outgoing.packet;
  const std::uint32_t length =
      operation_of(packet.bth.opcode) == ib::Operation::kReadRequest ? packet.reth.length : 0;
  packet.retransmission =
      transmissions_.on_transmit(packet.bth.psn, ib::packet_count(length, connection_.path_mtu()));
  restart_ack_timer(actions);
}

Requester::Place Requester::place_of(ib::Psn psn) const {
  Place place;
  for (; place.work < works_.size() && works_[place.work].begun; ++place.work) {
    const SendWork& work = works_[place.work];
    if (distance(psn, work.end_psn()) > 0) {
      place.offset = static_cast<std::uint32_t>(distance(work.first_psn, psn)) * connection_.path_mtu();
      return place;
    }
    if (work.has_response()) ++place.responses;
  }
  return place;
}

void Requester::seek(ib::Psn psn) {
  const Place place = place_of(psn);
  next_psn_ = psn;
  cursor_ = place.work;
  cursor_offset_ = place.offset;
  responses_awaited_ = place.responses;
}

bool Requester::take_retry(Instant now, Actions& actions) {
  if (retries_left_ > 0) {
    --retries_left_;
  } else if (connection_.is_armed()) {
    migrates_ = true;
    reload_retries();
  } else {
    fail(WcStatus::kRetryExceeded, now, actions);
    return false;
  }
  return true;
}

void Requester::go_back(ib::Psn psn, RetryCause cause, std::uint32_t tries_left, Instant now, Actions& actions) {
  actions.record(TraceEvent::kRetransmission, psn.value, static_cast<std::uint32_t>(cause), tries_left);
  ++epoch_;  // packets made but not yet sent are made again
  packets_since_ack_request_ = 0;
  asked_again_ = cause == RetryCause::kMissingResponse;
  transmissions_.go_back(psn);
  repeats_.forget(psn);
  missing_responses_.forget(psn);
  recovers_from_timeout_ = false;
  seek(psn);
  add_to_trails(cursor_, cause, nullptr, now);
  if (std::exchange(migrates_, false)) {
    actions.add(Action::Kind::kMigratePath);
  } else {
    restart_ack_timer(actions);
  }
  actions.add(Action::Kind::kActivate);
}

void Requester::repeat_after_timeout(Instant now, Actions& actions) {
  actions.record(TraceEvent::kRetransmission, unacknowledged_.value, static_cast<std::uint32_t>(RetryCause::kTimeout),
                 retries_left_);
  asked_again_ = false;
  recovers_from_timeout_ = true;
  timeout_end_ = highest_psn_;
  add_to_trails(place_of(unacknowledged_).work, RetryCause::kTimeout, nullptr, now);
  repeat_oldest(actions);
  restart_ack_timer(actions);
}

void Requester::repeat_oldest(Actions& actions) {
  const bool is_response = works_[place_of(unacknowledged_).work].has_response();
  (is_response ? missing_responses_ : repeats_).on_missing(unacknowledged_, timeout_end_);
  actions.add(Action::Kind::kActivate);
}

void Requester::add_to_trails(std::size_t first, RetryCause cause, const char* name, Instant now) {
  for (std::size_t i = first; i < works_.size() && works_[i].begun && works_[i].trail; ++i) {
    SendWork& work = works_[i];
    // The trail has all steps of the first attempt. Later attempts are time lost.
    if (work.sent && !work.was_lost) {
      work.trail = std::move(work.sent);
      work.was_lost = true;
    }
    work.sent = {};
    const Trail::Loss loss = work.trail.take_loss();
    TrailPart part{connection_.component, name != nullptr ? name : name_of(cause, loss.why)};
    if (loss.why != TrailLoss::kUnnamed && cause != RetryCause::kRnrNak) {
      part.kind = TrailKind::kWaitFor;
      part.amount = loss.where.value;
    }
    work.trail.add(now, part);
  }
}

void Requester::restart_ack_timer(Actions& actions) {
  // IBA 9.7.6.1.3: timeout 0 disables the timer; it runs only while something is outstanding.
  const bool runs = connection_.attributes.timeout != 0 && !rnr_waiting_ && unacknowledged_ != highest_psn_;
  if (runs) {
    actions.add(Action::Kind::kArmAckTimer, ack_interval());
  } else if (ack_timer_runs_) {
    actions.add(Action::Kind::kCancelAckTimer);
  }
  ack_timer_runs_ = runs;
}

Duration Requester::ack_interval() const {
  const AckTimerProfile& timer = connection_.profile.ack_timer;
  const std::uint32_t exponent = connection_.attributes.timeout;
  const auto base = [](std::uint32_t n) { return Duration(std::int64_t{4'096'000} << n); };
  if (timer.least_exponent == 0) return base(exponent);
  const Duration whole = 2 * base(std::max(exponent, timer.least_exponent));
  if (timeouts_ > 0) return whole;
  const Duration shorter = exponent <= timer.least_exponent ? timer.first_shorter : timer.first_shorter_above;
  return std::max(whole - shorter, base(exponent));
}

void Requester::on_ack_timeout(Instant now, Actions& actions) {
  ack_timer_runs_ = false;
  const AckTimerProfile& timer = connection_.profile.ack_timer;
  if (timer.least_exponent == 0 && timer.first_expiry_is_idle && !std::exchange(was_idle_, true)) {
    return restart_ack_timer(actions);
  }
  const bool is_first = timeouts_++ == 0;
  if (timer.least_exponent > 0 && is_first && retries_left_ > 0) --retries_left_;  // the adaptive phase takes one
  if (!take_retry(now, actions)) return;
  if (repeats_.is_on() && !migrates_) return repeat_after_timeout(now, actions);
  go_back(unacknowledged_, RetryCause::kTimeout, retries_left_, now, actions);
}

void Requester::on_rnr_timeout(Instant now, Actions& actions) {
  rnr_waiting_ = false;
  add_to_trails(cursor_, RetryCause::kRnrNak, "lost: receiver not ready, timer", now);
  restart_ack_timer(actions);
  actions.add(Action::Kind::kActivate);
}

}  // namespace verbatim::hca
