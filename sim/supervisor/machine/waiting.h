// Waits in real time for the first of several events: readable descriptors, the end of a child, an
// interruption, a limit. Uses Boost.Asio, which no other file includes. Nothing here decides what happens
// next in virtual time.
#pragma once

#include <sys/types.h>

#include <memory>
#include <span>
#include <vector>

namespace verbatim::supervisor {

class Waiting {
 public:
  // During its lifetime interrupting signals (sim/core/interruption.h) are counted and wake it. `signal`
  // wakes it too: SIGCHLD by default.
  explicit Waiting(int signal = kChildEnd);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  // Returns the descriptors that are ready when one of `descriptors` is readable or at its end, or `writable`
  // (negative: none) is writable; one of the signals has arrived since the last call; or `limit_ms` of real
  // time have passed (negative: no limit). The descriptors stay the caller's, unchanged.
  std::vector<int> wait(std::span<const int> descriptors, int limit_ms, int writable = -1);

 private:
  friend pid_t fork_process();
  static constexpr int kChildEnd = 17;  // SIGCHLD
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// fork(2). The child closes the descriptors, and forgets the handlers, of the parent's Waiting objects,
// which it must not use.
pid_t fork_process();

// Waits for the end of the child and returns its status as waitpid(2) does. An interruption sends it SIGTERM,
// and SIGKILL kKillAfterMs later. `is_group`: signals the process group that it leads.
inline constexpr int kKillAfterMs = 1000;
struct ChildEnd {
  int status = 0;
  bool is_interrupted = false;
};
ChildEnd await_child(pid_t child, bool is_group = false);

}  // namespace verbatim::supervisor
