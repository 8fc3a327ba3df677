// Processes of a run: those that live, by host, and counts of those that have ended.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sim/supervisor/host_stalls.h"
#include "sim/supervisor/spec/program_spec.h"
#include "sim/supervisor/tasks/family.h"
#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

class ProcessList {
 public:
  explicit ProcessList(std::size_t hosts) : on_host_(hosts), stalls_(hosts) {}

  // Called once, before a process is added. `programs` outlives the run. Pids depend on `seed`.
  void begin(const std::vector<ProgramSpec>& programs, std::uint64_t seed);

  // Live processes, and those that have ended since the last event, in the order of their start.
  const std::vector<std::unique_ptr<Process>>& all() const { return processes_; }
  const std::vector<Process*>& on_host(std::size_t host) const { return on_host_[host]; }
  Process& add(std::unique_ptr<Process> process);
  // Called once per process, which is dead from then on.
  void end(Process& process);
  // True: retire_ended() has something to do.
  bool some_have_ended() const { return some_have_ended_; }
  // Called between two events: removes ended processes from the lists that every hand-over visits, unmaps
  // their regions, and keeps those to which packets in flight may refer. Calls `before` for each.
  template <class Before>
  void retire_ended(Before&& before);
  ProcessTable::Ended ended_on(std::size_t host) const;
  // The live parent, or nullptr.
  Process* parent_of(Process& process) const;

  // Pid of the first process of a program of the scenario.
  std::uint32_t first_pid(std::size_t program) const {
    return first_pid_ + static_cast<std::uint32_t>(program);
  }
  // An id that no process or thread has had.
  std::uint32_t new_pid() { return next_id_++; }

  // A program without a live process has ended: only its live processes could create new ones.
  bool is_program_alive(std::size_t program) const { return living_.at(program) > 0; }
  bool any_alive() const { return living_in_all_ > 0; }
  // True: every program that is not in the background has ended.
  bool is_foreground_over() const { return foreground_left_ == 0; }
  // A process of the program will start later. Until then it counts as alive.
  void expect_process_of(std::size_t program) { ++living_.at(program), ++living_in_all_; }
  void expected_process_started(std::size_t program) { --living_.at(program), --living_in_all_; }

  // No other thread of the host runs soon after `now` unless something outside happens, and the host does not stall. A
  // thread about to poll that was not just unparked does not count: it is expected to find nothing, and if it finds
  // something, its changes are noticed after its slice.
  bool is_alone(Thread& thread, Instant now) const;
  // All threads of the host of `late`, which is late from `from` to `until`, stall with it.
  void stall_host(Thread& late, Instant from, Instant until, Instant now);
  const HostStalls& stalls() const { return stalls_; }
  bool has_parked_thread(std::size_t host) const;
  // Whether another thread of the host is blocked: a call of `thread` may wake it, and it may run at the time
  // of the call, after it. Also true if the host has many threads, which are then not examined.
  bool has_blocked_sibling(Thread& thread) const;

 private:
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::vector<Process*>> on_host_;
  HostStalls stalls_;
  std::vector<std::unique_ptr<Process>> ended_;          // whose memory packets in flight may still name
  std::map<std::size_t, ProcessTable::Ended> ended_on_;  // by host
  const std::vector<ProgramSpec>* programs_ = nullptr;
  std::vector<std::size_t> living_;  // by program
  std::size_t living_in_all_ = 0;
  std::size_t foreground_left_ =
      0;  // programs not in the background, not started yet or with a process alive
  bool some_have_ended_ = false;
  std::uint32_t first_pid_ = 0, next_id_ = 0;
};

template <class Before>
void ProcessList::retire_ended(Before&& before) {
  some_have_ended_ = false;
  const auto first = std::stable_partition(processes_.begin(), processes_.end(),
                                           [](const auto& process) { return process->alive; });
  for (auto it = first; it != processes_.end(); ++it) {
    Process& process = **it;
    std::erase(on_host_[process.host_index()], &process);
    before(process);
    ProcessTable::Ended& ended = ended_on_[process.host_index()];
    ++ended.count;
    ended.highest_pid = std::max(ended.highest_pid, process.pid());
    process.retire();
    if (process.outlives_its_end) ended_.push_back(std::move(*it));
  }
  processes_.erase(first, processes_.end());
}

}  // namespace verbatim::supervisor
