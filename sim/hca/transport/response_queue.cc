#include "sim/hca/transport/response_queue.h"

#include <algorithm>
#include <utility>

#include "sim/ib/aeth.h"
#include "sim/ib/segmentation.h"

namespace verbatim::hca {

using ib::Operation;

ib::Psn ResponseQueue::end_of(ib::Psn psn, const ib::Reth& reth) const {
  return psn + ib::packet_count(reth.length, connection_.path_mtu());
}

// A requester has at most as many READs and atomics outstanding as there are resources. Those that it may
// repeat are among the newest.
void ResponseQueue::remember(const Executed& request) {
  executed_.push_back(request);
  while (executed_.size() > connection_.attributes.max_dest_rd_atomic) executed_.drop_front();
}

void ResponseQueue::add_read(ib::Psn psn, const ib::Reth& reth, const ib::Aeth& aeth,
                             const Ref<SharedReceiveQueue>& target, Actions& actions) {
  remember({Kind::kRead, psn, reth});
  Response response;
  response.kind = Kind::kRead;
  response.psn = psn;
  response.aeth = aeth;
  response.reth = reth;
  response.holds_resource = true;
  response.target = target;
  add(std::move(response), actions);
}

bool ResponseQueue::has_executed(ib::Psn psn, const ib::Reth& reth) const {
  for (std::size_t i = executed_.size(); i-- > 0;) {
    const Executed& request = executed_[i];
    const std::int32_t packets = distance(request.psn, psn);
    if (packets < 0 || distance(psn, end_of(request.psn, request.reth)) <= 0) continue;
    const std::uint64_t offset = static_cast<std::uint64_t>(packets) * connection_.path_mtu();
    return request.kind == Kind::kRead && reth.rkey == request.reth.rkey &&
           reth.va.value == request.reth.va.value + offset && offset + reth.length <= request.reth.length;
  }
  return false;
}

void ResponseQueue::repeat_read(ib::Psn psn, const ib::Reth& reth, const ib::Aeth& aeth,
                                const Ref<SharedReceiveQueue>& target, Actions& actions) {
  Response response;
  response.kind = Kind::kRead;
  response.psn = psn;
  response.aeth = aeth;
  response.reth = reth;
  response.target = target;
  // It replaces the unsent rest of the same READ, and takes over its resource. Other answers stay.
  for (std::size_t count = owed_.size(); count > 0; --count) {
    Response owed = owed_.pop_front();
    const bool is_same = owed.kind == Kind::kRead && distance(psn, owed.psn) >= 0 &&
                         distance(owed.psn, end_of(psn, reth)) > 0;
    if (!is_same) {
      owed_.push_back(std::move(owed));
    } else if (owed.holds_resource) {
      --resources_in_use_;
      response.holds_resource = true;
    }
  }
  const Duration reaction = connection_.profile.loss_recovery.read_nak_reaction;
  if (reaction > Duration::zero()) {
    response.ready = false;
    actions.recover_later(RecoveryStep::kAnswerAgain, reaction, psn, 0);
  }
  insert(std::move(response), actions);
}

void ResponseQueue::on_answer_due(ib::Psn psn, Actions& actions) {
  for (std::size_t i = 0; i < owed_.size(); ++i) {
    if (owed_[i].kind == Kind::kRead && owed_[i].psn == psn) owed_[i].ready = true;
  }
  actions.add(Action::Kind::kActivate);
}

void ResponseQueue::add(Response response, Actions& actions) {
  if (response.holds_resource) ++resources_in_use_;
  response.trail = actions.cause();
  owed_.push_back(std::move(response));
  actions.add(Action::Kind::kActivate);
}

void ResponseQueue::insert(Response response, Actions& actions) {
  if (response.holds_resource) ++resources_in_use_;
  response.trail = actions.cause();
  owed_.insert_sorted(std::move(response),
                      [](const Response& a, const Response& b) { return distance(a.psn, b.psn) >= 0; });
  actions.add(Action::Kind::kActivate);
}

void ResponseQueue::add_atomic(ib::Psn psn, const ib::Aeth& aeth, Actions& actions) {
  remember({Kind::kAtomic, psn, {}});
  Response response;
  response.kind = Kind::kAtomic;
  response.psn = psn;
  response.aeth = aeth;
  response.holds_resource = true;
  response.ready = false;
  add(std::move(response), actions);
}

void ResponseQueue::on_atomic_result(ib::Psn psn, std::uint64_t original, const Trail& trail, Actions& actions) {
  for (std::size_t i = executed_.size(); i-- > 0;) {
    if (executed_[i].kind != Kind::kAtomic || executed_[i].psn != psn) continue;
    executed_[i].known = true;
    executed_[i].result = original;
    break;
  }
  for (std::size_t i = 0; i < owed_.size(); ++i) {
    if (owed_[i].kind != Kind::kAtomic || owed_[i].psn != psn) continue;
    owed_[i].ready = true;
    owed_[i].result = original;
    owed_[i].trail = trail;
  }
  actions.add(Action::Kind::kActivate);
}

bool ResponseQueue::repeat_atomic(ib::Psn psn, const ib::Aeth& aeth, Actions& actions) {
  for (std::size_t i = 0; i < owed_.size(); ++i) {
    if (owed_[i].kind == Kind::kAtomic && owed_[i].psn == psn) return true;  // its answer is in the queue
  }
  for (std::size_t i = executed_.size(); i-- > 0;) {
    if (executed_[i].kind != Kind::kAtomic || executed_[i].psn != psn) continue;
    Response response;
    response.kind = Kind::kAtomic;
    response.psn = psn;
    response.aeth = aeth;
    response.ready = executed_[i].known;
    response.result = executed_[i].result;
    insert(std::move(response), actions);
    return true;
  }
  return false;
}

void ResponseQueue::add_acknowledgement(ib::Psn psn, const ib::Aeth& aeth, Actions& actions) {
  // IBA 9.7.5.1.2: one acknowledgement may cover several requests. Those that wait for the same response are
  // made one, so the queue is bounded by the responder resources.
  if (!owed_.empty()) {
    Response& last = owed_[owed_.size() - 1];
    if (last.kind == Kind::kAcknowledgement && ib::ack_kind(last.aeth.syndrome) == ib::AckKind::kAck) {
      owed_.pop_back();
    }
  }
  Response response;
  response.psn = psn;
  response.aeth = aeth;
  add(std::move(response), actions);
}

void ResponseQueue::discard_from(ib::Psn psn) {
  while (!owed_.empty() && distance(psn, owed_[owed_.size() - 1].psn) >= 0) {
    if (owed_[owed_.size() - 1].holds_resource) --resources_in_use_;
    owed_.pop_back();
  }
}

void ResponseQueue::discard_all() {
  owed_ = {};
  resources_in_use_ = 0;
  on_the_way_ = 0;
  ++epoch_;  // packets between here and the port are not sent
}

void ResponseQueue::abandon() {
  if (!closed_) discard_all();
}

void ResponseQueue::reset() {
  discard_all();
  executed_ = {};
  closed_ = false;
}

std::uint32_t ResponseQueue::next_packet_bytes() const {
  const Response& response = owed_.front();
  if (response.kind != Kind::kRead) return 0;
  return std::min(response.reth.length - response.offset, connection_.path_mtu());
}

Outgoing ResponseQueue::make(ib::PacketPtr packet, const Response& response, Instant now) {
  packet->trail = response.trail;
  connection_.put_backward_mark(*packet);
  connection_.add_wait(packet->trail, now, {connection_.component, "responder: earlier responses"});
  Outgoing outgoing;
  outgoing.packet = std::move(packet);
  outgoing.epoch = epoch_;
  outgoing.is_response = true;
  ++on_the_way_;
  return outgoing;
}

Outgoing ResponseQueue::next_packet(Instant now, Actions& actions) {
  if (owed_.front().kind == Kind::kRead) return next_read_packet(now, actions);
  const Response response = owed_.pop_front();
  const bool is_atomic = response.kind == Kind::kAtomic;
  const Operation operation = is_atomic ? Operation::kAtomicAcknowledge : Operation::kAcknowledge;
  ib::PacketPtr packet = connection_.make_packet(make_opcode(connection_.transport(), operation), response.psn);
  packet->aeth = response.aeth;
  packet->atomic_ack = response.result;
  Outgoing outgoing = make(std::move(packet), response, now);
  outgoing.frees_resource = response.holds_resource;
  return outgoing;
}

Outgoing ResponseQueue::next_read_packet(Instant now, Actions& actions) {
  Response& read = owed_.front();
  const ib::Segment segment = ib::next_segment(connection_.transport(), ib::MessageKind::kReadResponse,
                                               read.reth.length, read.offset, connection_.path_mtu());
  host::ProgramAddress address = 0;
  if (segment.length > 0) {
    // The region may have been deregistered since the request was checked.
    const auto found = surroundings_.check_remote(&read.target, read.reth.rkey.value,
                                                  read.reth.va.value + segment.offset, segment.length, ib::kRemoteRead);
    if (!found) return refuse_read(now, actions);
    address = *found;
  }
  Outgoing outgoing = make(connection_.make_packet(segment.opcode, read.psn), read, now);
  outgoing.packet->payload.length = segment.length;
  outgoing.packet->aeth = read.aeth;
  outgoing.needs_gather = segment.length > 0;
  outgoing.address = address;
  outgoing.work = read.reth.rkey.value;
  outgoing.offset = segment.offset;
  outgoing.frees_resource = segment.ends_message && read.holds_resource;
  read.psn = read.psn + 1;
  read.offset += segment.length;
  if (segment.ends_message) owed_.pop_front();
  return outgoing;
}

Outgoing ResponseQueue::refuse_read(Instant now, Actions& actions) {
  const Response& read = owed_.front();
  const ib::Opcode opcode = make_opcode(connection_.transport(), Operation::kAcknowledge);
  ib::PacketPtr nak = connection_.make_packet(opcode, read.psn);
  nak->aeth = {ib::nak_syndrome(ib::NakCode::kRemoteAccessError), read.aeth.msn};
  Outgoing refusal = make(std::move(nak), read, now);
  owed_ = {};
  close();
  actions.raise(ib::AsyncEventType::kQpAccessError);
  actions.add(Action::Kind::kEnterError);
  return refusal;
}

void ResponseQueue::on_transmit(const Outgoing& outgoing) {
  --on_the_way_;
  if (outgoing.frees_resource) --resources_in_use_;
}

}  // namespace verbatim::hca
