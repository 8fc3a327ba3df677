// Records of calls that the verbs provider in a process has refused, and findings of its checks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <utility>

#include "sim/supervisor/run_context.h"
#include "verbs_shim/protocol/region.h"

namespace verbatim::supervisor {

class Checks;
class Process;
class Thread;

class VerbNotes {
 public:
  VerbNotes(const RunContext& run, Checks& checks) : run_(run), checks_(checks) {}

  // Takes the notes from the slot. They concern times from `begin` to `end`, the thread's slice; each is
  // reported at its own time, after what the adapter does until then.
  void report(Thread& thread, protocol::ThreadSlot& slot, Instant begin, Instant end);

 private:
  // Return address of the program's call that a finding is about.
  std::uint64_t caller_of(Process& process, const protocol::VerbNote& note);

  const RunContext& run_;
  Checks& checks_;
  // by pid and return address: whether the caller of a verb is inline code of a verbs header
  std::map<std::pair<pid_t, std::uint64_t>, bool> are_in_header_;
};

}  // namespace verbatim::supervisor
