// Implementation of Supervisor, shared by its source files:
//   supervisor.cc           main loop, start and end of processes and threads, reports
//   supervisor_tokens.cc    hand-over of the token, requests of threads
//   supervisor_parking.cc   threads that wait by running
//   supervisor_terminal.cc  terminals with a user outside the run
//   supervisor_family.cc    fork, exec, stops, effects of a process's end on its relatives
//   supervisor_ends.cc      kills by the scenario, end of background programs
//   supervisor_remote.cc    programs that programs start on other hosts
//   supervisor_code.cc      search and replacement of instructions in new code
//   supervisor_machine.cc   refusals and signals of the machine
//   supervisor_waits.cc     waits of threads when a run hangs or a debugger holds it
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <set>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/supervisor/call_places.h"
#include "sim/supervisor/scheduling/horizon.h"
#include "sim/supervisor/kernel/kernel.h"
#include "sim/supervisor/machine/launcher.h"
#include "sim/supervisor/tasks/parking.h"
#include "sim/supervisor/tasks/process.h"
#include "sim/supervisor/run_after_run.h"
#include "sim/supervisor/supervisor.h"
#include "sim/supervisor/warning_log.h"
#include "sim/supervisor/scheduling/token.h"
#include "sim/supervisor/scheduling/waiting_times.h"
#include "sim/supervisor/spec/blocked_thread.h"
#include "verbs_shim/protocol/gate_calls.h"

namespace verbatim::supervisor {

class Supervisor::Impl final : public ProcessTable {
 public:
  Impl(Engine& engine, Tracer& tracer, Choices& choices, const ComponentTable& components,
       std::vector<HostSpec> hosts, const ManagementNetworkSpec& network, const SupervisorOptions& options);
  ~Impl() override;

  void use_failing_calls(FailingCalls& calls) { kernel_.use_failing_calls(calls); }
  void tell_calls_to(std::function<void(const ProgramCall&)> listener) { on_call_ = std::move(listener); }
  RunResult run(const std::vector<ProgramSpec>& programs, OutputListener& listener);

 private:
  // Timers of one program: start, and kill by SIGKILL. `asked`: program that `ssh` starts on another host
  // for program `index`.
  struct Start {
    Start(Impl& owner, std::size_t index, ComponentId component, std::optional<ProgramSpec> asked = std::nullopt)
        : impl(owner),
          program(index),
          spec(std::move(asked)),
          timer(owner.engine_, component, EventClass::kProgram, this,
                [](void* self) {
                  auto* start = static_cast<Start*>(self);
                  start->spec ? start->impl.start_asked(*start) : start->impl.start(start->program);
                }),
          // kSupervisor: this class ends every slice before its time, on every host.
          kill(owner.engine_, component, EventClass::kSupervisor, this, [](void* self) {
            auto* start = static_cast<Start*>(self);
            start->impl.kill_program(start->program);
          }) {}
    Impl& impl;
    std::size_t program;
    std::optional<ProgramSpec> spec;
    Timer timer, kill;
  };

  void make_folders();
  void start(std::size_t program);
  // Launches the first process of `spec`, a process of program `index`; nullptr: the run is over.
  Process* launch_program(const ProgramSpec& spec, std::size_t index, std::uint32_t pid, const std::string& random_stream);
  // supervisor_remote.cc
  int start_remote(Thread& asking, std::uint32_t address, std::uint16_t port) override;
  void start_asked(Start& start);
  // Schedules a process of program `index` at spec.start.
  void start_later(ProgramSpec spec, std::size_t index);
  class Terminals;  // supervisor_terminal.h
  void show_remote_shell(std::size_t host);
  // Uses the lowest free slot from `slot` on; nullptr: none is left.
  Thread* make_thread(Process& process, std::uint32_t slot = 0);

  // Descriptors at exec.
  struct Inherited {
    std::vector<int> closed;                  // virtual descriptors that exec closes
    std::vector<int> placeholders;            // virtual descriptors that stay open
    // real descriptors that stay open: number in the process, and the simulator's duplicate
    std::vector<std::pair<int, int>> real;
  };
  std::uint32_t new_pid() override { return next_tid_++; }
  const std::vector<std::unique_ptr<Process>>& processes() const override { return processes_; }
  Ended ended_on(std::size_t host) const override {
    const auto found = ended_on_.find(host);
    return found == ended_on_.end() ? Ended{} : found->second;
  }
  void note_use_of_adapter(std::size_t host) override {
    horizon_.note_use_of_adapter(host);
    opened_ahead_ = true;
  }
  void signal_process(Process& process, int signal, const SignalOrigin& origin) override;
  void stop_process(Process& process, int signal);
  void continue_process(Process& process);
  void notify_parent(Process& process, int status);
  Process* parent_of(Process& process);
  // Fills in the header of a new process's region.
  void fill_header(ProcessRegion& region, std::uint32_t pid, std::uint32_t parent, std::size_t host);
  // Value of RegionHeader::checks: the checks that the shim makes, and what it reports.
  std::uint32_t requested_checks() const {
    const std::uint32_t tells =
        (options_.on_place ? protocol::kTellsPlaces : 0) | (on_call_ ? protocol::kTellsCalls : 0) |
        (options_.lets_unknown_calls_through ? protocol::kLetsUnknownCalls : 0);
    return (options_.checks & ~(protocol::kTellsPlaces | protocol::kTellsCalls | protocol::kLetsUnknownCalls)) | tells;
  }
  // Connects the memory and the region of a new process to this run.
  void adopt(Process& process);
  LaunchedProcess start_process(const LaunchRequest& request);
  // Landlock ruleset for programs of the host; -1 without --confine.
  int ruleset_of(std::size_t host);
  // Adds what every launch needs: CPUID table, AT_RANDOM bytes, patches.
  void equip(LaunchRequest& request, std::size_t host, const std::string& random_stream, code::CodePatches& patches);
  void begin(Process& process, LaunchedProcess launched, std::unique_ptr<code::CodePatches> patches,
             const Scheduling& scheduling = {}, const Credentials& credentials = {});
  // Searches and patches new code in the process's memory. An instruction that cannot be replaced
  // makes the run weak.
  void search_code(Thread& thread);
  void replace_call(Thread& thread);
  // Writes the instructions at which the starting program's threads may be late to the address that the
  // request gives; returns their number.
  std::int64_t place_accesses(Thread& thread);
  // For a thread at a store; see store_buffer.h.
  std::vector<std::uint64_t> loads_behind_store(Thread& thread);
  // Address after the load until which the store stays in the store buffer; 0: it does not wait.
  std::int64_t load_behind_store(Thread& thread);
  void report_unpatched(Process& process);
  // supervisor_machine.cc: effects of the machine, which are no events of the run.
  void note_refusal_of_machine(Thread& thread);
  void note_memory_near_limit(Process& process);
  void note_other_layout(Process& process);
  void note_refused_heap(Process& process);
  void make_folders_of(Thread& thread);
  void answer_about_view(Thread& thread, protocol::ThreadSlot& slot);
  void warn_of_other_run(const std::string& folder);
  void warn_of_fault(Process& process, Thread& thread);
  void note_outside_signals(Process& process);
  void check_end_was_simulated(Process& process, int status);
  bool ended_from_outside();
  std::optional<Answer> forked(Thread& thread);
  // Blocks the parent of a vfork until `child` releases it.
  std::optional<Answer> hold(Thread& thread, Process& child);
  void release_parent(Process& process);
  void return_memory(Process& child);
  Inherited inherited_by(Thread& thread);
  std::optional<Answer> execute_program(Thread& thread);
  void show_execution(std::size_t host, const std::vector<std::string>& files);
  void end_family(Process& process, int status);
  // The thread's timer has fired: attempts its call, or lets it continue.
  void on_thread(Thread& thread);
  void raise_signals(Thread& thread);
  // The thread's call is answered: the thread runs until its next request.
  void resume(Thread& thread, const Answer& answer);
  void grant(Thread& thread, const Answer& answer, Instant start, const Horizon::Bounds& bounds);
  void give_token(Thread& thread, protocol::ThreadSlot* before);
  static bool takes_placements(Thread& thread);
  void set_preempting(Thread& thread, bool preempts);
  void fill_slot(Thread& thread, const Answer& answer, Instant start);
  Horizon::Bounds horizon_of_slice(Process& process);
  // Time of the next start of a program or the next event of a thread on `host`; kNever: none; nullopt:
  // too many to look at.
  std::optional<Instant> next_program_event_on(std::size_t host) const;
  // A thread of the process has the token: takes its requests until one waits for its time or the process has ended.
  void take_request(Process& process);
  void take_requests(Process& process);
  bool wait_for_message(Process& process);
  bool adopt_thread(Process& process);
  void kill_corrupt_process(Process& process);
  // Result of taking a request: it takes effect when its timer fires; it was a poke of a thread that does not
  // wait, which continues as if it had not been poked; it is answered.
  enum class Taken : std::uint8_t { kScheduled, kNotWaiting, kAnswered };
  Taken take_request_of(Thread& thread);
  void report_call(Thread& thread, const protocol::ThreadSlot& slot) const;
  bool may_answer_ahead(Thread& thread, Instant due) const;
  bool has_blocked_sibling(Thread& thread) const;
  Taken answer_ahead(Thread& thread, Instant due);
  // False: the thread does not wait. True: it is parked, or was killed for a corrupt region.
  bool take_poke(Thread& thread);
  std::optional<Answer> park_poll(Thread& thread);
  void park(Thread& thread, Parked parked);
  WaitingTime& waiting_time(Thread& thread);
  void note_refusal(Thread& thread, const std::string& why);
  void note_polling(Thread& thread, const protocol::ThreadSlot& slot);
  void note_computing(Thread& thread, const protocol::ThreadSlot& slot);
  void add_computing(Thread& thread, std::chrono::duration<double> passed);
  bool shows_something(Process& process, const SeenPoll& poll);
  bool restore_turn_start_memory(Thread& thread, const Thread::Turn& turn);
  void finish_turn(Thread& thread, Thread::Turn turn);
  void catch_up_parked_siblings(Thread& thread);
  // Restores the present content of memory after a turn that was finished in the past.
  void end_turn(Process& process);
  LoopAnalyst& analyst_of(Process& process);
  bool follow_clock(Thread& thread);
  bool has_distant_horizon(Process& process);
  void check_shared(Process& process);
  void check_watched(Process& ran);
  bool wake_who_changes(Thread& thread, std::span<const spin::ByteRun> watched);
  bool is_watched(Thread& thread, const Parked& parked) const;
  bool watched_bytes_changed(Thread& thread);
  void on_memory_written(Process& process, const ProcessMemory::Written& written);
  void check_reads_beside(Thread& thread, const ProcessMemory::Written& written);
  bool alone_on_host(const Thread& thread, std::size_t host) const;
  bool has_parked_thread(std::size_t host) const;
  void check_ran_in_simulation(const Process& process);
  std::string why_not_parked(Process& process);
  // Takes over the thread's clock and doorbells. False: they make no sense, and the process was killed.
  bool take_slice(Thread& thread);
  std::uint64_t caller_of(Process& process, const protocol::VerbNote& note);
  void report_verb_notes(Thread& thread, protocol::ThreadSlot& slot, Instant end);
  void ring(Thread& thread, protocol::DoorbellKind kind, std::uint64_t context, std::uint32_t number,
            std::uint64_t value, Duration call_time);
  void end_thread(Thread& thread);
  void end(Process& process);
  // supervisor_ends.cc
  void kill_program(std::size_t program);
  void kill_process(Process& process);
  // Sends SIGTERM to background programs when all others have ended.
  void end_background();
  void reap(Process& process);
  // Called between two events: removes ended processes from the lists that every hand-over visits, and
  // unmaps their regions.
  void retire_ended();
  void log_requests() const;
  void log_loops(Process& process) const;
  void kill_all();
  void output(Process& process, int fd, std::span<const std::byte> bytes);
  void warn(Process& process, const std::string& text, bool weakens = false);
  std::string title(const Process& process) const {
    return fmt::format("{}: {} (pid {})", process.host().name, process.name(), process.pid());
  }
  // Title of a program with all its processes: host and the name it was started by.
  std::string title_of_program(std::size_t program) const {
    const ProgramSpec& spec = programs_->at(program);
    const std::string& path = spec.arguments.at(0);
    return fmt::format("{}: {}", hosts_.at(spec.host).name, path.substr(path.rfind('/') + 1));
  }
  void finish(Outcome outcome, std::string finding) {
    finished_ = true;
    result_.outcome = outcome;
    result_.findings.push_back(std::move(finding));
  }
  void interrupt() {
    finished_ = true;
    result_.outcome = Outcome::kInterrupted;
  }
  void report_deadlock();
  // Virtual time at which the run ends, as far as it is known.
  Instant virtual_end() const;
  // One sentence for each waiting thread. `for_ever`: nothing will end the waits.
  std::vector<std::string> waits(bool for_ever);
  std::vector<BlockedThread> blocked_threads(bool for_ever);
  void list_waits(bool for_ever);  // adds them to the findings of the run, with the cause of the hang
  class Held;
  // Calls SupervisorOptions::while_held: a debugger holds `process`, which has the token. True:
  // the run is to end.
  bool report_holding(Process& process);
  void count_parked_until(Instant end);
  bool program_alive(std::size_t program) const { return living_.at(program) > 0; }
  bool any_alive() const { return living_in_all_ > 0; }
  // Adds to, and counts off, the live processes. The counts replace a walk of the list after every event.
  Process& add_process(std::unique_ptr<Process> process);
  void count_end(const Process& process);

  Engine& engine_;
  Tracer& tracer_;
  Choices& choices_;
  std::vector<HostSpec> hosts_;
  SupervisorOptions options_;
  Horizon horizon_;
  TokenWait token_;
  PageCache page_cache_;  // of the process whose memory is being read
  ReadAhead read_ahead_;
  WriteBehind write_behind_;
  std::vector<std::uint64_t> memory_epochs_;  // by host, see ProcessMemory::use()
  std::optional<SecondCore> second_core_;  // set during run()
  std::unique_ptr<RunFolder> own_folder_;
  RunFolder* folder_ = nullptr;
  std::set<std::string> met_other_run_in_;  // folders about which warn_of_other_run has warned
  std::map<std::size_t, Confinement> confinements_;  // by host, once it has started a program
  Kernel kernel_;
  CallPlaces places_{options_};
  // by pid and return address: whether the caller of a verb is inline code of a verbs header
  std::map<std::pair<pid_t, std::uint64_t>, bool> are_in_header_;
  code::CodeFiles own_code_files_;
  code::CodeFiles& code_files_ = options_.run_after_run != nullptr ? options_.run_after_run->code_files()
                                 : options_.code_files != nullptr  ? *options_.code_files
                                                                   : own_code_files_;
  std::vector<std::vector<protocol::CpuidEntry>> processors_;  // by host: CPUID answers
  const std::vector<ProgramSpec>* programs_ = nullptr;
  OutputListener* listener_ = nullptr;
  std::function<void(const ProgramCall&)> on_call_;
  std::vector<std::unique_ptr<Start>> starts_;
  std::vector<std::vector<const Start*>> starts_on_host_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::vector<Process*>> on_host_;  // those of processes_, by host
  // ended processes whose memory packets in flight may still name
  std::vector<std::unique_ptr<Process>> ended_;
  std::map<std::size_t, Ended> ended_on_;        // by host
  bool someone_ended_ = false;                   // a process that has ended is still in processes_
  std::vector<std::size_t> living_;      // processes by program
  std::size_t living_in_all_ = 0;
  std::size_t foreground_left_ = 0;      // programs not in the background, not started yet or with a process alive
  std::size_t not_started_ = 0;
  std::uint32_t first_pid_ = 0, next_tid_ = 0;
  int core_ = 0;
  std::int64_t machine_began_ns_ = 0;  // CLOCK_REALTIME of the machine at the start of the run, ns
  std::uint64_t heap_size_ = protocol::kShimHeapSize;  // bytes of every process's shim heap
  // Probed at the first call.
  bool timestamp_counter_traps();
  std::optional<bool> timestamp_counter_traps_;
  std::uint64_t header_number_ = 0;  // random stream number of the next region header
  Thread* running_ = nullptr;  // thread that got the token last
  const Thread* ran_before_ = nullptr;  // thread that got it before running_; only compared, may dangle
  bool two_alternate_ = false;          // running_ also had the token before ran_before_
  Thread* early_call_thread_ = nullptr;    // thread whose call is being executed before its time
  bool opened_ahead_ = false;  // that call has opened a path to the adapter
  Thread* dead_token_holder_ = nullptr;     // thread that held the token when its process died
  Instant slice_start_{};
  Instant slice_horizon_{};          // horizon of the current slice
  // Present content of memory that shows its former content to a thread that finishes a turn.
  std::vector<spin::ByteRun> changed_in_turn_;
  std::vector<Instant> ran_until_;  // by host: latest virtual time that a thread of it has reached
  Instant ran_ahead_{};             // latest virtual time reached ahead of the engine by any thread or call
  std::unique_ptr<Terminals> terminals_;  // nullptr: no terminal has a user
  // a request is being taken, of a thread whose clock may be ahead of the engine's
  bool is_taking_request_ = false;
  Instant slice_end_{};        // clock of the thread that returned the token last
  WaitingTimes waiting_times_;
  // by tid: return address of a poll whose source line is not looked up yet
  std::map<std::uint32_t, std::uint64_t> polls_to_place_;
  Thread* last_poller_ = nullptr;  // thread that returned the token last, if it did nothing but poll
  struct Computing {
    double seconds = 0;    // wall-clock time
    std::uint64_t at = 0;  // instruction at its last poke, if it was not waiting
  };
  std::map<std::uint32_t, Computing> computing_;  // by tid
  std::chrono::steady_clock::time_point handed_back_{};  // last return of the token
  std::chrono::steady_clock::time_point given_{};        // last hand-out of the token
  // For the log: requests by kind, calls answered before their time, system calls by number.
  std::uint64_t asked_[16] = {};
  std::uint64_t answered_ahead_ = 0;
  std::map<std::uint32_t, std::uint64_t> calls_asked_;
  bool finished_ = false;
  bool background_terminated_ = false;
  bool warned_of_layout_ = false;
  RunResult result_;
  std::map<std::size_t, WarningLog> warning_logs_;  // by program
};

}  // namespace verbatim::supervisor
