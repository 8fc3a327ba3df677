#include "sim/supervisor/process_list.h"

#include <algorithm>
#include <chrono>

#include "sim/supervisor/tasks/parking.h"

namespace verbatim::supervisor {

namespace {

// Pids depend on the seed, because programs seed their random numbers with pid and time. Programs
// of neighbouring seeds share no pid as long as they have at most 61 programs; 61 and the range
// have no common divisor.
constexpr std::uint32_t kFirstPid = 1000, kPidRange = 30'000, kPidStep = 61;

std::uint32_t first_pid_of_seed(std::uint64_t seed) {
  return kFirstPid + static_cast<std::uint32_t>((seed - 1) % kPidRange) * kPidStep % kPidRange;
}

}  // namespace

void ProcessList::begin(const std::vector<ProgramSpec>& programs, std::uint64_t seed) {
  programs_ = &programs;
  living_.assign(programs.size(), 0);
  foreground_left_ = static_cast<std::size_t>(std::count_if(
      programs.begin(), programs.end(), [](const ProgramSpec& program) { return !program.background; }));
  first_pid_ = first_pid_of_seed(seed);
  next_id_ = first_pid(programs.size());
}

Process& ProcessList::add(std::unique_ptr<Process> process) {
  expect_process_of(process->program());
  on_host_[process->host_index()].push_back(process.get());
  processes_.push_back(std::move(process));
  return *processes_.back();
}

void ProcessList::end(Process& process) {
  process.alive = false;
  some_have_ended_ = true;
  --living_in_all_;
  if (--living_.at(process.program()) == 0 && !(*programs_)[process.program()].background) --foreground_left_;
}

ProcessTable::Ended ProcessList::ended_on(std::size_t host) const {
  const auto found = ended_on_.find(host);
  return found == ended_on_.end() ? ProcessTable::Ended{} : found->second;
}

Process* ProcessList::parent_of(Process& process) const {
  const std::uint32_t parent = process.family().parent;
  for (Process* const other : on_host_[process.host_index()]) {
    if (other->alive && other->pid() == parent) return other;
  }
  return nullptr;
}

bool ProcessList::is_alone(Thread& thread, Instant now) const {
  // Polls until another thread runs cost less than a proof.
  const Instant soon = now + std::chrono::microseconds(5);
  if (stalls_.next(thread.process().host_index(), now) != kNever) return false;
  for (Process* const process : on_host_[thread.process().host_index()]) {
    if (!process->alive) continue;
    for (const auto& other : process->threads()) {
      if (other.get() == &thread || other->state() != Thread::State::kPending) continue;
      if (other->requests<request::Poll>() ? other->parking.is_unparked() : other->next_event_time() < soon) return false;
    }
  }
  return true;
}

// Parked poll loops do not look during the stall: they are executed until it begins.
void ProcessList::stall_host(Thread& late, Instant from, Instant until, Instant now) {
  const std::size_t host = late.process().host_index();
  stalls_.add(host, from, until, now);
  for (Process* const process : on_host_[host]) {
    if (!process->alive) continue;
    for (const auto& thread : process->threads()) {
      if (thread->parking.loop() != nullptr && thread->parking.loop()->kind == Parked::Kind::kPoll) thread->unpark();
    }
  }
}

bool ProcessList::has_parked_thread(std::size_t host) const {
  for (Process* const process : on_host_[host]) {
    if (!process->alive) continue;
    for (const auto& thread : process->threads()) {
      if (thread->parking.loop() != nullptr) return true;
    }
  }
  return false;
}

bool ProcessList::has_blocked_sibling(Thread& thread) const {
  std::size_t most = 16;
  for (Process* const process : on_host_[thread.process().host_index()]) {
    for (const auto& other : process->threads()) {
      if (most-- == 0) return true;
      if (other.get() != &thread && other->state() == Thread::State::kBlocked) return true;
    }
  }
  return false;
}

}  // namespace verbatim::supervisor
