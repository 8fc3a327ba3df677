// Packets that are lost, duplicated or late, and reads that are not atomic.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/time_text.h"
#include "sim/core/words.h"
#include "sim/ib/drop_reason.h"
#include "tools/verbatim/advice/rules.h"

namespace verbatim::cli::rules {

namespace {

using observe::number_of;
using observe::TraceLine;

// Whether a queue pair with this number is of a type without retransmission: "UD" or "UC"; empty: it is
// reliable, or unknown.
std::string unreliable_type(const Evidence& evidence, std::uint64_t qpn, std::string_view sender) {
  const std::string number = join("QP ", qpn);
  for (const ThreadCall& call : evidence.calls()) {
    if (call.name != "ibv_create_qp" || call.result != number || call.host == sender) continue;
    for (const char* type : {"UD", "UC"}) {
      if (call.arguments.starts_with(type)) return type;
    }
  }
  return "";
}

std::string message_text(const TraceLine& line, std::string_view type) {
  return join(type == "UD" ? "a datagram" : "a packet of an unreliable connection", " to QP ",
              number_of(line, "dest_qp"));
}

// Whether the record is of the packet with this destination and PSN.
bool is_of_packet(const TraceLine& line, const TraceLine& packet) {
  return line.value("dest_qp") == packet.value("dest_qp") && line.value("psn") == packet.value("psn");
}

// Whether the fault of this record drops the packet.
bool is_dropped(const Evidence& evidence, const TraceLine& fault) {
  return std::ranges::any_of(evidence.trace(), [&](const TraceLine& line) {
    return line.event == "packet-dropped" && line.time_ps == fault.time_ps && line.component == fault.component &&
           is_of_packet(line, fault);
  });
}

Advice advice_of_lost(const TraceLine& line, const std::string& type) {
  return {
      join(
          message_text(line, type), " is lost at ", time_text(line.time_ps), ". Queue pairs of type ", type,
          " send nothing again, the sender's completion says only that the message has left, and the program waits for it or "
          "counts on it"),
      "number the messages and let the receiver answer them; after a timeout the sender sends again, or use a reliable "
      "connection (RC)"};
}

// `fault` has delayed or duplicated its packet.
Advice advice_of_moved(const Evidence& evidence, const TraceLine& fault, const std::string& type) {
  const std::string message = join(message_text(fault, type), " (PSN ", number_of(fault, "psn"), ")");
  std::vector<const TraceLine*> arrivals;
  std::size_t overtaking = 0;  // packets to the same queue pair that are sent later and arrive earlier
  const auto arrives = [&](const TraceLine& line) {
    const std::string adapter = "hca/" + host_in(line.component);
    return line.event == "packet-received" && line.value("dest_qp") == fault.value("dest_qp") &&
           line.time_ps >= fault.time_ps &&
           std::ranges::find(evidence.trace(), adapter, &TraceLine::component) != evidence.trace().end();
  };
  for (const TraceLine& line : evidence.trace()) {
    if (arrives(line) && line.value("psn") == fault.value("psn")) arrivals.push_back(&line);
  }
  const TraceLine* overtaker = nullptr;
  for (const TraceLine& line : evidence.trace()) {
    if (arrivals.empty() || &line == arrivals.front()) break;
    if (!arrives(line) || line.component != arrivals.front()->component) continue;
    const bool is_sent_later = std::ranges::any_of(evidence.trace(), [&](const TraceLine& one) {
      return one.event == "packet-transmitted" && one.component == fault.component && one.time_ps > fault.time_ps &&
             is_of_packet(one, line);
    });
    if (is_sent_later && overtaking++ == 0) overtaker = &line;
  }
  if (arrivals.size() > 1) {
    return {join(message, " arrives twice, at ", time_text(arrivals[0]->time_ps), " and at ",
                 time_text(arrivals[1]->time_ps)),
            "number the messages, and let the receiver drop those that it has had"};
  }
  if (overtaker != nullptr) {
    return {
        join(message, " is delayed from ", time_text(fault.time_ps), " and arrives at ",
             time_text(arrivals.front()->time_ps), ", after ",
             overtaking == 1 ? "one that was" : join(overtaking, " that were"), " sent later, the first of them PSN ",
             number_of(*overtaker, "psn"), " at ", time_text(overtaker->time_ps), ". Queue pairs of type ", type,
             " do not keep the order of messages"),
        "number the messages, and let the receiver put them in order, or store each by its number, where the order matters"};
  }
  return {
      join(message, " is delayed from ", time_text(fault.time_ps),
           arrivals.empty() ? "" : join(" and arrives only at ", time_text(arrivals.front()->time_ps))),
      "the time of a message is not limited: do not take one that has not arrived in time for lost, and number the messages, so that one "
      "that arrives after the timeout is recognised"};
}

// A READ: its request at the requester's port, and the reads of the responder's memory for it.
struct Read {
  const TraceLine* request = nullptr;
  std::vector<const TraceLine*> gathers;
  std::uint64_t bytes = 0;
};

// The last READs of the failed program's host, the latest first. Empty if its last request is another one.
std::vector<Read> last_reads(const Evidence& evidence, std::size_t most) {
  constexpr std::uint64_t kPsns = 1 << 24;
  const Trace& trace = evidence.trace();
  const std::string& host = evidence.end().host;
  std::vector<Read> reads;
  for (auto line = trace.rbegin(); line != trace.rend() && reads.size() < most; ++line) {
    if (line->time_ps > evidence.end().time_ps || line->event != "packet-transmitted" ||
        !line->component.starts_with("port/" + host + ":"))
      continue;
    const std::string_view opcode = line->value("opcode");
    if (opcode.find("Acknowledge") != opcode.npos || opcode.find("Response") != opcode.npos) continue;
    if (opcode != "RDMA-Read-Request") break;
    Read read{.request = &*line};
    // A response has the PSNs from that of its request until the next request's.
    const std::uint64_t psn = number_of(*line, "psn");
    const bool has_next = !reads.empty() && reads.back().request->value("dest_qp") == line->value("dest_qp");
    const std::uint64_t responses = has_next ? (number_of(*reads.back().request, "psn") - psn) % kPsns : kPsns / 2;
    for (auto one = line.base(); one != trace.end() && read.gathers.size() < responses; ++one) {
      const bool is_response = one->event == "payload-gathered" && host_in(one->component) != host &&
                               one->time_ps <= evidence.end().time_ps &&
                               one->value("qpn") == line->value("dest_qp") &&
                               number_of(*one, "psn") == (psn + read.gathers.size()) % kPsns;
      if (!is_response) continue;
      read.gathers.push_back(&*one);
      read.bytes += number_of(*one, "length");
    }
    reads.push_back(std::move(read));
  }
  return reads;
}

// Whether every response of this length has brought the same bytes to this place: nothing has changed.
bool brings_same_bytes(const Evidence& evidence, const Read& read) {
  std::vector<const TraceLine*> writes;
  for (const TraceLine& line : evidence.trace()) {
    if (line.time_ps > evidence.end().time_ps) break;
    if (line.event != "dma-write" || line.component != "hca/" + evidence.end().host) continue;
    if (line.value("length") != read.gathers.back()->value("length")) continue;
    const auto placed = evidence.placed_by(line);
    if (placed && placed->is_response) writes.push_back(&line);
  }
  return writes.size() > 1 &&
         std::ranges::all_of(writes, [&](const TraceLine* write) { return write->bytes == writes.front()->bytes; });
}

}  // namespace

Found datagram_lost(const Evidence& evidence) {
  for (const Evidence::Difference& difference : evidence.differences()) {
    const explore::Decision& decision = difference.decision;
    const bool is_of_datagram =
        decision.site.starts_with("datagram-") || decision.site == "quirk-duplicated-datagram";
    if (!is_of_datagram && !decision.site.starts_with("packet-fault")) continue;
    for (const TraceLine& line : evidence.trace()) {
      if (line.time_ps < decision.time_ps || line.time_ps > evidence.end().time_ps) continue;
      if (line.event != "packet-dropped" && line.event != "fault") continue;
      if (is_of_datagram && line.component != decision.actor) continue;
      const bool is_lost = line.event == "packet-dropped";
      const bool is_fault = !is_lost || number_of(line, "reason") == static_cast<unsigned>(ib::DropReason::kFault);
      if (!is_fault || (!is_lost && is_dropped(evidence, line))) continue;
      const std::string type = is_of_datagram ? "UD" : unreliable_type(evidence, number_of(line, "dest_qp"), "");
      if (type.empty()) break;
      return is_lost ? advice_of_lost(line, type) : advice_of_moved(evidence, line, type);
    }
  }
  return std::nullopt;
}

Found read_in_pieces(const Evidence& evidence) {
  if (evidence.end().hangs()) return std::nullopt;
  // The READs that the failed program's host has sent last, the largest of which is judged.
  constexpr std::size_t kMostReads = 3;
  const std::vector<Read> reads = last_reads(evidence, kMostReads);
  if (reads.empty()) return std::nullopt;
  const Read& read = *std::ranges::max_element(reads, {}, &Read::bytes);
  constexpr std::uint64_t kAtomicBytes = 8;
  if (read.gathers.empty() || read.bytes <= kAtomicBytes || brings_same_bytes(evidence, read)) return std::nullopt;
  const TraceLine &first = *read.gathers.front(), &last = *read.gathers.back();
  const std::size_t pieces = read.gathers.size();
  std::string place;
  for (const TraceLine& line : evidence.trace()) {
    if (line.time_ps > read.request->time_ps) break;
    if (line.event == "wqe-fetched" && line.component == "hca/" + evidence.end().host)
      place = evidence.places().of(line);
  }
  return Advice{
      join(
          "for a READ of ", read.bytes, " bytes that ", evidence.end().host, " sends at ",
          time_text(read.request->time_ps), place.empty() ? "" : " (" + place + ")", ", the adapter of ",
          host_in(first.component), " reads the memory", pieces == 1 ? " at " : join(" in ", pieces, " pieces from "),
          time_text(first.time_ps), pieces == 1 ? "" : join(" to ", time_text(last.time_ps)),
          ", whatever the program there is storing at the time: a record that it is changing arrives partly old and partly new"),
      "a READ is no snapshot, and a version that is read before or after it does not make it one: put a version or a checksum into each "
      "part that must be consistent and compare them all, or let the owner not change what may be read",
      false};
}

}  // namespace verbatim::cli::rules
