#include "sim/supervisor/hang_causes.h"

#include <fmt/format.h>
#include <ucontext.h>

#include <algorithm>
#include <cstddef>

#include "sim/ib/qp_state.h"
#include "sim/supervisor/files/device_files.h"
#include "sim/supervisor/kernel/rdma_cm_file.h"
#include "sim/supervisor/machine/code_place.h"

namespace verbatim::supervisor {

namespace {

using protocol::WaitingVerb;

constexpr std::size_t kMostNamed = 3;  // queue pairs in one sentence

std::string at(Instant when) {
  const std::int64_t ns = to_ps(when) / 1000;
  return fmt::format("{}.{:03} us", ns / 1000, ns % 1000);
}

std::string text_of(Duration time) {
  const std::int64_t ns = time.count() / 1000;
  if (ns < 1000) return fmt::format("{} ns", ns);
  if (ns < 1'000'000) return fmt::format("{}.{:03} us", ns / 1000, ns % 1000);
  return fmt::format("{}.{:03} ms", ns / 1'000'000, ns / 1000 % 1000);
}

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

// The contexts of the process that are its own, with what they have.
template <class Visit>
void visit_contexts(Process& process, Visit visit) {
  for (const auto& context : process.contexts()) {
    if (context->open() && context->owner() == process.pid()) visit(*context, context->hca().inspect(context->handle()));
  }
}

std::string joined(const std::vector<std::string>& clauses) {
  std::string text;
  for (std::size_t i = 0; i < std::min(clauses.size(), kMostNamed); ++i) text += (i == 0 ? "" : "; ") + clauses[i];
  if (clauses.size() > kMostNamed) text += fmt::format("; and so {} more queue pairs", clauses.size() - kMostNamed);
  return text;
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

// librdmacm is the system's own. What it waits for is seen from its last command, and that it is the one who waits from the
// stack: the return addresses there lead through it to the program.
std::string HangCauses::in_rdma_cm(Thread& thread) const {
  Process& process = thread.process();
  std::uint32_t events = 0;
  for (const auto& [fd, file] : process.files()) {
    if (const auto* channel = dynamic_cast<const RdmaCmFile*>(file.get()); channel != nullptr) {
      events = std::max(events, channel->events_of_destroyed(thread.native_tid()));
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
    return fmt::format(", in rdma_destroy_id at {}: it waits until all {} rdma_cm events of the identifier that the program took are "
                       "acknowledged (rdma_ack_cm_event)",
                       place(process, *word), events);
  }
  return "";
}

std::string HangCauses::of_sleep(Thread& thread) const {
  Process& process = thread.process();
  const protocol::VerbWait wait = process.region().slot(thread.slot()).verb_wait;
  std::string text;
  if (name_of(wait.verb)[0] != '\0') text = verb_of(thread, wait);
  if (wait.verb >= WaitingVerb::kDestroyCq && !text.empty()) {
    const bool is_completion = wait.is_completion != 0;
    text += fmt::format(": it waits for the acknowledgement of {} that thread {} took ({})",
                        count(wait.unacknowledged, is_completion ? "completion event" : "asynchronous event"), wait.taker,
                        is_completion ? "ibv_ack_cq_events" : "ibv_ack_async_event");
    return text;
  }
  std::vector<std::string> clauses;
  visit_contexts(process, [&](DeviceContext& context, const hca::Inspection& all) {
    for (const hca::CompletionQueueState& cq : all.cqs) {
      const auto channel = context.channel(cq.channel);
      if (channel == nullptr || !std::ranges::count(thread.waiting_on(), VirtualFilePtr(channel))) continue;
      clauses.push_back(sleep_on(process, cq, all));
    }
  });
  if (text.empty() && clauses.empty()) return in_rdma_cm(thread);
  const std::string causes = joined(clauses);
  return causes.empty() ? text : text + ": " + causes;
}

std::string HangCauses::sleep_on(Process& process, const hca::CompletionQueueState& cq, const hca::Inspection& all) const {
  const std::string name = fmt::format("CQ {}", cq.number);
  if (cq.has_overrun) return name + " has overrun, and nothing completes on it any more";
  const std::string from = place(process, cq.armed_from);
  const std::string arming = from.empty() ? "ibv_req_notify_cq" : "ibv_req_notify_cq at " + from;
  if (cq.waiting == 0) {
    if (cq.asked == kNever) return name + " was never armed (ibv_req_notify_cq)";
    if (cq.answered) {
      return fmt::format("{} was not armed again (ibv_req_notify_cq) after its last event, at {}", name, at(cq.last_event));
    }
    const std::string why = nothing_comes(cq, all);
    return fmt::format("{} is armed{} and empty{}", name, cq.asked_solicited ? " for solicited completions" : "",
                       why.empty() ? "" : ": " + why);
  }
  const std::string held = fmt::format("{} holds {} that nobody has polled, {}written at {}", name, count(cq.waiting, "completion"),
                                       cq.waiting > 1 ? "the first " : "", at(cq.oldest));
  if (cq.asked == kNever) return held + ", and was never armed (ibv_req_notify_cq)";
  if (cq.answered) return fmt::format("{}, and it was not armed again (ibv_req_notify_cq) after its last event, at {}", held, at(cq.last_event));
  if (cq.old > 0 && cq.oldest <= cq.asked) {
    return fmt::format("{}, {} before {} armed it: what is there before raises no event, so it must be polled once more after arming",
                       held, text_of(cq.asked - cq.oldest), arming);
  }
  if (cq.asked_solicited) return fmt::format("{}, but {} armed it for solicited completions alone", held, arming);
  return held;
}

std::string HangCauses::of_polls(Thread& thread, std::span<const PolledQueue> queues) const {
  Process& process = thread.process();
  std::string text;
  // The return address of the poll lies on the stack.
  constexpr unsigned kStackRegister = 4, kFrameRegister = 5;
  std::uint64_t address = 0;
  const std::uint64_t stack = process.region().slot(thread.slot()).poll_registers[kStackRegister];
  if (process.memory().read(stack, std::as_writable_bytes(std::span(&address, 1)))) {
    const std::uint64_t frame = process.region().slot(thread.slot()).poll_registers[kFrameRegister];
    if (const std::string where = place(process, address); !where.empty())
      text = " at " + where + callers(process, {address, stack + sizeof address, frame});
  }
  std::vector<std::string> clauses;
  for (const PolledQueue& polled : queues) {
    if (polled.context < 1 || polled.context > process.contexts().size()) continue;
    DeviceContext& context = *process.contexts()[polled.context - 1];
    if (!context.open() || context.owner() != process.pid()) continue;
    const hca::Inspection all = context.hca().inspect(context.handle());
    const auto cq = std::ranges::find(all.cqs, polled.number, &hca::CompletionQueueState::number);
    if (cq == all.cqs.end() || cq->waiting != 0) continue;
    const std::string why = cq->has_overrun ? "it has overrun, and nothing completes on it any more" : nothing_comes(*cq, all);
    if (!why.empty()) clauses.push_back(queues.size() > 1 ? fmt::format("CQ {}: {}", cq->number, why) : why);
  }
  const std::string causes = joined(clauses);
  return causes.empty() ? text : text + ": " + causes;
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
        peer = {other, fmt::format("QP {} of {}", other.number, process->host().name), true};
      }
    });
  }
  return peer;
}

std::string HangCauses::why_no_send(const hca::QueuePairState& qp) const {
  const std::string name = fmt::format("QP {}", qp.number);
  const std::string sends = fmt::format("{} has {} posted", name, count(qp.sends, "send"));
  if (qp.sends == 0) return qp.last_is_unsignaled ? fmt::format("{}: its last send was not signaled, so it completes without an entry", name) : "";
  if (qp.state < ib::QpState::kRts) return fmt::format("{} and is in state {}: nothing is sent before RTS", sends, ib::name_of(qp.state));
  const Peer peer = peer_of(qp);
  // It may be trying again just now.
  const bool is_starved = peer.is_known && peer.state.receives == 0 && peer.state.type != ib::QpType::kXrcSend;
  if (qp.waits_for_receive || (qp.rnr_naks > 0 && is_starved)) {
    return fmt::format("{}, and its peer{} has no receive posted for {} ({} so far)", sends,
                       peer.is_known ? ", " + peer.title + "," : "", qp.sends == 1 ? "it" : "them", count(qp.rnr_naks, "RNR NAK"));
  }
  if (qp.timeouts > 0 || !peer.is_known) {
    const std::string dropped = dropped_to({qp.peer});
    if (!dropped.empty()) return fmt::format("{}: {}", sends, dropped);
    if (!qp.peer.empty() && !peer.is_known) return fmt::format("{}, and its peer ({}) does not exist (any more)", sends, qp.peer);
  }
  if (peer.is_known && peer.state.state < ib::QpState::kRtr) {
    return fmt::format("{}, and its peer, {}, is in state {}: what comes before RTR is dropped{}", sends, peer.title,
                       ib::name_of(peer.state.state), qp.sends_again ? "" : "; with timeout 0 nothing is sent again");
  }
  if (qp.signaled == 0) return fmt::format("{}, none of them signaled, so they complete without an entry", sends);
  return sends + " that nobody has answered yet";
}

std::string HangCauses::why_no_message(const hca::QueuePairState& qp, bool* is_usual) const {
  *is_usual = false;
  const std::string name = fmt::format("QP {}", qp.number);
  if (qp.state == ib::QpState::kErr) return fmt::format("{} is in state ERR", name);
  const Peer peer = peer_of(qp);
  if (qp.state < ib::QpState::kRtr) {
    return fmt::format("{} is in state {}: nothing is received before RTR", name, ib::name_of(qp.state));
  }
  if (qp.receives == 0 && qp.type != ib::QpType::kXrcSend) {
    const std::string whose = qp.srq != 0 ? fmt::format("SRQ {} of {}", qp.srq, name) : name;
    const bool is_awaited = peer.is_known && peer.state.rnr_naks > 0 && peer.state.sends > 0;
    return fmt::format("{} has no receive posted{}", whose,
                       is_awaited ? fmt::format(", and its peer, {}, has {} for it ({} so far)", peer.title,
                                                count(peer.state.sends, "message"), count(peer.state.rnr_naks, "RNR NAK"))
                                  : "");
  }
  if (qp.peer.empty()) {
    const std::string dropped = dropped_to(qp.names);
    *is_usual = dropped.empty();
    return fmt::format("{} has {} posted and no message comes{}", name, count(qp.receives, "receive"), dropped.empty() ? "" : ": " + dropped);
  }
  if (!peer.is_known) return fmt::format("{}'s peer ({}) does not exist (any more)", name, qp.peer);
  if (peer.state.sends > 0 && peer.state.state < ib::QpState::kRts) {
    return fmt::format("{}'s peer, {}, has {} posted and is in state {}: nothing is sent before RTS", name, peer.title,
                       count(peer.state.sends, "send"), ib::name_of(peer.state.state));
  }
  if (peer.state.state == ib::QpState::kErr) return fmt::format("{}'s peer, {}, is in state ERR", name, peer.title);
  if (peer.state.sends > 0) {
    const std::string dropped = dropped_to(qp.names);
    return fmt::format("{}'s peer, {}, has {} posted that have not come{}", name, peer.title, count(peer.state.sends, "send"),
                       dropped.empty() ? "" : ": " + dropped);
  }
  *is_usual = true;
  return fmt::format("{} has {} posted, and its peer, {}, has nothing more to send", name, count(qp.receives, "receive"), peer.title);
}

std::string HangCauses::nothing_comes(const hca::CompletionQueueState& cq, const hca::Inspection& all) const {
  std::vector<std::string> wrong, usual;
  bool has_users = false;
  for (const hca::QueuePairState& qp : all.qps) {
    if (qp.send_cq != cq.number && qp.recv_cq != cq.number) continue;
    has_users = true;
    const std::string of_sends = qp.send_cq == cq.number ? why_no_send(qp) : "";
    if (!of_sends.empty()) wrong.push_back(of_sends);
    if (qp.recv_cq != cq.number) continue;
    bool is_usual = false;
    std::string of_receives = why_no_message(qp, &is_usual);
    if (of_receives.empty() || (!of_sends.empty() && is_usual)) continue;
    (is_usual ? usual : wrong).push_back(std::move(of_receives));
  }
  if (!has_users) return "no queue pair completes there";
  return joined(wrong.empty() ? usual : wrong);
}

}  // namespace verbatim::supervisor
