// Options of a run, independent of its programs: mode, seed, limits, required facilities of the machine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/time.h"
#include "sim/supervisor/spec/call_place.h"
#include "sim/supervisor/spec/folder_snapshot.h"
#include "sim/supervisor/spec/thread_wait.h"

namespace verbatim::code {
class CodeFiles;
}

namespace verbatim::supervisor {

struct LaunchRequest;
struct LaunchedProcess;
class MachineFiles;
class RunAfterRun;
class TerminalUser;

struct Limits {
  Instant virtual_end = kEndOfTime;            // --time-limit; at most kEndOfTime
  // The run ends with Outcome::kDeadlock if only timers fire for this long (idle_watch.h); 0: it does not.
  Duration without_progress{0};
  std::int64_t stuck_after_ms = 60'000;  // wall-clock limit of computing or sleeping without a call
  // Time at which a deadlock of the fabric was found; kNever: none. The run then ends with
  // Outcome::kDeadlock, later by the longest time that a thread may have run ahead. nullptr: not checked.
  const Instant* fabric_deadlock = nullptr;
};

// Two modes with one result. Call by call is the oracle: every intercepted call hands the token over.
// In slices a thread answers its calls itself up to a horizon, before which nothing outside can notice
// or change anything.
enum class Mode { kSlices, kCallByCall };

// Whether the simulator runs on another CPU than the programs. Costs or saves real time, and decides nothing.
enum class SecondCoreUse : std::uint8_t {
  kNever,
  kWhenFree,  // while one is idle and polling for answers there pays
  kAlways,
  kChanging,  // at random times: to test that it decides nothing
};

// Facilities of the machine that are used; determined by `verbatim check --host`, or disabled by
// --assume-missing, which makes every run use the substitutes.
struct MachineFacilities {
  bool timestamp_counter_trap = true;  // PR_SET_TSC traps instructions that were not replaced
  bool jumps = true;                   // replaced instructions are jumps where one fits; false: all trap
  bool loader_breakpoints = true;      // false: every system call of the loader is examined
  bool overcommit = true;              // the shim's heap is reserved in full size
  bool call_traps = true;  // system calls trap until replacing them pays; false: replaced after one trap
  bool fixed_layout = true;            // false: programs are moved to their addresses
  bool memory_calls = true;            // process_vm_readv and process_vm_writev; false: /proc/PID/mem
  bool descriptor_copies = true;       // false: programs are stopped and send their open files
  bool removable_vdso = true;          // false: the vDSO stays, and the auxiliary vector does not mention it

  // Names for --assume-missing.
  static std::vector<std::string> replaceable();
  // False: there is no facility of this name.
  bool assume_missing(std::string_view name);
};

// One line of `verbatim check --host`.
struct Facility {
  enum class State { kWorks, kOtherMeans, kMissing };
  std::string name, what;  // `what`: a description
  State state = State::kWorks;
  std::string consequence;  // reason for a failure, and the consequence or advice
};

class HeldRun;  // held_run.h

struct SupervisorOptions {
  Mode mode = Mode::kSlices;
  std::uint64_t seed = 1;
  std::int64_t epoch_ns = 1'700'000'000'000'000'000;  // CLOCK_REALTIME at virtual time 0
  std::int64_t poke_period_us = 50;            // wall-clock time after which a thread without a call is poked
  bool traps_loops = true;  // jumps of waiting loops trap (tasks/loop_traps.h); a debugger would stop there
  int core = -1;                               // CPU that programs run on; -1: the caller's
  SecondCoreUse second_core = SecondCoreUse::kNever;
  std::string shim_directory;                  // holds the libraries of verbs_shim, ssh, sshd and keeper
  // Programs work in copies of their folders (machine/folder_views.h), removed with the run;
  // `working_snapshot`: modification times there that replace the machine's, or nullptr.
  bool views_working_folders = false;
  const FolderSnapshot* working_snapshot = nullptr;
  // Files that programs see in place of the machine's, through a copy-on-write view of "/"; outlives the run.
  // nullptr: the machine's. A path without an answer ends the run, or with `lets_unknown_calls_through` is
  // missing, and the run is weak.
  MachineFiles* machine_files = nullptr;
  std::string keep_files_in;  // folder for copies of the files in the hosts' own folders; empty: none
  // Called at the end for each host that had programs: the files left in the host's own folders, which are
  // below `folder`; `made_first` are folders that no program has created. Returned sentences become warnings.
  std::function<std::vector<std::string>(ComponentId host, const std::string& folder,
                                         const std::set<std::string>& made_first)>
      on_files;
  std::uint32_t checks = ~0u;  // checks to make: protocol::check_bit() of each
  // Returns why packets to `addressee` (ib::addressee()) were dropped, as a phrase; "": unknown. Empty
  // function: unknown for all.
  std::function<std::string(const std::string& addressee)> dropped_to;
  // Called for posted requests, armed completion queues and late threads. Empty: not reported.
  std::function<void(const CallPlace&)> on_place;
  // Called for every wait of a thread, when it or the run has ended. Empty: not reported.
  std::function<void(const ThreadWait&)> on_wait;
  // Called every 20 ms while a debugger holds the program that has the token; true: ends the run as an
  // interrupt does. Empty: not called.
  std::function<bool(HeldRun&)> while_held;
  bool late_accesses = false;  // threads may be late before accesses to memory too, as the run's choices say
  // calls that are not simulated reach the machine; the run is then weak
  bool lets_unknown_calls_through = false;
  // Native folders below which programs may change files, besides the host's own folders (confinement.h);
  // nullopt: wherever the user may.
  std::optional<std::vector<std::string>> changes_only_in;
  // Time of the last record of fabric, adapters or programs, except calls, doorbells and warnings (idle_watch.h). Empty: unknown.
  std::function<Instant()> last_record;
  // Whether the run continues after all programs have ended, for other traffic. Empty: it does not.
  std::function<bool()> has_other_work;
  MachineFacilities machine;
  Limits limits;
  // User of the terminals of programs; outlives the run. nullptr: none.
  TerminalUser* terminal_user = nullptr;
  // Starts processes; empty: launch() of launcher.h. Tests may start something that is no program.
  std::function<LaunchedProcess(const LaunchRequest&)> launcher;
  // Search results for files, shared by runs of the same programs; outlives the run. nullptr: files are
  // searched in this run.
  code::CodeFiles* code_files = nullptr;
  // State shared with earlier and later runs in the process, which includes `code_files`; nullptr: none.
  RunAfterRun* run_after_run = nullptr;
};

}  // namespace verbatim::supervisor
