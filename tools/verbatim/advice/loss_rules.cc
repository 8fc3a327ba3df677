// Packets that are lost, duplicated or late, and reads that are not atomic.
#include <algorithm>
#include <optional>
#include <string>

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

}  // namespace

Found datagram_lost(const Evidence& evidence) {
  for (const Evidence::Difference& difference : evidence.differences()) {
    const explore::Decision& decision = difference.decision;
    if (!decision.site.starts_with("packet-fault")) continue;
    for (const TraceLine& line : evidence.trace()) {
      if (line.time_ps < decision.time_ps || line.time_ps > evidence.end().time_ps) continue;
      if (line.event != "packet-dropped" && line.event != "fault") continue;
      const bool is_fault = line.event == "fault" || number_of(line, "reason") == static_cast<unsigned>(ib::DropReason::kFault);
      if (!is_fault) continue;
      const std::string type = unreliable_type(evidence, number_of(line, "dest_qp"), "");
      if (type.empty()) break;
      const bool is_lost = line.event == "packet-dropped";
      const std::string message = join(type == "UD" ? "a datagram" : "a packet of an unreliable connection",
                                       " to QP ", number_of(line, "dest_qp"));
      return Advice{
          is_lost
              ? join(
                    message, " is lost at ", time_text(line.time_ps), ". Queue pairs of type ", type,
                    " send nothing again, the sender's completion says only that the message has left, and the program waits for it or "
                    "counts on it")
              : join(message, " is duplicated or delayed at ", time_text(line.time_ps),
                     ", so it arrives twice, late or behind a later one"),
          is_lost
              ? "number the messages and let the receiver answer them; after a timeout the sender sends again, or use a reliable "
                "connection (RC)"
              : "number the messages, and let the receiver drop those that it has had and put the others in order"};
    }
  }
  return std::nullopt;
}

Found read_in_pieces(const Evidence& evidence) {
  // The READs that the failed program has completed last.
  const ThreadCall* const poll = evidence.last_poll();
  if (poll == nullptr) return std::nullopt;
  const ThreadCall *read = nullptr, *last = nullptr;
  constexpr std::size_t kMostPosts = 3;
  std::size_t posts = 0;
  for (auto call = evidence.calls().rbegin(); call != evidence.calls().rend() && posts < kMostPosts; ++call) {
    if (call->pid != poll->pid || call->name != "ibv_post_send" || call->begin_ps > poll->begin_ps) continue;
    ++posts;
    if (last == nullptr) last = &*call;
    if (call->arguments.find("RDMA_READ") == std::string::npos) continue;
    const auto bytes_of = [](const ThreadCall& one) {
      const std::size_t comma = one.arguments.rfind(", ");
      return comma == std::string::npos
                 ? 0
                 : observe::number_in(std::string_view(one.arguments).substr(comma + 2));
    };
    if (read == nullptr || bytes_of(*call) > bytes_of(*read)) read = &*call;
  }
  if (read == nullptr || last->arguments.find("RDMA_READ") == std::string::npos) return std::nullopt;
  // The times at which the responder's adapter read the memory for it.
  const TraceLine *first = nullptr, *final = nullptr;
  std::size_t pieces = 0;
  for (const TraceLine& line : evidence.trace()) {
    if (line.time_ps < read->begin_ps || line.time_ps > poll->end_ps || line.event != "payload-gathered")
      continue;
    if (host_in(line.component) == poll->host) continue;
    if (first == nullptr) first = &line;
    final = &line;
    ++pieces;
    const std::size_t comma = read->arguments.rfind(", ");
    std::uint64_t sum = 0;
    for (const TraceLine& one : evidence.trace()) {
      if (one.event == "payload-gathered" && one.component == line.component &&
          one.time_ps >= first->time_ps && one.time_ps <= line.time_ps)
        sum += number_of(one, "length");
    }
    if (sum >= observe::number_in(std::string_view(read->arguments).substr(comma + 2))) break;
  }
  constexpr std::uint64_t kAtomicBytes = 8;
  if (pieces == 0 || (pieces == 1 && number_of(*first, "length") <= kAtomicBytes)) return std::nullopt;
  return Advice{
      join(
          "for the READ that ", poll->host, " posts at ", time_text(read->begin_ps), ", ", read->text(),
          ", the adapter of ", host_in(first->component), " reads the memory",
          pieces == 1 ? " at " : join(" in ", pieces, " pieces from "), time_text(first->time_ps),
          pieces == 1 ? "" : join(" to ", time_text(final->time_ps)),
          ", whatever the program there is storing at the time: a record that it is changing arrives partly old and partly new"),
      "a READ is no snapshot, and a version that is read before or after it does not make it one: put a version or a checksum into each "
      "part that must be consistent and compare them all, or let the owner not change what may be read",
      false};
}

}  // namespace verbatim::cli::rules
