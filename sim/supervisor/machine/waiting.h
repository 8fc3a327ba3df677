// Waiting in real time for whatever comes first: something to read, the end of a child, an interruption, a limit. By Boost.Asio,
// which no other file includes. Nothing that is waited for here decides what happens next in virtual time.
#pragma once

#include <sys/types.h>

#include <memory>
#include <span>
#include <vector>

namespace verbatim::supervisor {

class Waiting {
 public:
  // As long as it lives, interrupting signals (sim/core/interruption.h) are counted and wake it. `signal` wakes it, too: SIGCHLD,
  // or another one.
  explicit Waiting(int signal = kChildEnd);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  // Until one of `descriptors` has something to read, or its end, or `writable` (negative: none) has room; or one of the signals
  // came since the last call; or `limit_ms` of real time have passed (negative: no limit). Those of the descriptors that are
  // ready. They stay the caller's, and as they are.
  std::vector<int> wait(std::span<const int> descriptors, int limit_ms, int writable = -1);

 private:
  friend pid_t fork_process();
  static constexpr int kChildEnd = 17;  // SIGCHLD
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// fork(2). The child has none of the descriptors and handlers by which its parent waits; what it has of a Waiting is not used.
pid_t fork_process();

// Waits until `child`, a process of ours, has ended: its status, as waitpid(2) has it. An interruption asks it to end (SIGTERM),
// and kills it when it has not ended kKillAfterMs later. `is_group`: so it is with all of the process group that it leads.
inline constexpr int kKillAfterMs = 1000;
struct ChildEnd {
  int status = 0;
  bool is_interrupted = false;
};
ChildEnd await_child(pid_t child, bool is_group = false);

}  // namespace verbatim::supervisor
