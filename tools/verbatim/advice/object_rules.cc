// Queue pairs and numbers that end or are used again, connections that are not established, events that are
// missed.
#include <algorithm>
#include <optional>
#include <string>

#include "sim/core/time_text.h"
#include "sim/core/words.h"
#include "tools/verbatim/advice/rules.h"

namespace verbatim::cli::rules {

namespace {

using observe::number_of;
using observe::TraceLine;

constexpr std::string_view kLastWqeReached = "16", kSrqLimitReached = "15";  // of ibv_event_type

bool changes_to(const ThreadCall& call, std::string_view state) {
  return call.name == "ibv_modify_qp" && call.arguments.find(", " + std::string(state)) != std::string::npos;
}

bool is_receive(const Evidence& evidence, const TraceLine& completion) {
  return !evidence.is_of_send(completion);
}

// Whether the queue pair that this call moves to RTS is that of the side that accepts: its next message of connection
// management is a REP. The other side moves it in the call of rdma_get_cm_event that returns RDMA_CM_EVENT_ESTABLISHED.
bool sends_reply(const Evidence& evidence, const ThreadCall& change) {
  constexpr std::string_view kConnectionClass = "1795", kReply = "19";
  const auto next = std::ranges::find_if(evidence.trace(), [&](const TraceLine& line) {
    return line.time_ps >= change.begin_ps && line.event == "datagram-sent" && line.component == "hca/" + change.host &&
           line.value("class_method") == kConnectionClass;
  });
  return next != evidence.trace().end() && next->value("attribute") == kReply;
}

// The completion that this poll has returned, if it is the only one.
const TraceLine* completion_of(const Evidence& evidence, const ThreadCall& poll) {
  const auto completions = evidence.completions_of(poll);
  return completions.size() == 1 ? completions.front() : nullptr;
}

}  // namespace

Found number_used_again(const Evidence& evidence) {
  // The latest number that is used again first.
  for (auto difference = evidence.differences().rbegin(); difference != evidence.differences().rend();
       ++difference) {
    const explore::Decision& decision = difference->decision;
    if (decision.site != "queue-pair-number") continue;
    const std::string host = host_in(decision.actor);
    const auto made = std::ranges::find_if(evidence.calls(), [&](const ThreadCall& call) {
      return call.host == host && call.name == "ibv_create_qp" && call.begin_ps <= decision.time_ps &&
             decision.time_ps <= call.end_ps;
    });
    if (made == evidence.calls().end() || !made->result.starts_with("QP ")) continue;
    const std::uint64_t qpn = observe::number_in(std::string_view(made->result).substr(3));
    const ThreadCall* ended = nullptr;
    for (const ThreadCall& call : evidence.calls()) {
      if (call.host == host && call.name == "ibv_destroy_qp" && call.begin_ps < made->begin_ps &&
          evidence.queue_pair_of(call) == qpn)
        ended = &call;
    }
    if (ended == nullptr) continue;
    const std::string again =
        join(host, " destroys QP ", qpn, " at ", time_text(ended->begin_ps),
             ", and the queue pair that it creates at ", time_text(made->begin_ps), " gets the same number");
    const ThreadCall* const batch = evidence.last_poll();
    const bool is_stale =
        batch != nullptr && batch->host == host && batch->polled() > 1 && batch->end_ps <= ended->begin_ps;
    if (is_stale) {
      return Advice{
          join(
              again, ". ", batch->text(), " has returned ", batch->polled(), " completions at ",
              time_text(batch->end_ps),
              ", before the destruction: those that the program handles after it belong to the destroyed queue pair, although qp_num "
              "equals the number of the new one"),
          "handle or discard all polled completions of a queue pair before it is destroyed, or identify the connection by wr_id with "
          "a generation number instead of qp_num"};
    }
    const auto message = std::ranges::find_if(evidence.trace(), [&](const TraceLine& line) {
      return line.event == "completion" && line.component == decision.actor &&
             number_of(line, "qpn") == qpn && line.time_ps >= made->begin_ps &&
             line.time_ps <= evidence.end().time_ps && line.value("status") == "0" &&
             is_receive(evidence, line);
    });
    if (made->arguments.starts_with("UD") && message != evidence.trace().end()) {
      return Advice{
          join(
              again, ". A datagram that the peer sends to this number arrives at ",
              time_text(message->time_ps),
              " and is taken by the new queue pair, with the same Q_Key; the peer learned of the number when the old one had it"),
          "give each queue pair a Q_Key of its own, because a datagram with another Q_Key is dropped, or tell the peers that the number is "
          "invalid, and wait for their answer, before the queue pair is destroyed"};
    }
  }
  return std::nullopt;
}

Found message_before_established(const Evidence& evidence) {
  if (evidence.end().hangs()) return std::nullopt;
  // The program handles a message when it polls its completion, or when it reads the completion channel's
  // event.
  const ThreadCall* const poll = evidence.last_poll();
  for (const std::int64_t until_ps : {evidence.end().time_ps, poll == nullptr ? -1 : poll->end_ps}) {
    const ThreadCall* accepted = nullptr;
    bool uses_cm = false;
    for (const ThreadCall& call : evidence.calls()) {
      if (!evidence.has_failed(call.pid)) continue;
      uses_cm = uses_cm || gets_cm_event(call);
      if (gets_cm_event(call) && call.has_ended() && !call.result.starts_with("-1") && call.end_ps <= until_ps)
        accepted = nullptr;
      if (changes_to(call, "RTS") && call.end_ps <= until_ps) accepted = &call;
    }
    if (!uses_cm || accepted == nullptr || !sends_reply(evidence, *accepted)) continue;
    const std::uint64_t qpn = evidence.queue_pair_of(*accepted);
    for (const TraceLine& line : evidence.trace()) {
      if (line.event != "completion" || line.component != "hca/" + accepted->host ||
          number_of(line, "qpn") != qpn)
        continue;
      if (line.time_ps < accepted->begin_ps || line.time_ps > until_ps || line.value("status") != "0" ||
          !is_receive(evidence, line))
        continue;
      return Advice{
          join(
              "a message for QP ", qpn, " of ", accepted->host, " completes at ", time_text(line.time_ps),
              ", and the program handles it before it has taken RDMA_CM_EVENT_ESTABLISHED of this connection: messages and the "
              "connection's last management datagram (RTU) travel separately, and are reported through different channels"),
          "expect messages from rdma_accept on: set up what a message needs before rdma_accept, or treat the first completion of the "
          "queue pair as a sign that the connection is established (rdma_notify with IBV_EVENT_COMM_EST then moves the event forward)",
          !evidence.differences().empty()};
    }
  }
  return std::nullopt;
}

Found completions_after_last_wqe(const Evidence& evidence) {
  const ThreadCall* const poll = evidence.last_poll();
  const TraceLine* const last = poll == nullptr ? nullptr : completion_of(evidence, *poll);
  if (last == nullptr) return std::nullopt;
  for (const TraceLine& line : evidence.trace()) {
    if (line.event != "async-event" || line.component != last->component ||
        line.value("type") != kLastWqeReached)
      continue;
    if (number_of(line, "number") != number_of(*last, "qpn") || line.time_ps > poll->end_ps ||
        last->time_ps > poll->end_ps)
      continue;
    return Advice{
        join("IBV_EVENT_QP_LAST_WQE_REACHED of QP ", number_of(line, "number"), " of ", poll->host,
             " is raised at ", time_text(line.time_ps), "; a completion of this queue pair, written at ",
             time_text(last->time_ps), ", is polled at ", time_text(poll->begin_ps),
             " only, after the event"),
        "the event says that the queue pair takes no more receives from the SRQ, not that its completions have been polled: poll the CQ "
        "until it is empty after the event, and only then forget or destroy the queue pair",
        false};
  }
  return std::nullopt;
}

Found immediate_takes_receive(const Evidence& evidence) {
  const ThreadCall* const poll = evidence.last_poll();
  const TraceLine* const last = poll == nullptr ? nullptr : completion_of(evidence, *poll);
  if (last == nullptr || !is_receive(evidence, *last)) return std::nullopt;
  // The peer's messages that take receives, and the receive that is the last one, in the order of the
  // connection.
  std::size_t index = 0;
  for (const TraceLine& line : evidence.trace()) {
    if (line.event != "completion" || line.component != last->component ||
        line.value("qpn") != last->value("qpn"))
      continue;
    if (is_receive(evidence, line)) ++index;
    if (&line == last) break;
  }
  std::optional<std::uint64_t> sender;
  const ThreadCall* message = nullptr;
  bool has_sends = false;
  for (const ThreadCall& call : evidence.calls()) {
    if (call.host == poll->host || call.name != "ibv_post_send" || call.result != "0") continue;
    const bool is_immediate = call.arguments.find("RDMA_WRITE_WITH_IMM") != std::string::npos;
    const bool is_send = call.arguments.find(", SEND") != std::string::npos;
    const bool is_list = call.arguments.find("wr_id") != call.arguments.rfind("wr_id");
    if (is_list || (sender && *sender != call.number_of("QP "))) return std::nullopt;
    sender = call.number_of("QP ");
    if (!is_immediate && !is_send) continue;
    has_sends = has_sends || is_send;
    if (--index == 0) message = &call;
    if (index == 0) break;
  }
  if (message == nullptr || !has_sends || message->arguments.find("RDMA_WRITE_WITH_IMM") == std::string::npos)
    return std::nullopt;
  return Advice{
      join("the completion that ", poll->host, " polls last, at ", time_text(poll->begin_ps),
           ", is that of a WRITE with immediate data (", message->text(), " by ", message->host,
           "): it has used up the receive with wr_id ", number_of(*last, "wr_id"),
           " and put nothing into its buffer"),
      "look at wc.opcode of a receive: IBV_WC_RECV_RDMA_WITH_IMM brings immediate data only, its bytes are at the address of the WRITE; "
      "and post a receive for each such message",
      false};
}

Found limit_not_armed_again(const Evidence& evidence) {
  for (const TraceLine& line : evidence.trace()) {
    if (line.event != "async-event" || line.value("type") != kSrqLimitReached ||
        line.time_ps > evidence.end().time_ps)
      continue;
    const std::string host = host_in(line.component);
    const bool was_armed = std::ranges::any_of(evidence.calls(), [&](const ThreadCall& call) {
      return call.host == host && call.name == "ibv_modify_srq" && call.begin_ps > line.time_ps;
    });
    const bool is_starved = std::ranges::any_of(evidence.trace(), [&](const TraceLine& one) {
      return one.component == line.component && one.event == "diagnosis" && one.time_ps > line.time_ps &&
             one.values.find("no receive is posted") != std::string::npos;
    });
    if (was_armed || !is_starved) continue;
    return Advice{
        join(
            "IBV_EVENT_SRQ_LIMIT_REACHED of SRQ ", number_of(line, "number"), " of ", host, " is raised at ",
            time_text(line.time_ps),
            "; the program does not arm the limit again, so no other event comes when the SRQ runs out of receives, and messages wait for ever"),
        "the limit is disarmed by its event: after each IBV_EVENT_SRQ_LIMIT_REACHED post receives and call ibv_modify_srq with "
        "IBV_SRQ_LIMIT again"};
  }
  return std::nullopt;
}

Found reset_discards(const Evidence& evidence) {
  for (const ThreadCall& reset : evidence.calls()) {
    if (!changes_to(reset, "RESET") || !evidence.has_failed(reset.pid)) continue;
    const std::uint64_t qpn = evidence.queue_pair_of(reset);
    std::size_t posts = 0, completions = 0;
    for (const ThreadCall& call : evidence.calls()) {
      const bool is_post = call.name == "ibv_post_recv" || call.name == "ibv_post_send";
      if (is_post && call.host == reset.host && call.number_of("QP ") == qpn &&
          call.begin_ps < reset.begin_ps && call.result == "0")
        ++posts;
    }
    for (const TraceLine& line : evidence.trace()) {
      if (line.event == "completion" && line.component == "hca/" + reset.host &&
          number_of(line, "qpn") == qpn && line.time_ps < reset.end_ps)
        ++completions;
    }
    const bool waits = std::ranges::any_of(evidence.report().sentences, [&](const std::string& text) {
      return text.find(join("QP ", qpn, " is in state RESET")) != text.npos;
    });
    if (posts <= completions || !waits) continue;
    const std::size_t lost = posts - completions;
    return Advice{
        join(reset.host, " moves QP ", qpn, " to RESET at ", time_text(reset.begin_ps), ": ", lost,
             lost == 1 ? " request" : " requests", " that ", lost == 1 ? "was" : "were",
             " posted and not complete are discarded without completions, for which the program waits"),
        "move the queue pair to ERR instead: all its requests then complete with IBV_WC_WR_FLUSH_ERR; after the last one it can go to RESET"};
  }
  return std::nullopt;
}

Found batch_of_destroyed(const Evidence& evidence) {
  const ThreadCall *batch = nullptr, *destroyed = nullptr;
  std::size_t stale = 0;
  const ThreadCall* poll = nullptr;
  for (const ThreadCall& call : evidence.calls()) {
    if (!evidence.has_failed(call.pid)) continue;
    if (poll != nullptr && call.tid == poll->tid && call.number_of("CQ ") == poll->number_of("CQ ") &&
        call.name == poll->name)
      poll = nullptr;
    if (call.polled() > 1) poll = &call;
    if (poll == nullptr || call.tid != poll->tid || call.name != "ibv_destroy_qp") continue;
    const std::uint64_t qpn = evidence.queue_pair_of(call);
    const auto completions = evidence.completions_of(*poll);
    const auto count = std::ranges::count_if(
        completions, [&](const TraceLine* line) { return number_of(*line, "qpn") == qpn; });
    if (count == 0 || static_cast<std::size_t>(count) == completions.size()) continue;
    batch = poll;
    destroyed = &call;
    stale = static_cast<std::size_t>(count);
  }
  if (batch == nullptr) return std::nullopt;
  return Advice{
      join(
          "thread ", batch->tid, " of ", batch->host, " polls ", batch->polled(),
          " completions at once from CQ ", batch->number_of("CQ "), " at ", time_text(batch->begin_ps),
          ", and destroys QP ", evidence.queue_pair_of(*destroyed), " at ", time_text(destroyed->begin_ps),
          " while it handles them: ", stale,
          stale == 1 ? " of them is a completion" : " of them are completions",
          " of this queue pair, and what is handled after the destruction finds whatever has taken its place"),
      "before a queue pair is destroyed, discard the completions of it that have been polled already; a generation number in wr_id (or in the "
      "connection's slot) tells those of an earlier connection from those of its successor",
      false};
}

Found undefined_field(const Evidence& evidence) {
  const bool is_decided =
      std::ranges::any_of(evidence.differences(), [](const Evidence::Difference& difference) {
        return difference.decision.site.starts_with("failed-completion-fields");
      });
  if (!is_decided) return std::nullopt;
  const RunReport::Finding* found = nullptr;
  for (const RunReport::Finding& finding : evidence.report().findings) {
    if (finding.check != "undefined-field" || finding.time_ps > evidence.end().time_ps) continue;
    if (evidence.end().hangs() || host_in(finding.component) == evidence.end().host) found = &finding;
  }
  if (found == nullptr) return std::nullopt;
  return Advice{
      join("at ", time_text(found->time_ps), ", on ", host_in(found->component), ", ", found->text,
           found->place.empty() ? "" : ", at " + found->place, "; in this run the field has another value"),
      "look at the status first; of a failed completion use only wr_id, status, qp_num and vendor_err, and store what the program needs "
      "about a request by its wr_id"};
}

}  // namespace verbatim::cli::rules
