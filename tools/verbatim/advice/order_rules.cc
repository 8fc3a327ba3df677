// Orders that are not promised: between queue pairs, between the bytes of a message, between a reply and a
// completion.
#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "sim/core/time_text.h"
#include "sim/core/words.h"
#include "tools/verbatim/advice/rules.h"

namespace verbatim::cli::rules {

namespace {

using observe::number_of;
using observe::TraceLine;

std::string posted(const std::string& place) { return place.empty() ? "" : " (posted at " + place + ")"; }

// Whether the failed program has polled completions in this time.
bool has_polled(const Evidence& evidence, std::int64_t from_ps) {
  return std::ranges::any_of(evidence.calls(), [&](const ThreadCall& call) {
    return evidence.has_failed(call.pid) && call.polled() > 0 && call.end_ps >= from_ps;
  });
}

bool is_polled_last(const Evidence& evidence, const TraceLine& completion) {
  const ThreadCall* const poll = evidence.last_poll();
  if (poll == nullptr) return false;
  const auto polled = evidence.completions_of(*poll);
  return std::ranges::find(polled, &completion) != polled.end();
}

std::string peer_component(const Trace& trace, std::string_view receiver) {
  for (const TraceLine& line : trace) {
    if (line.component.starts_with("hca/") && line.component != receiver) return line.component;
  }
  return "";
}

}  // namespace

Found send_queue_full(const Evidence& evidence) {
  const ThreadCall* const post = evidence.last_call([](const ThreadCall& call) {
    return (call.name == "ibv_post_send" || call.name == "ibv_wr_complete") &&
           call.result.starts_with("ENOMEM");
  });
  if (post == nullptr) return std::nullopt;
  const std::uint64_t qpn = post->number_of("QP ");
  const std::string component = "hca/" + post->host;
  // Completions of this queue pair's sends that are written when the post fails, and those that come later.
  std::uint64_t send_cq = 0;
  const TraceLine* later = nullptr;
  for (const TraceLine& line : evidence.trace()) {
    if (line.event != "completion" || line.component != component || number_of(line, "qpn") != qpn) continue;
    const bool is_send = evidence.is_of_send(line);
    if (!is_send) continue;
    send_cq = number_of(line, "cqn");
    if (line.time_ps > post->begin_ps && later == nullptr) later = &line;
  }
  std::size_t unsignaled = 0;
  for (const RunReport::Finding& finding : evidence.report().findings)
    unsignaled += finding.check == "unsignaled" ? 1 : 0;
  if (unsignaled > 0) {
    return Advice{
        join(
            "on ", post->host, ", ", post->text(), " at ", time_text(post->begin_ps),
            ": the send queue is full, and none of its requests is signaled, so no completion ever frees a slot"),
        "set IBV_SEND_SIGNALED on at least one of max_send_wr requests, and poll its completion: it frees the slots of all requests "
        "before it"};
  }
  const std::string of_cq = send_cq == 0 ? "the send completion queue" : join("CQ ", send_cq);
  const ThreadCall* const seen = evidence.last_poll();
  return Advice{
      join("on ", post->host, ", ", post->text(), " at ", time_text(post->begin_ps),
           ": the send queue is full. ",
           later != nullptr ? join("The completion of an earlier request is written to ", of_cq, " at ",
                                   time_text(later->time_ps), " only")
                            : join("The completions of the requests in it have not been polled from ", of_cq),
           seen == nullptr || send_cq == 0 || seen->number_of("CQ ") == send_cq
               ? std::string()
               : join("; before, the program polled a completion from CQ ", seen->number_of("CQ "),
                      ", which does not free a slot")),
      join(
          "a slot of the send queue is free again when the completion of its request, or of a later one, has been polled; a reply or a "
          "credit of the peer can arrive earlier. Before ibv_post_send, poll ",
          of_cq, " until fewer than max_send_wr requests are outstanding")};
}

Found bytes_in_any_order(const Evidence& evidence) {
  for (const Evidence::Difference& difference : evidence.differences()) {
    const explore::Decision& decision = difference.decision;
    if (!decision.site.starts_with("placement") || host_in(decision.actor) != evidence.end().host) continue;
    // Pieces of one message: writes of the same queue pair from the decision until the end.
    std::optional<std::uint64_t> qpn;
    const TraceLine *first = nullptr, *last = nullptr;
    std::size_t pieces = 0;
    for (const TraceLine& line : evidence.trace()) {
      if (line.time_ps < decision.time_ps || line.time_ps > evidence.end().time_ps) continue;
      if (line.event != "dma-write" || line.component != decision.actor) continue;
      const auto placed = evidence.placed_by(line);
      if (!placed || (qpn && *qpn != placed->qpn)) continue;
      qpn = placed->qpn;
      if (first == nullptr) first = &line;
      last = &line;
      ++pieces;
    }
    if (pieces < 2 || has_polled(evidence, first->time_ps)) continue;
    const std::string sender = peer_component(evidence.trace(), decision.actor);
    const std::string place = evidence.places().of_post(sender, 0, first->time_ps, {});
    const std::string checks = [&]() -> std::string {
      for (const RunReport::Finding& finding : evidence.report().findings) {
        if (finding.check == "write-target")
          return join(" (check write-target: ", finding.text,
                      finding.place.empty() ? "" : ", at " + finding.place, ")");
      }
      return "";
    }();
    return Advice{
        join(
            "a message for QP ", *qpn, " of ", host_in(decision.actor), posted(place), " reaches memory in ",
            pieces, " pieces from ", time_text(first->time_ps), " to ", time_text(last->time_ps),
            "; the last one is ", last->value("length"), " bytes at ", last->value("va"),
            ". The program goes on without a completion, because it has seen other bytes of the message change",
            checks),
        "do not conclude from bytes in memory that a message is complete: wait for a completion (of a WRITE with immediate data, or of a "
        "SEND that follows the WRITE on the same queue pair), or make each part recognisable by itself, for example by a checksum"};
  }
  return std::nullopt;
}

Found queue_pairs_unordered(const Evidence& evidence) {
  const std::int64_t end_ps = evidence.end().time_ps;
  for (const Evidence::Difference& difference : evidence.differences()) {
    const std::string& site = difference.decision.site;
    const bool is_of_adapter =
        site.starts_with("gather-delay") || site.starts_with("placement") || site.starts_with("packet-fault");
    if (!is_of_adapter) continue;
    const Trace& with = evidence.trace();
    const Trace& without = difference.without.trace;
    // A message that another one of the same sender has overtaken: its bytes are in memory after the other's
    // completion or bytes in the failing run, and before it in the other run.
    for (std::size_t i = with.size(); i-- > 0;) {
      const TraceLine& signal = with[i];
      if (signal.time_ps > end_ps) continue;
      if (i < difference.first) break;
      const bool is_completion = signal.event == "completion" && signal.value("status") == "0";
      if (!is_completion && signal.event != "dma-write") continue;
      if (!evidence.end().hangs() && host_in(signal.component) != evidence.end().host) continue;
      const auto signal_of = is_completion ? std::optional(Evidence::Placed{number_of(signal, "qpn"), false})
                                           : evidence.placed_by(signal);
      if (!signal_of || signal_of->is_response) continue;
      // The last thing that the program has seen: the completion that it polled, or, if it polled none since, bytes in
      // memory.
      if (is_completion && !is_polled_last(evidence, signal)) continue;
      if (!is_completion && has_polled(evidence, signal.time_ps)) continue;
      const auto other_signal =
          std::find_if(without.begin() + static_cast<std::ptrdiff_t>(difference.first), without.end(),
                       [&](const TraceLine& line) { return line.is_same_fact(signal); });
      if (other_signal == without.end()) continue;
      for (std::size_t k = i + 1; k < with.size(); ++k) {
        const TraceLine& data = with[k];
        if (data.event != "dma-write" || data.component != signal.component) continue;
        const auto data_of = evidence.placed_by(data);
        if (!data_of || data_of->is_response || data_of->qpn == signal_of->qpn) continue;
        // Other messages show their arrival by a completion of their own.
        const TraceLine* const request =
            evidence.last_request(host_in(data.component), data_of->qpn, data.time_ps);
        const std::string_view opcode = request == nullptr ? std::string_view() : request->value("opcode");
        if (opcode.find("RDMA-Write") == opcode.npos || opcode.find("Immediate") != opcode.npos) continue;
        const bool was_before = std::any_of(without.begin(), other_signal, [&](const TraceLine& line) {
          return line.is_same_fact(data) && line.bytes == data.bytes &&
                 line.time_ps >= without[difference.first].time_ps - 10'000'000;
        });
        if (!was_before) continue;
        const std::string sender = peer_component(with, signal.component);
        const std::string what =
            is_completion ? join("the completion of a message on QP ", signal_of->qpn)
                          : join(signal.value("length"), " bytes of a message on QP ", signal_of->qpn);
        return Advice{
            join("at ", host_in(signal.component), ", ", what, " arrives at ", time_text(signal.time_ps),
                 ", before ", data.value("length"), " bytes at ", data.value("va"), " of a message on QP ",
                 data_of->qpn, ", at ", time_text(data.time_ps), ". Without decision ", difference.number,
                 " they arrive in the other order; the program of ", host_in(signal.component),
                 " takes the one for a sign of the other"),
            join("the order of messages on different queue pairs is undefined: send both on one queue pair",
                 is_completion ? "" : ", the second one with immediate data or as a SEND,",
                 " or post the second one after the completion of the first has been polled")};
      }
    }
  }
  return std::nullopt;
}

}  // namespace verbatim::cli::rules
