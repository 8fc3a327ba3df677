#include "sim/supervisor/hang_causes.h"

#include <fmt/format.h>
#include <ucontext.h>

#include <algorithm>
#include <cstddef>

#include "sim/core/time_text.h"
#include "sim/hca/inspector.h"
#include "sim/ib/qp_state.h"
#include "sim/supervisor/files/device_files.h"
#include "sim/supervisor/kernel/rdma_cm_file.h"
#include "sim/supervisor/machine/code_place.h"
#include "sim/supervisor/net/tcp.h"

namespace verbatim::supervisor {

namespace {

using protocol::WaitingVerb;

std::string count(std::uint64_t number, const char* what) { return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s"); }

const char* name_of(WaitingVerb verb) {
  switch (verb) {
    case WaitingVerb::kGetCqEvent:
      return "ibv_get_cq_event";
    case WaitingVerb::kGetAsyncEvent:
      return "ibv_get_async_event";
    case WaitingVerb::kDestroyCq:
      return "ibv_destroy_cq";
    case WaitingVerb::kDestroyQp:
      return "ibv_destroy_qp";
    case WaitingVerb::kDestroySrq:
      return "ibv_destroy_srq";
    case WaitingVerb::kDestroyWq:
      return "ibv_destroy_wq";
    case WaitingVerb::kNone:
      break;
  }
  return "";
}

// Visits the open device contexts that the process itself opened (not those inherited by fork), with
// their queue states.
template <class Visit>
void visit_contexts(Process& process, Visit visit) {
  for (DeviceContext* const context : process.devices().own())
    visit(*context, context->hca().inspector().inspect(context->handle()));
}

}  // namespace

std::string HangCauses::place(Process& process, std::uint64_t address) const {
  return place_of_call(process.native_pid(), address);
}

std::string HangCauses::callers(Process& process, const StackStart& start) const {
  return callers_text(process.native_pid(), start.address, start,
                      [&process](std::uint64_t address) { return process.memory().load<std::uint64_t>(address); });
}

std::string HangCauses::verb_of(Thread& thread, const protocol::VerbWait& wait) const {
  std::string text = std::string(", in ") + name_of(wait.verb);
  if (wait.number != 0) text += fmt::format(" of {} {}", wait.verb == WaitingVerb::kDestroyCq ? "CQ" : "QP", wait.number);
  const std::string where = place(thread.process(), wait.caller);
  if (!where.empty()) text += " at " + where + callers(thread.process(), {wait.caller, wait.stack, wait.frame});
  return text;
}

// Detects a wait in rdma_destroy_id. librdmacm is the system's library and does not report its waits:
// the last command on its event channel and the return addresses on the stack (librdmacm, then the
// program) identify it.
std::string HangCauses::in_rdma_cm(Thread& thread) const {
  Process& process = thread.process();
  std::uint32_t events = 0;
  for (const auto& [fd, file] : process.files().all()) {
    if (const RdmaCmFile* const channel = file->as_rdma_cm(); channel != nullptr) {
      events = std::max(events, channel->events_of_destroyed(thread.native.tid));
    }
  }
  const std::uint64_t context = process.region().slot(thread.slot()).context_address;
  if (events == 0 || context == 0) return "";
  const auto stack = process.memory().load<std::uint64_t>(context + offsetof(ucontext_t, uc_mcontext.gregs[REG_RSP]));
  constexpr std::uint64_t kWords = 128;
  bool is_inside = false;
  for (std::uint64_t i = 0; stack && i < kWords; ++i) {
    const auto word = process.memory().load<std::uint64_t>(*stack + i * sizeof(std::uint64_t));
    if (!word) break;
    const std::string found = place_in_files(process.native_pid(), *word);
    if (found.starts_with("librdmacm.")) is_inside = true;
    if (!is_inside || found.starts_with("lib") || found.starts_with("0x") || found.starts_with('[')) continue;
    return fmt::format(", in rdma_destroy_id at {}: rdma_destroy_id returns only when {} of the identifier that the program took {} been "
                       "acknowledged (rdma_ack_cm_event)",
                       place(process, *word), count(events, "rdma_cm event"), events == 1 ? "has" : "have");
  }
  return "";
}

void HangCauses::excuse_idle(std::vector<Clause>& clauses) {
  if (std::ranges::count(clauses, WaitCause::kAwaited, &Clause::cause) == 0) return;
  for (Clause& clause : clauses) {
    if (clause.is_idle) clause.cause = WaitCause::kUnknown;
  }
}

void HangCauses::explain_by(WaitReason& reason, const std::vector<Clause>& clauses) {
  constexpr std::size_t kMostNamed = 3;  // clauses in one sentence
  std::vector<const Clause*> shown;
  for (const Clause& clause : clauses) shown.push_back(&clause);
  std::ranges::stable_sort(shown, std::greater(), &Clause::cause);
  for (std::size_t i = 0; i < std::min(shown.size(), kMostNamed); ++i)
    reason.explanation += (reason.explanation.empty() ? "" : "; ") + shown[i]->text;
  if (shown.size() > kMostNamed) reason.explanation += fmt::format("; likewise {} more queue pairs", shown.size() - kMostNamed);
  for (const Clause& clause : clauses) {
    reason.cause = std::max(reason.cause, clause.cause);
    const bool is_new = clause.waits_for != 0 && !std::ranges::count(reason.waits_for, clause.waits_for);
    if (is_new) reason.waits_for.push_back(clause.waits_for);
  }
}

WaitReason HangCauses::of_sleep(Thread& thread) const {
  Process& process = thread.process();
  const protocol::VerbWait wait = process.region().slot(thread.slot()).verb_wait;
  WaitReason reason;
  if (name_of(wait.verb)[0] != '\0') reason.place = verb_of(thread, wait);
  if (wait.verb >= WaitingVerb::kDestroyCq && !reason.place.empty()) {
    const bool is_completion = wait.is_completion != 0;
    reason.explanation =
        fmt::format("{} returns only when {} that thread {} took {} been acknowledged ({})", name_of(wait.verb),
                    count(wait.unacknowledged, is_completion ? "completion event" : "asynchronous event"), wait.taker,
                    wait.unacknowledged == 1 ? "has" : "have", is_completion ? "ibv_ack_cq_events" : "ibv_ack_async_event");
    reason.cause = WaitCause::kOwn;
    return reason;
  }
  std::vector<Clause> clauses;
  visit_contexts(process, [&](DeviceContext& context, const hca::Inspection& all) {
    for (const hca::CompletionQueueState& cq : all.cqs) {
      const auto channel = context.channel(cq.channel);
      if (channel == nullptr || !std::ranges::count(thread.wait.files(), VirtualFilePtr(channel))) continue;
      clauses.push_back(sleep_on(process, cq, all, wait.verb == WaitingVerb::kGetCqEvent));
    }
  });
  if (reason.place.empty() && clauses.empty()) {
    if (std::string text = in_rdma_cm(thread); !text.empty()) {
      const std::size_t colon = text.find(": rdma_destroy_id");
      reason.place = text.substr(0, colon);
      reason.explanation = text.substr(colon + 2);
      reason.cause = WaitCause::kOwn;
    } else if (const std::uint32_t peer = tcp_peer_of(thread); peer != 0) {
      reason.cause = WaitCause::kAwaited;
      reason.waits_for.push_back(peer);
    }
    return reason;
  }
  excuse_idle(clauses);
  explain_by(reason, clauses);
  return reason;
}

std::uint32_t HangCauses::tcp_peer_of(Thread& thread) const {
  if (thread.wait.files().size() != 1) return 0;
  const TcpSocket* const socket = thread.wait.files().front()->as_tcp_socket();
  if (socket == nullptr || socket->state() != TcpSocket::State::kConnected) return 0;
  for (const auto& process : processes_) {
    if (!process->alive || process.get() == &thread.process()) continue;
    for (const auto& [fd, file] : process->files().all()) {
      const TcpSocket* const other = file->as_tcp_socket();
      const bool is_peer = other != nullptr && other != socket && other->state() == TcpSocket::State::kConnected &&
                           other->local() == socket->remote() && other->remote() == socket->local();
      if (is_peer) return process->pid();
    }
  }
  return 0;
}

HangCauses::Clause HangCauses::sleep_on(Process& process, const hca::CompletionQueueState& cq, const hca::Inspection& all,
                                        bool is_awaited) const {
  const std::string name = fmt::format("CQ {}", cq.number);
  const auto own = [](std::string text) { return Clause{std::move(text), WaitCause::kOwn}; };
  if (cq.has_overrun) return own(name + " has overrun, so nothing completes on it any more");
  const std::string from = place(process, cq.armed_from);
  const std::string arming = from.empty() ? "ibv_req_notify_cq" : "ibv_req_notify_cq at " + from;
  if (cq.waiting == 0) {
    // A program that waits for many files with poll(2) or epoll may do without the events of one of them.
    const WaitCause cause = is_awaited ? WaitCause::kOwn : WaitCause::kUnknown;
    if (cq.asked == kNever) return {name + " was never armed (ibv_req_notify_cq)", cause};
    if (cq.answered) {
      return {fmt::format("{} was not armed again (ibv_req_notify_cq) after its last event, at {}", name, time_text(cq.last_event)), cause};
    }
    WaitReason reason;
    const std::vector<Clause> why = why_empty(cq, all);
    explain_by(reason, why);
    Clause clause{fmt::format("{} is armed{} and empty{}", name, cq.asked_solicited ? " for solicited completions" : "",
                              reason.explanation.empty() ? "" : ": " + reason.explanation),
                  reason.cause};
    if (!reason.waits_for.empty()) clause.waits_for = reason.waits_for.front();
    const auto is_no_mistake = [](const Clause& one) { return one.is_idle || one.cause < WaitCause::kUnfinished; };
    clause.is_idle = std::ranges::all_of(why, is_no_mistake);
    return clause;
  }
  const std::string held = fmt::format("{} holds {} that the program has not polled, {}written at {}", name, count(cq.waiting, "completion"),
                                       cq.waiting > 1 ? "the first " : "", time_text(cq.oldest));
  if (cq.asked == kNever) return own(held + ", and was never armed (ibv_req_notify_cq)");
  if (cq.answered) {
    return own(fmt::format("{}, and was not armed again (ibv_req_notify_cq) after its last event, at {}", held, time_text(cq.last_event)));
  }
  if (cq.old > 0 && cq.oldest <= cq.asked) {
    return own(fmt::format("{}, {} before {} armed it: arming raises no event for completions that are there already, so the program must "
                           "poll once more after arming",
                           held, time_text(cq.asked - cq.oldest), arming));
  }
  if (cq.asked_solicited) return own(fmt::format("{}, but {} armed it for solicited completions only", held, arming));
  return {held};
}

WaitReason HangCauses::of_polls(Thread& thread, std::span<const PolledQueue> queues) const {
  Process& process = thread.process();
  WaitReason reason;
  // The return address of the poll is at the top of the stack.
  constexpr unsigned kStackRegister = 4, kFrameRegister = 5;
  std::uint64_t address = 0;
  const std::uint64_t stack = process.region().slot(thread.slot()).poll_registers[kStackRegister];
  if (process.memory().read(stack, std::as_writable_bytes(std::span(&address, 1)))) {
    const std::uint64_t frame = process.region().slot(thread.slot()).poll_registers[kFrameRegister];
    if (const std::string where = place(process, address); !where.empty())
      reason.place = " at " + where + callers(process, {address, stack + sizeof address, frame});
  }
  std::vector<Clause> clauses;
  for (const PolledQueue& polled : queues) {
    DeviceContext* const context = process.devices().find_own(polled.context);
    if (context == nullptr) continue;
    const hca::Inspection all = context->hca().inspector().inspect(context->handle());
    const auto cq = std::ranges::find(all.cqs, polled.number, &hca::CompletionQueueState::number);
    if (cq == all.cqs.end() || cq->waiting != 0) continue;
    std::vector<Clause> of_queue = why_empty(*cq, all);
    if (cq->has_overrun) of_queue = {{"it has overrun, so nothing completes on it any more", WaitCause::kOwn}};
    for (Clause& clause : of_queue) {
      if (queues.size() > 1) clause.text = fmt::format("CQ {}: {}", cq->number, clause.text);
      clauses.push_back(std::move(clause));
    }
  }
  excuse_idle(clauses);
  explain_by(reason, clauses);
  return reason;
}

std::string HangCauses::dropped_to(const std::vector<std::string>& names) const {
  if (options_.dropped_to) {
    for (const std::string& name : names) {
      if (std::string text = options_.dropped_to(name); !text.empty()) return text;
    }
  }
  return "";
}

HangCauses::Peer HangCauses::peer_of(const hca::QueuePairState& qp) const {
  Peer peer;
  if (qp.peer.empty()) return peer;
  for (const auto& process : processes_) {
    if (!process->alive) continue;
    visit_contexts(*process, [&](DeviceContext&, const hca::Inspection& all) {
      for (const hca::QueuePairState& other : all.qps) {
        if (!std::ranges::count(other.names, qp.peer)) continue;
        peer = {other, fmt::format("QP {} of {}", other.number, process->host().name), process->pid(), true};
      }
    });
  }
  return peer;
}

HangCauses::Clause HangCauses::why_no_send(const hca::QueuePairState& qp) const {
  const std::string name = fmt::format("QP {}", qp.number);
  const std::string sends = fmt::format("{} has {} posted", name, count(qp.sends, "send"));
  if (qp.sends == 0) {
    if (qp.state == ib::QpState::kErr) return {fmt::format("{} is in state ERR", name)};
    if (!qp.last_is_unsignaled) return {};
    return {fmt::format("the last send of {} was not signaled, so it produces no completion", name), WaitCause::kUnfinished, 0, false, true};
  }
  if (qp.state < ib::QpState::kRts)
    return {fmt::format("{} and is in state {}: nothing is sent before RTS", sends, ib::name_of(qp.state)), WaitCause::kUnfinished};
  const Peer peer = peer_of(qp);
  const auto of_peer = [&](std::string text) { return Clause{std::move(text), WaitCause::kPeer, peer.process}; };
  // waits_for_receive is false while a retry after an RNR NAK is under way.
  const bool is_starved = peer.is_known && peer.state.receives == 0 && peer.state.type != ib::QpType::kXrcSend;
  if (qp.waits_for_receive || (qp.rnr_naks > 0 && is_starved)) {
    return of_peer(fmt::format("{}, and its peer{} has no receive posted for {} ({} so far)", sends,
                               peer.is_known ? ", " + peer.title + "," : "", qp.sends == 1 ? "it" : "them", count(qp.rnr_naks, "RNR NAK")));
  }
  if (qp.timeouts > 0 || !peer.is_known) {
    const std::string dropped = dropped_to({qp.peer});
    if (!dropped.empty()) return of_peer(fmt::format("{}: {}", sends, dropped));
    if (!qp.peer.empty() && !peer.is_known) return of_peer(fmt::format("{}, and its peer ({}) does not exist", sends, qp.peer));
  }
  if (peer.is_known && peer.state.state < ib::QpState::kRtr) {
    return of_peer(fmt::format("{}, and its peer, {}, is in state {}: packets that arrive before RTR are dropped{}", sends, peer.title,
                               ib::name_of(peer.state.state), qp.sends_again ? "" : "; with timeout 0 nothing is sent again"));
  }
  if (qp.signaled == 0) return {fmt::format("{}, none of them signaled, so they produce no completions", sends), WaitCause::kOwn};
  return {sends + " that " + (qp.sends == 1 ? "has" : "have") + " not been answered yet", WaitCause::kUnknown, peer.process};
}

HangCauses::Clause HangCauses::why_no_message(const hca::QueuePairState& qp) const {
  const std::string name = fmt::format("QP {}", qp.number);
  if (qp.state == ib::QpState::kErr) return {fmt::format("{} is in state ERR", name)};
  const Peer peer = peer_of(qp);
  const auto of_peer = [&](std::string text) { return Clause{std::move(text), WaitCause::kPeer, peer.process}; };
  const auto awaits = [&](std::string text) { return Clause{std::move(text), WaitCause::kAwaited, peer.process}; };
  if (qp.state < ib::QpState::kRtr)
    return {fmt::format("{} is in state {}: nothing is received before RTR", name, ib::name_of(qp.state)), WaitCause::kUnfinished, 0, false, true};
  if (qp.receives == 0 && qp.type != ib::QpType::kXrcSend) {
    const std::string whose = qp.srq != 0 ? fmt::format("SRQ {} of {}", qp.srq, name) : name;
    // All that a reliable peer has sent has arrived: a receive alone would not end the wait.
    if (peer.is_known && peer.state.sends == 0 && peer.state.type == ib::QpType::kRc && peer.state.state == ib::QpState::kRts) {
      return {fmt::format("{} has no receive posted, and its peer, {}, has no send posted", whose, peer.title), WaitCause::kAwaited,
              peer.process, true};
    }
    if (!peer.is_known || peer.state.rnr_naks == 0 || peer.state.sends == 0)
      return {whose + " has no receive posted", WaitCause::kUnfinished, peer.process, true, true};
    return {fmt::format("{} has no receive posted, and its peer, {}, has {} for it ({} so far)", whose, peer.title,
                        count(peer.state.sends, "message"), count(peer.state.rnr_naks, "RNR NAK")),
            WaitCause::kOwn};
  }
  if (qp.peer.empty()) {
    const std::string dropped = dropped_to(qp.names);
    const std::string text = fmt::format("{} has {} posted, and no message arrives", name, count(qp.receives, "receive"));
    if (!dropped.empty()) return of_peer(text + ": " + dropped);
    return {text, WaitCause::kAwaited, 0, true};
  }
  if (!peer.is_known) return of_peer(fmt::format("the peer of {} ({}) does not exist", name, qp.peer));
  if (peer.state.sends > 0 && peer.state.state < ib::QpState::kRts) {
    return of_peer(fmt::format("the peer of {}, {}, has {} posted and is in state {}: nothing is sent before RTS", name, peer.title,
                               count(peer.state.sends, "send"), ib::name_of(peer.state.state)));
  }
  if (peer.state.state == ib::QpState::kErr) return awaits(fmt::format("the peer of {}, {}, is in state ERR", name, peer.title));
  if (peer.state.sends > 0) {
    const std::string dropped = dropped_to(qp.names);
    return awaits(fmt::format("the peer of {}, {}, has {} posted that {} not arrived{}", name, peer.title, count(peer.state.sends, "send"),
                              peer.state.sends == 1 ? "has" : "have", dropped.empty() ? "" : ": " + dropped));
  }
  Clause clause = awaits(fmt::format("{} has {} posted, and its peer, {}, has no send posted", name, count(qp.receives, "receive"), peer.title));
  clause.is_usual = true;
  return clause;
}

std::vector<HangCauses::Clause> HangCauses::why_empty(const hca::CompletionQueueState& cq, const hca::Inspection& all) const {
  std::vector<Clause> wrong, usual;
  bool has_users = false;
  for (const hca::QueuePairState& qp : all.qps) {
    if (qp.send_cq != cq.number && qp.recv_cq != cq.number) continue;
    has_users = true;
    Clause of_sends = qp.send_cq == cq.number ? why_no_send(qp) : Clause();
    const bool has_sends = !of_sends.empty();
    // A program that polls one queue for sends and receives may do without the completions of its sends.
    const bool is_for_both = qp.send_cq == qp.recv_cq && qp.receives > 0;
    const bool is_excusable = of_sends.cause >= WaitCause::kUnfinished && qp.state >= ib::QpState::kRts;
    if (is_for_both && is_excusable) of_sends.cause = WaitCause::kUnknown;
    if (has_sends) wrong.push_back(std::move(of_sends));
    if (qp.recv_cq != cq.number) continue;
    Clause of_receives = why_no_message(qp);
    if (has_sends && qp.state == ib::QpState::kErr) continue;  // said already
    if (of_receives.empty() || (has_sends && of_receives.is_usual)) continue;
    (of_receives.is_usual ? usual : wrong).push_back(std::move(of_receives));
  }
  if (!has_users) return {{"no queue pair completes there", WaitCause::kUnfinished, 0, false, true}};
  std::vector<Clause>& all_clauses = wrong.empty() ? usual : wrong;
  const auto awaits = [](const std::vector<Clause>& clauses) {
    return std::ranges::count(clauses, WaitCause::kAwaited, &Clause::cause) > 0;
  };
  if (awaits(wrong) || awaits(usual)) {
    for (Clause& clause : all_clauses) {
      if (clause.is_idle) clause.cause = WaitCause::kUnknown;
    }
  }
  return std::move(all_clauses);
}

}  // namespace verbatim::supervisor
