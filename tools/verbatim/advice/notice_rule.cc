// A message outside of verbs, over a socket, that is taken as a sign that a WRITE has arrived.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "sim/core/time_text.h"
#include "sim/core/words.h"
#include "tools/verbatim/advice/rules.h"

namespace verbatim::cli::rules {

namespace {

using observe::number_of;
using observe::TraceLine;

// The same record of this run; nullptr: there is none.
const TraceLine* same_record(const Trace& trace, const TraceLine& record) {
  const auto found =
      std::ranges::find_if(trace, [&](const TraceLine& one) { return one.is_same_fact(record) && one.bytes == record.bytes; });
  return found == trace.end() ? nullptr : &*found;
}

// The call of another host that sent this many bytes last before `until_ps`.
const ThreadCall* sender_of(const Evidence& evidence, std::uint64_t bytes, std::int64_t until_ps) {
  constexpr std::string_view kSends[] = {"write", "writev", "send", "sendto", "sendmsg"};
  const ThreadCall* found = nullptr;
  for (const ThreadCall& call : evidence.calls()) {
    if (call.begin_ps >= until_ps) break;
    if (call.host == evidence.end().host || std::ranges::find(kSends, call.name) == std::end(kSends)) continue;
    if (observe::number_in(call.result) == bytes) found = &call;
  }
  return found;
}

}  // namespace

Found notice_overtakes_write(const Evidence& evidence) {
  const FailureEnd& end = evidence.end();
  if (end.hangs()) return std::nullopt;
  const std::string host = "host/" + end.host, adapter = "hca/" + end.host;
  for (const Evidence::Difference& difference : evidence.differences()) {
    // The last message that the failed program can have read.
    const TraceLine* notice = nullptr;
    for (const TraceLine& line : evidence.trace()) {
      if (line.time_ps > end.time_ps) break;
      if (line.event == "socket-data" && line.component == host) notice = &line;
    }
    if (notice == nullptr || notice->time_ps < difference.decision.time_ps) continue;
    const Trace& without = difference.without.trace;
    const TraceLine* const notice_without = same_record(without, *notice);
    if (notice_without == nullptr) continue;
    for (std::size_t i = difference.first; i < without.size() && without[i].time_ps <= notice_without->time_ps; ++i) {
      const TraceLine& early = without[i];
      if (early.event != "dma-write" || early.component != adapter) continue;
      const auto placed = Evidence::placed_by(difference.without, early);
      if (!placed || placed->is_response) continue;
      const TraceLine* const late = same_record(evidence.trace(), early);
      if (late != nullptr && late->time_ps <= notice->time_ps) continue;
      const std::uint64_t bytes = number_of(*notice, "length");
      const ThreadCall* const sent = sender_of(evidence, bytes, notice->time_ps);
      const std::string sender = sent == nullptr ? "the sender" : sent->host;
      const std::string call =
          sent == nullptr ? "" : join(", which ", sender, " sent by ", sent->text(), " at ", time_text(sent->begin_ps));
      const std::string posted = evidence.places().of(late != nullptr ? *late : early);
      const std::size_t place = posted.find("posted at ");
      return Advice{
          join("a message over a socket (", bytes, " bytes", call, ") reaches ", end.host, " at ", time_text(notice->time_ps),
               ", but ", early.value("length"), " bytes at ", early.value("va"), " of an RDMA WRITE for QP ", placed->qpn,
               place == posted.npos ? "" : join(" (", posted.substr(place), ")"),
               late == nullptr ? " have not arrived when the program fails"
                               : join(" become visible at ", time_text(late->time_ps), " only"),
               ". Without decision ", difference.number, " they are there before the message: nothing but time orders the two"),
          join("let ", sender,
               " poll the completion of the WRITE before it sends the message: then the bytes are visible at ", end.host,
               ". Or announce them by RDMA: make it a WRITE with immediate data, or post a SEND behind it on the same "
               "queue pair")};
    }
  }
  return std::nullopt;
}

}  // namespace verbatim::cli::rules
