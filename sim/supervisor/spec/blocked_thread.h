// A thread that is waiting when a run ends: awaited processes and the cause, as far as queues
// and sockets show it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/time.h"

namespace verbatim::supervisor {

// In ascending order of explanatory power; the greatest counts.
enum class WaitCause : std::uint8_t {
  kUnknown,     // no explanation
  kAwaited,     // it ends when another process sends something
  kPeer,        // the other end of a connection is in no state to end the wait, or does not exist
  kUnfinished,  // its own program has posted or set up nothing that would end the wait: a mistake, or it does
                // not go on after a work request that failed
  kOwn,         // its own program does not do something that would end the wait
};

// Cause of a hang, from the waits at the end of a run.
struct HangCause {
  std::string text;                   // a sentence without full stop; empty: no cause found
  bool is_of_peer = false;            // the cause is at the other end: an earlier failure there, if any
  bool follows_from_failure = false;  // of a work request, if one has failed
};

struct BlockedThread {
  std::uint32_t process = 0;     // virtual pid
  std::string process_name;      // "server: app (pid 1000)"
  std::string who;               // "server: app (pid 1000), thread 1000"
  // rest of the sentence: "waits in read since …, in ibv_get_cq_event at app.c:25: CQ 129 …"
  std::string wait;
  // its part with the cause: "CQ 129 was never armed (ibv_req_notify_cq)"; may be empty
  std::string explanation;
  WaitCause cause = WaitCause::kUnknown;
  std::vector<std::uint32_t> waits_for;  // pids
  Instant since{};

  std::string sentence() const { return who + " " + wait; }
};

}  // namespace verbatim::supervisor
