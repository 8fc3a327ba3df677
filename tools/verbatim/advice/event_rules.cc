// Events of completion channels.
#include <algorithm>
#include <optional>
#include <string_view>

#include "sim/core/time_text.h"
#include "sim/core/words.h"
#include "tools/verbatim/advice/rules.h"

namespace verbatim::cli::rules {

namespace {

// Calls between the decision of a program to end and its end: output, and what libraries do.
bool is_of_end(const ThreadCall& call) {
  constexpr std::string_view kNames[] = {"exit_group", "exit",   "write", "writev", "newfstatat",
                                         "mmap",       "munmap", "brk",   "close",  "futex"};
  return std::ranges::find(kNames, call.name) != std::end(kNames);
}

bool is_empty_poll(const ThreadCall& call) {
  return call.name == "ibv_poll_cq" && call.has_ended() && call.polled() == 0;
}

}  // namespace

Found event_without_completion(const Evidence& evidence) {
  if (evidence.end().hangs()) return std::nullopt;
  const ThreadCall* const poll = evidence.last_call([](const ThreadCall& call) { return !is_of_end(call); });
  if (poll == nullptr || !is_empty_poll(*poll)) return std::nullopt;
  const auto is_of_thread = [&](const ThreadCall& call) {
    return call.pid == poll->pid && call.tid == poll->tid && call.begin_ps < poll->begin_ps;
  };
  const ThreadCall *event = nullptr, *taker = nullptr;
  for (auto call = evidence.calls().rbegin(); call != evidence.calls().rend() && taker == nullptr; ++call) {
    if (!is_of_thread(*call)) continue;
    if (event == nullptr) {
      if (call->name == "ibv_req_notify_cq") continue;
      if (call->name != "read" || call->result != "8")
        return std::nullopt;  // an event of a channel has 8 bytes
      event = &*call;
    } else if (call->name == poll->name && call->number_of("CQ ") == poll->number_of("CQ ") &&
               call->polled() > 0) {
      taker = &*call;
    }
  }
  if (taker == nullptr) return std::nullopt;
  return Advice{
      join("thread ", poll->tid, " of ", poll->host, " takes an event of a completion channel at ",
           time_text(event->end_ps), ", but ", poll->text(), " at ", time_text(poll->begin_ps),
           ": the poll at ", time_text(taker->begin_ps),
           " has taken the completion already. The program then ends"),
      "an event does not promise a completion: a poll between ibv_req_notify_cq and the event may have taken it. After "
      "each event arm again, poll until ibv_poll_cq returns 0, and do not treat 0 as an error",
      false};
}

}  // namespace verbatim::cli::rules
