// The inside of Supervisor, shared by its parts:
//   supervisor.cc           the loop, the start and the end of processes, reports
//   supervisor_tokens.cc    handing the token over, and what a thread asks when it gives it back
//   supervisor_parking.cc   threads that wait by running
//   supervisor_terminal.cc  terminals that somebody outside sits at
//   supervisor_family.cc    fork, exec, and the end of one process as others see it
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
  // The start of one program, and its end by SIGKILL. `asked`: for a program of `index` on another host, by `ssh`.
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
          // Of the class that ends every slice before it, on whatever host.
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
  // The first process of `spec`, which counts as one of program `index`; nullptr: the run is over.
  Process* launch_program(const ProgramSpec& spec, std::size_t index, std::uint32_t pid, const std::string& random_stream);
  // supervisor_remote.cc
  int start_remote(Thread& asking, std::uint32_t address, std::uint16_t port) override;
  void start_asked(Start& start);
  // A process of program `index`, when its time has come.
  void start_later(ProgramSpec spec, std::size_t index);
  class Terminals;  // supervisor_terminal.h
  void show_remote_shell(std::size_t host);
  // In the lowest free slot, or in `slot`; nullptr: no slot is left.
  Thread* make_thread(Process& process, std::uint32_t slot = 0);

  // Processes that come from processes.
  struct Inherited {
    std::vector<int> closed;                  // virtual descriptors that exec closes
    std::vector<int> placeholders;            // virtual ones that it keeps
    std::vector<std::pair<int, int>> real;    // number there, and a copy of our own
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
  void tell_parent(Process& process, int status);
  Process* parent_of(Process& process);
  void describe(ProcessRegion& region, std::uint32_t pid, std::uint32_t parent, std::size_t host);
  // What processes are to look for in their own calls, and to tell.
  std::uint32_t wanted_of_processes() const {
    const std::uint32_t tells =
        (options_.on_place ? protocol::kTellsPlaces : 0) | (on_call_ ? protocol::kTellsCalls : 0) |
        (options_.lets_unknown_calls_through ? protocol::kLetsUnknownCalls : 0);
    return (options_.checks & ~(protocol::kTellsPlaces | protocol::kTellsCalls | protocol::kLetsUnknownCalls)) | tells;
  }
  void adopt(Process& process);
  LaunchedProcess start_process(const LaunchRequest& request);
  // Landlock's ruleset for programs of the host, or -1.
  int ruleset_of(std::size_t host);
  // What a program is launched with besides its own: its processor, its random bytes, its patches.
  void equip(LaunchRequest& request, std::size_t host, const std::string& random_stream, code::CodePatches& patches);
  void begin(Process& process, LaunchedProcess launched, std::unique_ptr<code::CodePatches> patches,
             const Scheduling& scheduling = {}, const Credentials& credentials = {});
  // New code in the process's memory is searched. What could not be replaced weakens the run.
  void search_code(Thread& thread);
  void replace_call(Thread& thread);
  // The process begins: where its threads may be late before accesses to memory is written where it says. How many places.
  std::int64_t place_accesses(Thread& thread);
  // Of a thread that is at a store, see store_buffer.h.
  std::vector<std::uint64_t> loads_behind_store(Thread& thread);
  // The address behind the load that the store is to wait for; 0: none.
  std::int64_t load_behind_store(Thread& thread);
  void tell_unpatched(Process& process);
  // supervisor_machine.cc: what the machine does to a run is no event of it.
  void note_refusal_of_machine(Thread& thread);
  void note_little_room(Process& process);
  void note_other_layout(Process& process);
  void note_refused_heap(Process& process);
  void make_folders_of(Thread& thread);
  void answer_about_view(Thread& thread, protocol::ThreadSlot& slot);
  void warn_of_other_run(const std::string& folder);
  void warn_of_fault(Process& process, Thread& thread);
  void note_outside_signals(Process& process);
  void check_end_was_ours(Process& process, int status);
  bool ended_from_outside();
  std::optional<Answer> forked(Thread& thread);
  std::optional<Answer> hold(Thread& thread, Process& child);
  void release_parent(Process& process);
  void return_memory(Process& child);
  Inherited inherited_by(Thread& thread);
  std::optional<Answer> execute_program(Thread& thread);
  void show_execution(std::size_t host, const std::vector<std::string>& files);
  void end_family(Process& process, int status);
  void on_thread(Thread& thread);
  void raise_signals(Thread& thread);
  // The thread's answer is in place: it runs until its next request.
  void resume(Thread& thread, const Answer& answer);
  void grant(Thread& thread, const Answer& answer, Instant start, const Horizon::Bounds& bounds);
  void give_token(Thread& thread, protocol::ThreadSlot* before);
  static bool takes_placements(Thread& thread);
  void set_preempting(Thread& thread, bool preempts);
  void fill_slot(Thread& thread, const Answer& answer, Instant start);
  Horizon::Bounds horizon_of_slice(Process& process);
  // When the next program of `host` starts or thread of it goes on, kNever if none does; nullopt: they are many.
  std::optional<Instant> next_program_event_on(std::size_t host) const;
  void take_request(Process& process);
  void take_requests(Process& process);
  bool wait_for_message(Process& process);
  bool adopt_thread(Process& process);
  void stop_wild(Process& process);
  // What has become of a request: it is looked at when its time has come; a poke that led to nothing, so that the thread goes on
  // as if it had never been sent; it is answered already.
  enum class Taken : std::uint8_t { kScheduled, kNotWaiting, kAnswered };
  Taken take_request_of(Thread& thread);
  void tell_call(Thread& thread, const protocol::ThreadSlot& slot) const;
  bool may_answer_ahead(Thread& thread, Instant due) const;
  bool someone_waits_beside(Thread& thread) const;
  Taken answer_ahead(Thread& thread, Instant due);
  bool take_poke(Thread& thread);
  std::optional<Answer> park_poll(Thread& thread);
  void park(Thread& thread, Parked parked);
  WaitingTime& waiting_time(Thread& thread);
  void note_refusal(Thread& thread, const std::string& why);
  void note_polling(Thread& thread, const protocol::ThreadSlot& slot);
  void note_computing(Thread& thread, const protocol::ThreadSlot& slot);
  void add_computing(Thread& thread, std::chrono::duration<double> passed);
  bool shows_something(Process& process, const SeenPoll& poll);
  bool show_past(Thread& thread, const Thread::Turn& turn);
  void finish_turn(Thread& thread, Thread::Turn turn);
  void bring_to_present(Thread& thread);
  void end_turn(Process& process);
  LoopAnalyst& analyst_of(Process& process);
  bool follow_clock(Thread& thread);
  bool is_alone_for_long(Process& process);
  void check_shared(Process& process);
  void check_watched(Process& ran);
  bool wake_who_changes(Thread& thread, std::span<const spin::ByteRun> watched);
  bool is_watched(Thread& thread, const Parked& parked) const;
  bool watched_bytes_changed(Thread& thread);
  void on_memory_written(Process& process, const ProcessMemory::Written& written);
  void check_reads_beside(Thread& thread, const ProcessMemory::Written& written);
  bool alone_on_host(const Thread& thread, std::size_t host) const;
  bool someone_parked(std::size_t host) const;
  void check_was_ours(const Process& process);
  std::string why_not_parked(Process& process);
  bool take_slice(Thread& thread);
  std::uint64_t caller_of(Process& process, const protocol::VerbNote& note);
  void tell_notes(Thread& thread, protocol::ThreadSlot& slot, Instant end);
  void ring(Thread& thread, protocol::DoorbellKind kind, std::uint64_t context, std::uint32_t number,
            std::uint64_t value, Duration call_time);
  void end_thread(Thread& thread);
  void end(Process& process);
  // supervisor_ends.cc
  void kill_program(std::size_t program);
  void kill_process(Process& process);
  // Tells what runs in the background to end when nothing else is left.
  void end_background();
  void reap(Process& process);
  // Between two events: who has ended leaves the list that every hand-over visits, and the memory that was shared with it.
  void retire_ended();
  void log_requests() const;
  void log_loops(Process& process) const;
  void kill_all();
  void output(Process& process, int fd, std::span<const std::byte> bytes);
  void warn(Process& process, const std::string& text, bool weakens = false);
  std::string title(const Process& process) const {
    return fmt::format("{}: {} (pid {})", process.host().name, process.name(), process.pid());
  }
  // Title of a program with all its processes: the name that it was started by.
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
  // When the run ends, as far as is known.
  Instant virtual_end() const;
  // What each thread waits for, a sentence each. `for_ever`: nothing will ever end it.
  std::vector<std::string> waits(bool for_ever);
  std::vector<BlockedThread> blocked_threads(bool for_ever);
  void list_waits(bool for_ever);  // as findings of the run, with the cause that they show
  class Held;
  // A debugger holds `process`, whose turn it is; true: the run is to end.
  bool tell_of_holding(Process& process);
  void count_parked_until(Instant end);
  bool program_alive(std::size_t program) const { return living_.at(program) > 0; }
  bool any_alive() const { return living_in_all_ > 0; }
  // Into and out of the list of those alive. Asked after every event and every end, so nobody walks the list for it.
  Process& add_process(std::unique_ptr<Process> process);
  void count_end(const Process& process);

  Engine& engine_;
  Tracer& tracer_;
  Choices& choices_;
  std::vector<HostSpec> hosts_;
  SupervisorOptions options_;
  Horizon horizon_;
  TokenWait token_;
  PageCache page_cache_;  // of whoever is looked at
  ReadAhead read_ahead_;
  WriteBehind write_behind_;
  std::vector<std::uint64_t> memory_epochs_;  // by host, see ProcessMemory::use()
  std::optional<SecondCore> second_core_;  // while the run lasts
  std::unique_ptr<RunFolder> own_folder_;
  RunFolder* folder_ = nullptr;
  std::set<std::string> met_other_run_in_;  // folders
  std::map<std::size_t, Confinement> confinements_;  // by host, of those that have started a program
  Kernel kernel_;
  CallPlaces places_{options_};
  std::map<std::pair<pid_t, std::uint64_t>, bool> are_in_header_;  // callers of verbs: whether in a header of verbs
  code::CodeFiles own_code_files_;
  code::CodeFiles& code_files_ = options_.run_after_run != nullptr ? options_.run_after_run->code_files()
                                 : options_.code_files != nullptr  ? *options_.code_files
                                                                   : own_code_files_;
  std::vector<std::vector<protocol::CpuidEntry>> processors_;  // by host: what CPUID answers
  const std::vector<ProgramSpec>* programs_ = nullptr;
  OutputListener* listener_ = nullptr;
  std::function<void(const ProgramCall&)> on_call_;
  std::vector<std::unique_ptr<Start>> starts_;
  std::vector<std::vector<const Start*>> starts_on_host_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::vector<Process*>> on_host_;  // those of processes_, by host
  std::vector<std::unique_ptr<Process>> ended_;  // what is on its way in the fabric may still name their memory
  std::map<std::size_t, Ended> ended_on_;        // by host
  bool someone_ended_ = false;                   // and is in processes_
  std::vector<std::size_t> living_;      // processes by program
  std::size_t living_in_all_ = 0;
  std::size_t foreground_left_ = 0;      // programs not in the background, not started yet or with a process alive
  std::size_t not_started_ = 0;
  std::uint32_t first_pid_ = 0, next_tid_ = 0;
  int core_ = 0;
  std::int64_t machine_began_ns_ = 0;  // the machine's time when the run began
  std::uint64_t heap_size_ = protocol::kShimHeapSize;  // of every process's shim
  // Tried out when it is first needed.
  bool timestamp_counter_traps();
  std::optional<bool> timestamp_counter_traps_;
  std::uint64_t header_number_ = 0;  // of the regions described so far
  Thread* running_ = nullptr;  // whoever got the token last
  const Thread* ran_before_ = nullptr;  // whoever had it before; only compared, it may be gone
  bool two_alternate_ = false;          // who has it now had it before that one, too
  Thread* ahead_ = nullptr;    // its call is being executed before its time
  bool opened_ahead_ = false;  // it has opened a way to the adapter
  Thread* died_ = nullptr;     // its process has ended while it held the token
  Instant slice_start_{};
  Instant granted_{};          // horizon of the current slice
  // Memory that a thread sees as it was before, while it finishes a turn: what is there now.
  std::vector<spin::ByteRun> changed_in_turn_;
  std::vector<Instant> ran_until_;  // by host: its programs
  Instant ran_ahead_{};             // all that has been done by now was before that
  std::unique_ptr<Terminals> terminals_;  // nullptr: nobody sits at one
  bool is_taking_request_ = false;  // of a thread that may have run ahead
  Instant slice_end_{};        // clock of the thread that gave the token back
  WaitingTimes waiting_times_;
  std::map<std::uint32_t, std::uint64_t> polls_to_place_;  // by thread: the return address of a poll that may have a line
  Thread* polling_ = nullptr;  // gave the token back last and did nothing but poll
  struct Computing {
    double seconds = 0;    // real time
    std::uint64_t at = 0;  // where it was when it was poked in vain
  };
  std::map<std::uint32_t, Computing> computing_;  // by thread
  std::chrono::steady_clock::time_point handed_back_{};  // when somebody gave it back last
  std::chrono::steady_clock::time_point given_{};        // when it was given last
  // For the log: requests by kind, those that were answered ahead of their time, system calls by number.
  std::uint64_t asked_[16] = {};
  std::uint64_t answered_ahead_ = 0;
  std::map<std::uint32_t, std::uint64_t> calls_asked_;
  bool finished_ = false;
  bool background_told_ = false;
  bool told_of_layout_ = false;
  RunResult result_;
  std::map<std::size_t, WarningLog> warning_logs_;  // by program
};

}  // namespace verbatim::supervisor
