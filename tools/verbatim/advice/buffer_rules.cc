// Memory that changes, or is given up, while an adapter may still read or write it.
#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "sim/core/time_text.h"
#include "sim/core/words.h"
#include "tools/verbatim/advice/rules.h"

namespace verbatim::cli::rules {

namespace {

using observe::number_of;
using observe::TraceLine;

std::string at_place(const std::string& place) { return place.empty() ? "" : " (posted at " + place + ")"; }

bool has_adapter(const Trace& trace, const std::string& host) {
  return std::ranges::find(trace, "hca/" + host, &TraceLine::component) != trace.end();
}

// A packet's payload, read by its sender's adapter and written by the receiver's.
struct Payload {
  const TraceLine* gathered = nullptr;
  const TraceLine* sent = nullptr;     // packet-transmitted by the sender's port
  const TraceLine* written = nullptr;  // dma-write of the receiver
};

// Follows the payload that was gathered in `run.trace[index]`. Some records may be missing. The receiver
// writes the packets of one queue pair in their order, so the n-th packet of this size belongs to the n-th
// write of this length.
Payload follow(const Evidence::Run& run, std::size_t index) {
  const Trace& trace = run.trace;
  Payload payload{&trace[index], nullptr, nullptr};
  const std::string sender = "port/" + host_in(trace[index].component) + ":";
  const std::string_view psn = trace[index].value("psn"), length = trace[index].value("length");
  const TraceLine* received = nullptr;
  for (std::size_t i = index + 1; i < trace.size() && received == nullptr; ++i) {
    const TraceLine& line = trace[i];
    const bool is_answer = line.value("opcode").find("Acknowledge") != std::string_view::npos;
    if (line.value("psn") != psn || is_answer) continue;
    if (payload.sent == nullptr && line.event == "packet-transmitted" && line.component.starts_with(sender)) {
      payload.sent = &line;
    } else if (payload.sent != nullptr && line.event == "packet-received" &&
               line.value("dest_qp") == payload.sent->value("dest_qp") &&
               line.value("opcode") == payload.sent->value("opcode") &&
               has_adapter(trace, host_in(line.component)) && !line.component.starts_with(sender)) {
      received = &line;
    }
  }
  if (received == nullptr) return payload;
  const std::string receiver = "hca/" + host_in(received->component);
  std::size_t packets = 0, writes = 0;
  for (const TraceLine& line : trace) {
    const bool is_like_it = line.event == "packet-received" && line.component == received->component &&
                            line.value("dest_qp") == received->value("dest_qp") &&
                            line.value("wire_bytes") == received->value("wire_bytes");
    if (is_like_it) ++packets;
    if (&line == received) break;
  }
  const std::uint64_t qpn = number_of(*received, "dest_qp");
  for (const TraceLine& line : trace) {
    if (line.event != "dma-write" || line.component != receiver || line.value("length") != length) continue;
    const auto placed = Evidence::placed_by(run, line);
    if (!placed || placed->qpn != qpn || ++writes < packets) continue;
    if (line.time_ps >= received->time_ps) payload.written = &line;
    break;
  }
  return payload;
}

bool is_of_reader(const explore::Decision& decision) {
  return decision.site.starts_with("gather-delay") || decision.site.starts_with("packet-fault") ||
         decision.site.starts_with("ack-");
}

// A payload that a decision has delayed, in both runs; the bytes that arrive differ.
struct Changed {
  Payload with, without;
  const Evidence::Difference* difference = nullptr;
};

std::optional<std::size_t> find_gather(const Trace& trace, std::size_t from, const TraceLine& same) {
  for (std::size_t i = from; i < trace.size(); ++i) {
    if (trace[i].is_same_fact(same)) return i;
  }
  return std::nullopt;
}

std::optional<Changed> changed_payload(const Evidence& evidence, bool is_response) {
  constexpr std::size_t kMostPayloads = 16;  // that the decision may have delayed directly
  for (const Evidence::Difference& difference : evidence.differences()) {
    if (!is_of_reader(difference.decision)) continue;
    const Trace& with = evidence.trace();
    const Trace& without = difference.without.trace;
    std::size_t looked_at = 0;
    for (std::size_t i = difference.first; i < without.size() && looked_at < kMostPayloads; ++i) {
      const TraceLine& line = without[i];
      if (line.event != "payload-gathered" || line.component != difference.decision.actor) continue;
      ++looked_at;
      const auto later = find_gather(with, difference.first, line);
      if (!later || with[*later].time_ps <= line.time_ps) continue;
      const Payload before = follow(difference.without, i), after = follow(evidence.failing(), *later);
      if (before.written == nullptr || after.written == nullptr || before.sent == nullptr) continue;
      const bool is_read = before.sent->value("opcode").find("Read-Response") != std::string_view::npos;
      const bool is_same_place = before.written->value("va") == after.written->value("va");
      if (is_read != is_response || !is_same_place || before.written->bytes == after.written->bytes) continue;
      // Only requests that were posted before the runs differ have the same content in both.
      const bool is_posted = std::ranges::any_of(
          without.begin(), without.begin() + static_cast<std::ptrdiff_t>(i), [&](const TraceLine& one) {
            return one.event == (is_read ? "packet-received" : "doorbell") &&
                   one.time_ps <= without[difference.first].time_ps;
          });
      if (is_posted) return Changed{after, before, &difference};
      break;
    }
  }
  return std::nullopt;
}

// Whether this poll may have returned the completion of this request: one with its wr_id that is not older.
bool has_polled_completion(const Evidence& evidence, const ThreadCall& poll, const ThreadCall& post) {
  if (poll.polled() == 0) return false;
  const std::string wr_id = std::to_string(post.number_of("wr_id "));
  if (poll.result.find("wr_id " + wr_id + " ") == std::string::npos) return false;
  const auto completions = evidence.completions_of(poll);
  return completions.empty() || std::ranges::any_of(completions, [&](const TraceLine* line) {
           return line->value("wr_id") == wr_id && line->time_ps >= post.begin_ps;
         });
}

// "64" for ibv_post_send(QP 72, wr_id 1, SEND, 64 bytes), the first request of a list.
std::string bytes_of(const ThreadCall& post) {
  const std::size_t end = post.arguments.find(" bytes");
  const std::size_t begin = post.arguments.rfind(' ', end == std::string::npos ? end : end - 1);
  return end == std::string::npos || begin == std::string::npos ? "" : post.arguments.substr(begin + 1, end - begin - 1);
}

std::string later_by(const Changed& changed) {
  const std::int64_t later = changed.with.gathered->time_ps - changed.without.gathered->time_ps;
  return join("at ", time_text(changed.with.gathered->time_ps), ", ", time_text(later),
              " later than without decision ", changed.difference->number);
}

}  // namespace

Found send_buffer_changed(const Evidence& evidence) {
  const auto changed = changed_payload(evidence, false);
  if (!changed) return std::nullopt;
  const TraceLine& gathered = *changed->with.gathered;
  const std::uint64_t qpn = number_of(gathered, "qpn");
  const std::string place = evidence.posted_at(gathered.component, qpn, changed->without.gathered->time_ps);
  return Advice{
      join(
          "the adapter of ", host_in(gathered.component), " reads ", gathered.value("length"),
          " bytes of a send of QP ", qpn, at_place(place), " ", later_by(*changed),
          ", and sends other bytes: the buffer was changed after the request had been posted and before it was complete"),
      join(
          "do not change the buffer of a request until its completion, or that of a later request of the same send queue, has been "
          "polled: poll it first, or use several buffers in turn and reuse each after its completion")};
}

Found read_source_changed(const Evidence& evidence) {
  const auto changed = changed_payload(evidence, true);
  if (!changed) return std::nullopt;
  const TraceLine& gathered = *changed->with.gathered;
  const std::string responder = host_in(gathered.component),
                    requester = host_in(changed->with.written->component);
  // Writes of the responder's adapter between the two moments: a WRITE that overtook the READ.
  const TraceLine* overtaker = nullptr;
  for (const TraceLine& line : evidence.trace()) {
    if (line.time_ps <= changed->without.gathered->time_ps - 1'000'000 || line.time_ps > gathered.time_ps)
      continue;
    if (line.event == "dma-write" && line.component == gathered.component) {
      const auto placed = evidence.placed_by(line);
      if (placed && !placed->is_response && placed->qpn == number_of(gathered, "qpn")) overtaker = &line;
    }
  }
  const std::string start =
      join("the adapter of ", responder, " reads ", gathered.value("length"), " bytes for a READ of ",
           requester, " ", later_by(*changed), ", and sends other bytes");
  const TraceLine* request =
      overtaker == nullptr ? nullptr
                           : evidence.last_request(responder, number_of(gathered, "qpn"), gathered.time_ps);
  if (request != nullptr && request->value("opcode").find("RDMA-Write") != std::string_view::npos) {
    return Advice{
        join(start, ": a later WRITE of the same queue pair wrote ", overtaker->value("length"), " bytes at ",
             overtaker->value("va"), " at ", time_text(overtaker->time_ps),
             ", before the READ had been executed completely"),
        "a READ may be executed after later requests: set IBV_SEND_FENCE on the WRITE, or post it after the completion of the READ"};
  }
  const ThreadCall* message = nullptr;
  for (const ThreadCall& call : evidence.calls()) {
    if (call.host == responder && call.polled() > 0 && call.end_ps <= gathered.time_ps) message = &call;
  }
  const std::string heard =
      message == nullptr ? ""
                         : join("; ", responder, " had polled a message at ", time_text(message->end_ps));
  return Advice{
      join(start, ": the program of ", responder, " changed the memory before the READ had been executed",
           heard, ". A message that is posted after a READ does not wait for it"),
      "let the reader say that it is done only after the completion of its READ has been polled, or set IBV_SEND_FENCE on the message "
      "that says so"};
}

// A finding of the check send-buffer for a send behind a READ that was not complete.
Found send_of_read_bytes(const Evidence& evidence) {
  for (const RunReport::Finding& finding : evidence.report().findings) {
    if (finding.check != "send-buffer" || finding.time_ps > evidence.end().time_ps) continue;
    const std::string host = host_in(finding.component);
    const std::uint64_t qpn = observe::number_in(
        std::string_view(finding.text).substr(std::min<std::size_t>(3, finding.text.size())));
    const ThreadCall *read = nullptr, *send = nullptr;
    for (const ThreadCall& call : evidence.calls()) {
      if (call.host != host || call.begin_ps > finding.time_ps) continue;
      if (call.polled() > 0 && send == nullptr) read = nullptr;
      if (call.name != "ibv_post_send" || call.number_of("QP ") != qpn) continue;
      if (call.arguments.find("RDMA_READ") != std::string::npos) {
        read = &call;
        send = nullptr;
      } else if (read != nullptr && send == nullptr) {
        send = &call;
      }
    }
    if (read == nullptr || send == nullptr) continue;
    const std::string component = "hca/" + host;
    return Advice{
        join("on ", host, ", ", send->text(), at_place(evidence.posted_at(component, qpn, send->end_ps)),
             " at ", time_text(send->begin_ps), " is posted behind ", read->text(), " of ",
             time_text(read->begin_ps),
             ", which is not complete, and the buffer of the send changes after its post (check send-buffer)",
             ": the adapter reads it before the bytes of the READ are there"),
        "set IBV_SEND_FENCE on the send, or post it after the completion of the READ has been polled",
        bytes_of(*read) == bytes_of(*send)};  // else the send may be of other memory
  }
  return std::nullopt;
}

Found requests_outlive_their_end(const Evidence& evidence) {
  for (const Evidence::Difference& difference : evidence.differences()) {
    const Trace& without = difference.without.trace;
    for (std::size_t i = difference.first; i < without.size(); ++i) {
      const TraceLine& line = without[i];
      if (line.event != "payload-gathered" && line.event != "wqe-fetched") continue;
      if (find_gather(evidence.trace(), difference.first, line)) continue;
      // The request was posted, and is read by the adapter in the run without the decision only.
      const std::string host = host_in(line.component);
      const std::uint64_t qpn = number_of(line, "qpn");
      const ThreadCall *post = nullptr, *close = nullptr;
      std::size_t polls = 0;
      for (const ThreadCall& call : evidence.calls()) {
        if (call.host != host) continue;
        if ((call.name == "ibv_post_send" || call.name == "ibv_wr_complete") &&
            call.number_of("QP ") == qpn && call.result == "0") {
          post = &call;
          polls = 0;
        }
        if (post != nullptr && has_polled_completion(evidence, call, *post)) ++polls;
        const bool ends = call.name == "ibv_destroy_qp" && evidence.queue_pair_of(call) == qpn;
        const bool resets = call.name == "ibv_modify_qp" && evidence.queue_pair_of(call) == qpn &&
                            (call.arguments.find(", RESET") != std::string::npos ||
                             call.arguments.find(", ERR") != std::string::npos);
        // A program that ends because of the failure is not its cause.
        const bool exits =
            call.name == "exit_group" && (evidence.end().hangs() || !evidence.has_failed(call.pid));
        if (post != nullptr && (ends || resets || exits) && call.begin_ps >= line.time_ps - 1'000'000'000)
          close = &call;
        if (close != nullptr) break;
      }
      if (post == nullptr || close == nullptr || polls > 0 || close->begin_ps < post->end_ps) break;
      return Advice{
          join(host, " posts ", post->text(), at_place(evidence.posted_at(line.component, qpn, post->end_ps)),
               " at ", time_text(post->begin_ps), ", and calls ", evidence.text_of(*close), " at ",
               time_text(close->begin_ps), ", before the adapter has executed the request: with decision ",
               difference.number, " the message is never sent"),
          "poll the completion of the last send before the queue pair is destroyed, moved to ERR or RESET, or the program exits; "
          "ibv_post_send does not wait until a message has been sent, and IBV_SEND_INLINE only allows the buffer to be reused"};
    }
  }
  return std::nullopt;
}

Found closed_with_sends_outstanding(const Evidence& evidence) {
  const auto completed = [](const Evidence::Run& run, const std::string& component, std::uint64_t qpn, std::int64_t until_ps) {
    return std::ranges::count_if(run.trace, [&](const TraceLine& line) {
      return line.event == "completion" && line.component == component && line.time_ps <= until_ps && number_of(line, "qpn") == qpn &&
             line.value("status") == "0" && Evidence::is_of_receive(run, line) == false;
    });
  };
  for (const Evidence::Difference& difference : evidence.differences()) {
    for (const ThreadCall& close : evidence.calls()) {
      const bool moves = close.name == "ibv_modify_qp" && (close.arguments.find(", ERR") != std::string::npos ||
                                                           close.arguments.find(", RESET") != std::string::npos);
      if ((!moves && close.name != "ibv_destroy_qp") || close.host == evidence.end().host) continue;
      const std::uint64_t qpn = evidence.queue_pair_of(close);
      const std::string component = "hca/" + close.host;
      const ThreadCall* last = nullptr;
      for (const ThreadCall& call : evidence.calls()) {
        if (call.host == close.host && call.name == "ibv_post_send" && call.number_of("QP ") == qpn && call.result == "0" &&
            call.end_ps <= close.begin_ps)
          last = &call;
      }
      const auto before = completed(evidence.failing(), component, qpn, close.begin_ps);
      const auto otherwise = completed(difference.without, component, qpn, std::numeric_limits<std::int64_t>::max());
      if (last == nullptr || qpn == 0 || otherwise <= before) continue;
      return Advice{
          join(close.host, " calls ", evidence.text_of(close), " at ", time_text(close.begin_ps), ", when only ", before, " of ", otherwise,
               " sends of QP ", qpn, " are complete; the last one is ", last->text(),
               at_place(evidence.posted_at(component, qpn, last->end_ps)), " at ", time_text(last->begin_ps),
               ". Requests that are not acknowledged by then are flushed, and the peer does not get what they carry"),
          "poll the completions of all sends before the queue pair is closed (rdma_disconnect moves it to ERR): a poll that returns one "
          "completion, or any number below that of the requests, is not enough",
          false};
    }
  }
  return std::nullopt;
}

Found late_write_of_ended_sender(const Evidence& evidence) {
  for (const ThreadCall& call : evidence.calls()) {
    if (call.name != "ibv_destroy_qp") continue;
    const std::uint64_t qpn = evidence.queue_pair_of(call);
    const std::string component = "hca/" + call.host;
    // The last payload that this queue pair has read, if nothing completed afterwards.
    const Trace& trace = evidence.trace();
    std::optional<std::size_t> gathered;
    for (std::size_t i = 0; i < trace.size() && trace[i].time_ps < call.begin_ps; ++i) {
      const TraceLine& line = trace[i];
      if (line.component != component || number_of(line, "qpn") != qpn) continue;
      if (line.event == "payload-gathered") gathered = i;
      if (line.event == "completion") gathered.reset();
    }
    if (!gathered) continue;
    const Payload payload = follow(evidence.failing(), *gathered);
    if (payload.written == nullptr || payload.written->time_ps < call.begin_ps ||
        payload.written->time_ps > evidence.end().time_ps)
      continue;
    if (payload.sent->value("opcode").find("RDMA-Write") == std::string_view::npos) continue;
    const std::string target = host_in(payload.written->component);
    return Advice{
        join(call.host, " destroys QP ", qpn, " at ", time_text(call.begin_ps), " while its WRITE of ",
             payload.gathered->value("length"), " bytes",
             at_place(evidence.posted_at(component, qpn, call.begin_ps)),
             " is under way; the WRITE reaches memory of ", target, " at ", payload.written->value("va"),
             " only at ", time_text(payload.written->time_ps),
             ", because the queue pair there still accepts it"),
        join(
            "destroying one end does not recall packets: before the memory is used for anything else, ",
            target,
            " must destroy its end of the connection too (or move it to ERR or RESET, or deregister the memory)")};
  }
  return std::nullopt;
}

}  // namespace verbatim::cli::rules
