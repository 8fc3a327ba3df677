// Orders that are not promised: between queue pairs, between the bytes of a message, between a reply and a
// completion.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/time_text.h"
#include "sim/core/words.h"
#include "tools/verbatim/advice/rules.h"

namespace verbatim::cli::rules {

namespace {

using observe::number_of;
using observe::TraceLine;

// " (posted at app.c:7)" for "of a message posted at app.c:7".
std::string posted(std::string_view place) {
  const std::size_t at = place.find("posted at ");
  return at == place.npos ? "" : join(" (", place.substr(at), ")");
}

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

// A message that this decision splits into pieces, as it arrives without the decision.
struct Whole {
  const TraceLine* write;
  std::uint64_t qpn;
};

std::optional<Whole> whole_message(const Evidence& evidence, const Evidence::Difference& difference) {
  const Trace& without = difference.without.trace;
  for (std::size_t i = difference.first; i < without.size(); ++i) {
    const TraceLine& line = without[i];
    if (line.event != "dma-write" || line.component != difference.decision.actor) continue;
    const auto placed = Evidence::placed_by(difference.without, line);
    if (!placed || placed->is_response) continue;
    const bool is_whole_in_both = std::ranges::any_of(evidence.trace(), [&](const TraceLine& one) {
      return one.time_ps >= difference.decision.time_ps && one.is_same_fact(line) && one.bytes == line.bytes;
    });
    if (!is_whole_in_both) return Whole{&line, placed->qpn};
  }
  return std::nullopt;
}

// The rkey of a region with IBV_ACCESS_RELAXED_ORDERING that holds these bytes; 0: there is none.
std::uint64_t relaxed_region(const Evidence& evidence, const TraceLine& write) {
  constexpr std::uint64_t kRelaxedOrdering = 1 << 20;
  const std::uint64_t va = number_of(write, "va");
  std::uint64_t rkey = 0;
  for (const TraceLine& fact : evidence.facts()) {
    if (fact.time_ps > write.time_ps) break;
    if (fact.event != "region" || fact.component != write.component ||
        fact.value("process") != write.value("process"))
      continue;
    const std::uint64_t begin = number_of(fact, "va");
    const bool is_inside = va >= begin && va - begin < number_of(fact, "length");
    if (is_inside && (number_of(fact, "access") & kRelaxedOrdering) != 0) rkey = number_of(fact, "rkey");
  }
  return rkey;
}

// A completion among those of its adapter: the `ordinal`-th of its queue pair's sends, or of its receives.
struct Completed {
  const TraceLine* line;
  std::uint64_t qpn;
  bool is_receive;
  std::size_t ordinal;
  bool is_same(const Completed& other) const {
    return qpn == other.qpn && is_receive == other.is_receive && ordinal == other.ordinal;
  }
};

// The completions that this adapter writes until then, in their order; empty if it is unknown whose they are.
std::vector<Completed> completed_by(const Evidence::Run& run, std::string_view component, std::int64_t until_ps) {
  std::vector<Completed> all;
  std::map<std::pair<std::uint64_t, bool>, std::size_t> counts;
  for (const TraceLine& line : run.trace) {
    if (line.time_ps > until_ps) break;
    if (line.event != "completion" || line.component != component) continue;
    const auto is_receive = Evidence::is_of_receive(run, line);
    if (!is_receive) return {};
    const std::uint64_t qpn = number_of(line, "qpn");
    all.push_back({&line, qpn, *is_receive, ++counts[{qpn, *is_receive}]});
  }
  return all;
}

// Number of sends that the adapter knows to be posted to the queue pair until then.
std::uint64_t posted_by(const Evidence& evidence, std::string_view component, std::uint64_t qpn, std::int64_t until_ps) {
  std::uint64_t posted = 0;
  for (const TraceLine& line : evidence.trace()) {
    if (line.time_ps > until_ps) break;
    if (line.event == "doorbell" && line.component == component && line.value("kind") == "0" && number_of(line, "number") == qpn)
      posted = number_of(line, "producer");
  }
  return posted;
}

// Two completions of a host's adapter that a decision has swapped.
struct Swapped {
  Completed message, send;  // in the failing run, in this order
};

// The first difference between the orders of completions of this adapter, if it is a message before an own send.
std::optional<Swapped> swapped_completions(const Evidence& evidence, const Evidence::Difference& difference,
                                           std::string_view component) {
  const auto with = completed_by(evidence.failing(), component, evidence.end().time_ps);
  const auto without = completed_by(difference.without, component, std::numeric_limits<std::int64_t>::max());
  std::size_t i = 0;
  while (i < with.size() && i < without.size() && with[i].is_same(without[i])) ++i;
  if (i >= with.size() || i >= without.size() || !with[i].is_receive || without[i].is_receive) return std::nullopt;
  const auto find = [](const std::vector<Completed>& all, const Completed& one) {
    return std::ranges::find_if(all, [&](const Completed& other) { return other.is_same(one); });
  };
  const auto send = find(with, without[i]);
  const bool is_message_in_both = find(without, with[i]) != without.end();
  const bool has_failed = with[i].line->value("status") != "0" || (send != with.end() && send->line->value("status") != "0");
  if (send == with.end() || !is_message_in_both || has_failed) return std::nullopt;
  // The send has been posted when the message completes.
  if (posted_by(evidence, component, send->qpn, with[i].line->time_ps) < send->ordinal) return std::nullopt;
  return Swapped{with[i], *send};
}

// A send queue of the failed program that is full at its end, from the records alone: the calls of a late failure are
// unknown.
Found send_queue_full_at_end(const Evidence& evidence) {
  if (evidence.end().hangs() || !evidence.calls().empty()) return std::nullopt;
  const std::string component = "hca/" + evidence.end().host;
  for (const TraceLine& fact : evidence.facts()) {
    if (fact.event != "queue-pair" || fact.component != component || number_of(fact, "process") != evidence.end().pid) continue;
    const std::uint64_t qpn = number_of(fact, "number"), entries = number_of(fact, "send");
    const std::uint64_t posted = posted_by(evidence, component, qpn, evidence.end().time_ps);
    const auto completed = completed_by(evidence.failing(), component, evidence.end().time_ps);
    const auto complete = static_cast<std::uint64_t>(
        std::ranges::count_if(completed, [&](const Completed& one) { return one.qpn == qpn && !one.is_receive; }));
    // Completions that had not been polled when the last one was written.
    std::uint64_t unpolled = 0;
    const auto last = std::find_if(completed.rbegin(), completed.rend(),
                                   [&](const Completed& one) { return one.qpn == qpn && !one.is_receive; });
    for (const TraceLine& level : evidence.facts()) {
      if (last == completed.rend() || level.time_ps > last->line->time_ps) break;
      const bool is_of_queue = level.event == "level" && level.component == component && level.value("of") == "cq" &&
                               level.value("number") == last->line->value("cqn");
      if (is_of_queue) unpolled = std::min(number_of(level, "level"), complete);
    }
    if (entries == 0 || posted < complete - unpolled + entries) continue;
    return Advice{join("when the program of ", evidence.end().host, " ends, the send queue of QP ", qpn, " is full: ", posted,
                       " requests are posted, and the program has polled the completions of ", complete - unpolled, ". ibv_post_send then returns ENOMEM"),
                  "a slot of the send queue is free again when the completion of its request, or of a later one, has been polled: before "
                  "ibv_post_send, poll until fewer than max_send_wr requests are outstanding, in a loop, because an event or a reply of the peer does "
                  "not promise a completion",
                  false};
  }
  return std::nullopt;
}

}  // namespace

Found send_queue_full(const Evidence& evidence) {
  const ThreadCall* const post = evidence.last_call([](const ThreadCall& call) {
    return (call.name == "ibv_post_send" || call.name == "ibv_wr_complete") &&
           call.result.starts_with("ENOMEM");
  });
  if (post == nullptr) return send_queue_full_at_end(evidence);
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
    if (decision.site != "placement" || host_in(decision.actor) != evidence.end().host) continue;
    const auto message = whole_message(evidence, difference);
    if (!message) continue;
    const std::uint64_t begin = number_of(*message->write, "va"), end = begin + number_of(*message->write, "length");
    const TraceLine *first = nullptr, *last = nullptr;
    std::size_t pieces = 0;
    for (const TraceLine& line : evidence.trace()) {
      if (line.time_ps < decision.time_ps || line.time_ps > evidence.end().time_ps) continue;
      if (line.event != "dma-write" || line.component != decision.actor) continue;
      const std::uint64_t va = number_of(line, "va");
      if (va < begin || va + number_of(line, "length") > end) continue;
      const auto placed = evidence.placed_by(line);
      if (!placed || placed->qpn != message->qpn) continue;
      if (first == nullptr) first = &line;
      last = &line;
      ++pieces;
    }
    if (pieces < 2 || has_polled(evidence, first->time_ps)) continue;
    const std::string checks = [&]() -> std::string {
      for (const RunReport::Finding& finding : evidence.report().findings) {
        if (finding.check == "write-target")
          return join(" (check write-target: ", finding.text,
                      finding.place.empty() ? "" : ", at " + finding.place, ")");
      }
      return "";
    }();
    return Advice{
        join("a message for QP ", message->qpn, " of ", host_in(decision.actor), posted(evidence.places().of(*first)),
             " reaches memory in ", pieces, " pieces from ", time_text(first->time_ps), " to ",
             time_text(last->time_ps), ": ", message->write->value("length"), " bytes at ",
             message->write->value("va"), ", the last of them ", last->value("length"), " bytes at ",
             last->value("va"),
             ". The program goes on without a completion, because it has seen other bytes of the message change",
             checks),
        "do not conclude from bytes in memory that a message is complete: wait for a completion (of a WRITE with immediate data, or of a "
        "SEND that follows the WRITE on the same queue pair), or make each part recognisable by itself, for example by a checksum"};
  }
  return std::nullopt;
}

Found writes_unordered(const Evidence& evidence) {
  for (const Evidence::Difference& difference : evidence.differences()) {
    const explore::Decision& decision = difference.decision;
    if (decision.site != "write-order" && decision.site != "quirk-unordered-writes") continue;
    const Trace& with = evidence.trace();
    const Trace& without = difference.without.trace;
    const auto is_message = [&](const TraceLine& line) {
      return line.event == "dma-write" && line.component == decision.actor && line.time_ps >= decision.time_ps;
    };
    const auto find_other = [&](const TraceLine& line) {
      return std::find_if(without.begin() + static_cast<std::ptrdiff_t>(difference.first), without.end(),
                          [&](const TraceLine& one) { return one.is_same_fact(line) && one.bytes == line.bytes; });
    };
    for (std::size_t i = difference.first; i < with.size() && with[i].time_ps <= evidence.end().time_ps; ++i) {
      if (!is_message(with[i])) continue;
      const auto early = evidence.placed_by(with[i]);
      const auto early_without = find_other(with[i]);
      if (!early || early->is_response || early_without == without.end() || has_polled(evidence, with[i].time_ps))
        continue;
      for (std::size_t k = i + 1; k < with.size(); ++k) {
        if (!is_message(with[k])) continue;
        const auto late = evidence.placed_by(with[k]);
        if (!late || late->is_response || late->qpn != early->qpn) continue;
        const auto late_without = find_other(with[k]);
        if (late_without == without.end() || late_without > early_without) continue;
        const std::string host = host_in(decision.actor);
        const std::uint64_t rkey = relaxed_region(evidence, with[k]);
        return Advice{
            join("two WRITEs for QP ", early->qpn, " of ", host,
                 " become visible in the opposite order: ", with[i].value("length"), " bytes at ",
                 with[i].value("va"), " at ", time_text(with[i].time_ps), ", then ", with[k].value("length"),
                 " bytes at ", with[k].value("va"), " of an earlier WRITE, at ", time_text(with[k].time_ps),
                 rkey == 0 ? ""
                           : join(". The region of the earlier one (rkey ", Hex{rkey},
                                  ") is registered with IBV_ACCESS_RELAXED_ORDERING, so its WRITEs "
                                  "have no order before a completion"),
                 ". The program of ", host,
                 " has polled no completion and takes the later bytes for a sign of the earlier ones"),
            join(rkey == 0 ? "" : "register the region without IBV_ACCESS_RELAXED_ORDERING, or ",
                 "let the program of ", host,
                 " wait for a completion instead of polling memory: the second WRITE with immediate data, or a SEND "
                 "behind both")};
      }
    }
  }
  return std::nullopt;
}

Found reply_before_completion(const Evidence& evidence) {
  for (const Evidence::Difference& difference : evidence.differences()) {
    std::set<std::string> adapters;
    for (const TraceLine& line : evidence.trace()) {
      if (line.event == "completion" && line.time_ps >= difference.decision.time_ps) adapters.insert(line.component);
    }
    std::optional<Swapped> first;
    for (const std::string& adapter : adapters) {
      const auto swapped = swapped_completions(evidence, difference, adapter);
      if (swapped && (!first || swapped->message.line->time_ps < first->message.line->time_ps)) first = swapped;
    }
    if (!first) continue;
    const TraceLine &message = *first->message.line, &send = *first->send.line;
    const std::string host = host_in(message.component);
    if (message.value("cqn") != send.value("cqn") && message.time_ps == send.time_ps) continue;
    const std::string& site = difference.decision.site;
    const bool moves_completions_only = site == "completion-delay" || site.starts_with("ack-");
    const std::string place = evidence.places().of_post(send.component, first->send.qpn, message.time_ps, number_of(send, "wr_id"));
    return Advice{
        join("at ", host, ", the completion of a message on QP ", first->message.qpn, " is written at ", time_text(message.time_ps),
             ", before the completion of a send of QP ", first->send.qpn, place.empty() ? "" : " (posted at " + place + ")",
             " that ", host, " has posted earlier, which is written at ", time_text(send.time_ps), ". Without decision ", difference.number,
             " they come in the other order; the program of ", host,
             " handles the message in a state in which its own send is not complete, and goes on differently"),
        join("the peer's message can come before the completion of an own send, even if it answers that send. Let ", host,
             " note that a message is sent when ibv_post_send returns, not when its completion is polled (which is still needed before the buffer "
             "is used again or the queue pair is closed); or keep a message that comes early, and handle it after the completion of the send"),
        moves_completions_only};
  }
  return std::nullopt;
}

Found message_seen_early(const Evidence& evidence) {
  if (evidence.is_minimal() || !evidence.end().hangs()) return std::nullopt;
  std::set<std::string> adapters;
  for (const TraceLine& line : evidence.trace()) {
    if (line.event == "completion") adapters.insert(line.component);
  }
  for (const std::string& adapter : adapters) {
    const auto all = completed_by(evidence.failing(), adapter, evidence.end().time_ps);
    for (auto message = all.begin(); message != all.end(); ++message) {
      if (!message->is_receive) continue;
      const auto send = std::find_if(message, all.end(), [&](const Completed& one) {
        return !one.is_receive && one.qpn == message->qpn && one.line->value("cqn") == message->line->value("cqn") &&
               one.line->value("status") == "0" && one.ordinal <= posted_by(evidence, adapter, one.qpn, message->line->time_ps);
      });
      if (send == all.end()) continue;
      const std::string host = host_in(adapter);
      return Advice{join("at ", host, ", the completion of a message on QP ", message->qpn, " is written at ", time_text(message->line->time_ps),
                         ", before the completion of a send of the same queue pair that ", host, " has posted earlier, which is written at ",
                         time_text(send->line->time_ps)),
                    join("if the program of ", host, " counts a message as sent when its completion is polled, count it when ibv_post_send returns; or "
                         "keep a message that comes early, and handle it after the completion of the send"),
                    false};
    }
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
