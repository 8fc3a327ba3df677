// Events of connections: those of a channel that several connections or threads share.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "sim/core/time_text.h"
#include "sim/core/words.h"
#include "tools/verbatim/advice/rules.h"

namespace verbatim::cli::rules {

namespace {

using observe::number_of;
using observe::TraceLine;

// AttributeID of the messages of connection management (IBA 12.6), and the first word of librdmacm's
// commands.
constexpr std::string_view kConnectionClass = "1795";  // class 7, method Send
constexpr std::string_view kRequest = "16", kReject = "18", kReply = "19", kReadyToUse = "20";
constexpr std::string_view kResolveIp = "\\x03", kResolveRoute = "\\x04", kConnect = "\\x06",
                           kAccept = "\\x08";
constexpr std::string_view kListen = "\\x07";
constexpr std::string_view kDisconnect = "\\n", kResolveAddress = "\\x15";

bool is_command(const ThreadCall& call, std::string_view command) {
  return call.name == "write" &&
         call.arguments.find(join(", \"", command, "\\x00\\x00\\x00")) != std::string::npos;
}

// Event that a thread expects after this command; empty: none.
std::string_view awaited_event(const ThreadCall& call) {
  if (is_command(call, kAccept) || is_command(call, kConnect)) return "RDMA_CM_EVENT_ESTABLISHED";
  if (is_command(call, kResolveIp) || is_command(call, kResolveAddress)) return "RDMA_CM_EVENT_ADDR_RESOLVED";
  if (is_command(call, kResolveRoute)) return "RDMA_CM_EVENT_ROUTE_RESOLVED";
  if (is_command(call, kDisconnect)) return "RDMA_CM_EVENT_DISCONNECTED";
  return "";
}

// "3" for write(3, "…"): the descriptor of the channel.
std::string_view channel_of(const ThreadCall& call) {
  return std::string_view(call.arguments).substr(0, call.arguments.find(','));
}

bool has_taken(const ThreadCall& call) {
  return gets_cm_event(call) && call.has_ended() && !call.result.starts_with("-1");
}

// The datagram of this kind and connection that `component` sends or receives first; nullptr: none. A program that ends
// rejects the requests that it has not answered, so messages at the end do not count.
const TraceLine* find_message(const Evidence& evidence, std::string_view event, std::string_view component,
                              std::string_view attribute, std::string_view transaction) {
  const auto found = std::ranges::find_if(evidence.trace(), [&](const TraceLine& line) {
    return line.event == event && line.component == component &&
           line.value("class_method") == kConnectionClass && line.value("attribute") == attribute &&
           line.value("transaction") == transaction;
  });
  return found == evidence.trace().end() || found->time_ps >= evidence.end().time_ps ? nullptr : &*found;
}

}  // namespace

bool gets_cm_event(const ThreadCall& call) { return is_command(call, "\\f"); }

Found event_of_other_thread(const Evidence& evidence) {
  for (auto wait = evidence.calls().rbegin(); wait != evidence.calls().rend(); ++wait) {
    if (!gets_cm_event(*wait) || wait->has_ended() || !evidence.has_failed(wait->pid)) continue;
    // The thread's last command before it waits.
    const ThreadCall* command = nullptr;
    for (const ThreadCall& call : evidence.calls()) {
      if (call.tid != wait->tid || call.begin_ps >= wait->begin_ps) continue;
      if (gets_cm_event(call)) command = nullptr;
      if (!awaited_event(call).empty() && channel_of(call) == channel_of(*wait)) command = &call;
    }
    if (command == nullptr) continue;
    // The last of the others that have taken an event since.
    const ThreadCall* taker = nullptr;
    std::set<std::uint32_t> takers;
    for (const ThreadCall& call : evidence.calls()) {
      const bool takes = call.pid == wait->pid && call.tid != wait->tid && has_taken(call) &&
                         channel_of(call) == channel_of(*wait) && call.end_ps > wait->begin_ps;
      if (!takes) continue;
      takers.insert(call.tid);
      if (taker == nullptr || call.end_ps > taker->end_ps) taker = &call;
    }
    if (taker == nullptr) continue;
    const std::string_view event = awaited_event(*command);
    return Advice{
        join("several threads of ", wait->host, " call rdma_get_cm_event for one event channel. Thread ", wait->tid,
             " does so at ", time_text(wait->begin_ps), ", after a call whose event is ", event, "; ",
             takers.size() == 1 ? join("thread ", taker->tid, ", which waits for the channel as well, takes")
                                : std::string("other threads, which wait for the channel as well, take"),
             " all later events, the last one at ", time_text(taker->end_ps), ", and thread ", wait->tid,
             " waits for ever"),
        join(
            "an event goes to any one of the threads that wait for its channel. Let one thread call rdma_get_cm_event, and let it hand each "
            "event to the connection of event->id; or give the connection's rdma_cm_id a channel of its own by rdma_migrate_id before ",
            is_command(*command, kAccept) ? "rdma_accept" : "the call whose event it waits for"),
        evidence.end().hangs()};
  }
  return std::nullopt;
}

Found not_listening_yet(const Evidence& evidence) {
  const std::string& failed = evidence.end().host;
  // Whether a program of another host, or of this one, has begun to listen before then.
  const auto has_listened = [&](std::string_view host, bool is_same, std::int64_t until_ps) {
    return std::ranges::any_of(evidence.calls(), [&](const ThreadCall& call) {
      return (call.host == host) == is_same && call.end_ps <= until_ps &&
             (call.name == "listen" || is_command(call, kListen));
    });
  };
  const std::string remedy =
      "start the client when the server listens (let the server print a line or write a file after it has begun to listen, and wait for it), or let "
      "the client try again after a refusal";
  for (const TraceLine& reject : evidence.trace()) {
    if (reject.time_ps >= evidence.end().time_ps) break;
    if (reject.event != "datagram-sent" || reject.value("class_method") != kConnectionClass ||
        reject.value("attribute") != kReject)
      continue;
    const std::string host = host_in(reject.component);
    if (host == failed || evidence.calls().empty() || has_listened(host, true, reject.time_ps)) continue;
    return Advice{join("a connection request arrives at ", host, " and is rejected at ",
                       time_text(reject.time_ps), ": no program of ", host,
                       " has called rdma_listen by then. The client does not expect the refusal"),
                  remedy};
  }
  const ThreadCall* const refused = evidence.last_call([](const ThreadCall& call) {
    return call.name == "connect" && call.result.find("ECONNREFUSED") != std::string::npos;
  });
  if (evidence.end().hangs() || refused == nullptr || has_listened(failed, false, refused->begin_ps))
    return std::nullopt;
  return Advice{
      join(refused->host, " calls ", refused->text(), " at ", time_text(refused->begin_ps),
           ": no program of another host has called listen by then. The program does not expect the refusal"),
      remedy};
}

Found request_not_answered(const Evidence& evidence) {
  const std::int64_t end_ps = evidence.end().time_ps;
  for (const TraceLine& request : evidence.trace()) {
    if (request.time_ps > end_ps) break;
    if (request.event != "datagram-received" || request.value("class_method") != kConnectionClass ||
        request.value("attribute") != kRequest)
      continue;
    const std::string& component = request.component;
    const std::string host = host_in(component);
    const std::string_view transaction = request.value("transaction");
    if (find_message(evidence, "datagram-sent", component, kReply, transaction) != nullptr ||
        find_message(evidence, "datagram-sent", component, kReject, transaction) != nullptr)
      continue;
    // Another connection that is being established when the request arrives.
    const TraceLine *reply = nullptr, *ready = nullptr;
    for (const TraceLine& line : evidence.trace()) {
      if (line.time_ps > end_ps) break;
      if (line.event != "datagram-sent" || line.component != component ||
          line.value("class_method") != kConnectionClass || line.value("attribute") != kReply)
        continue;
      const std::string_view other = line.value("transaction");
      const TraceLine* const asked = find_message(evidence, "datagram-received", component, kRequest, other);
      const TraceLine* const established =
          find_message(evidence, "datagram-received", component, kReadyToUse, other);
      if (asked == nullptr || asked->time_ps > request.time_ps) continue;
      if (established != nullptr && established->time_ps < request.time_ps) continue;
      reply = &line;
      ready = established;
    }
    if (reply == nullptr) continue;
    // The program has taken an event after both: it cannot have been that of the other connection if this one
    // came first.
    const auto taken = std::ranges::find_if(evidence.calls(), [&](const ThreadCall& call) {
      return call.host == host && has_taken(call) && call.end_ps >= std::max(request.time_ps, reply->time_ps);
    });
    const bool is_taken = taken != evidence.calls().end();
    // The calls of a late failure are unknown. A thread that waits for the channel has taken all its events.
    const bool waits = std::ranges::any_of(evidence.report().sentences, [&](const std::string& text) {
      return text.starts_with(host + ": ") &&
             text.find("waits in write on rdma_cm event channel") != text.npos;
    });
    if (!is_taken && !(evidence.calls().empty() && waits)) continue;
    return Advice{
        join("a second connection request arrives at ", host, " at ", time_text(request.time_ps),
             ready == nullptr
                 ? ""
                 : join(", before the other connection is established (its last message arrives at ",
                        time_text(ready->time_ps), ")"),
             ". ", host, " has accepted the other one at ", time_text(reply->time_ps),
             " and takes the next event of the channel", is_taken ? " at " + time_text(taken->end_ps) : "",
             ": it is RDMA_CM_EVENT_CONNECT_REQUEST where the program expects RDMA_CM_EVENT_ESTABLISHED. "
             "The request is never accepted or rejected"),
        "events of all connections of a channel come in any order: handle each by its type and by event->id, and keep a state for each connection; or "
        "give an accepted rdma_cm_id a channel of its own by rdma_migrate_id before rdma_accept, so that requests stay in the listener's channel",
        evidence.end().hangs()};
  }
  return std::nullopt;
}

}  // namespace verbatim::cli::rules
