// A thread that waited when a run ended: for whom, and whose mistake explains it, as far as queues and sockets show.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/time.h"

namespace verbatim::supervisor {

// By how much a wait explains: of several the greatest counts.
enum class WaitCause : std::uint8_t {
  kUnknown,  // nothing explains it
  kAwaited,  // it ends when another process sends something
  kPeer,     // the other end of a connection is in no state to let it end, or does not exist
  kOwn,      // its own program has done, or not done, what ends it
};

// Cause of a hang, from the waits at the end of a run.
struct HangCause {
  std::string text;         // a sentence without a full stop; empty: they explain nothing
  bool is_of_peer = false;  // the other end of a connection: what failed there earlier, if anything, is the cause
};

struct BlockedThread {
  std::uint32_t process = 0;     // virtual pid
  std::string process_name;      // "server: app (pid 1000)"
  std::string who;               // "server: app (pid 1000), thread 1000"
  std::string wait;              // the rest of the sentence: "waits in read since …, in ibv_get_cq_event at app.c:25: CQ 129 …"
  std::string explanation;       // the part of it that explains the wait: "CQ 129 was never armed (ibv_req_notify_cq)"; may be empty
  WaitCause cause = WaitCause::kUnknown;
  std::vector<std::uint32_t> waits_for;  // pids
  Instant since{};

  std::string sentence() const { return who + " " + wait; }
};

}  // namespace verbatim::supervisor
