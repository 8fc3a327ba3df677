// Checks that a program arms a CQ, then polls it until it is empty, and only then sleeps for a completion event.
//
// A completion that arrives between the last poll and ibv_req_notify_cq raises no event. Whether one arrives there in a
// given run is chance, but the order of calls is not, so a grader checks the order. A sleep is a read of the completion
// channel (ibv_get_cq_event), or a poll(), select() or epoll_wait() without a time limit. These need no poll after arming:
// - a CQ that is armed before any queue pair of the process has reached RTR, since it has no completions yet;
// - a read after poll(), select() or epoll_wait() has reported an event, and one that fails with EAGAIN: neither sleeps;
// - a wait with a time limit, after which the program polls again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/supervisor/spec/program_call.h"

namespace verbatim::cli {

class ArmingOrder {
 public:
  // Called for the calls of the run's programs, in the order of the run (Supervisor::report_calls_to). Empty polls of a
  // parked thread may be left out; a program that depends on them is right by chance.
  void on_call(const supervisor::ProgramCall& event);
  // Ends the run: a thread that is in a sleep never left it.
  void finish();

  std::uint64_t sleeps() const { return sleeps_; }
  // The first sleep in the wrong order, as a sentence.
  const std::optional<std::string>& mistake() const { return mistake_; }

 private:
  struct Queue {
    std::int32_t channel = -1;  // descriptor
    bool is_armed = false;
    bool is_known_empty = false;  // polled until empty since it was last armed
  };
  struct Process {
    std::map<std::uint32_t, Queue> queues;  // by number
    bool can_complete = false;              // a queue pair has reached RTR
  };
  struct Thread {
    bool is_ready = false;  // a poll(), select() or epoll_wait() has reported an event
    std::optional<std::string> sleep;  // current sleep: the sentence, empty if the order was right
  };

  void begin(const supervisor::ProgramCall& event, Process& process, Thread& thread);
  void end(const supervisor::ProgramCall& event, Process& process, Thread& thread);
  void end_command(const supervisor::ProgramCall& event, Process& process);
  void note_sleep(Thread& thread);

  std::map<std::uint32_t, Process> processes_;                            // by pid
  std::map<std::pair<std::uint32_t, std::uint32_t>, Thread> threads_;  // by pid and tid
  std::uint64_t sleeps_ = 0;
  std::optional<std::string> mistake_;
};

}  // namespace verbatim::cli
