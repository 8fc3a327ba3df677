// How a run goes, whatever its programs are: mode, seed, limits, and what of the machine is relied on.
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
class RunAfterRun;
class TerminalUser;

struct Limits {
  Instant virtual_end = kEndOfTime;            // --time-limit; not later
  std::int64_t stuck_after_ms = 60'000;        // wall time one program may compute or sleep without a call
  // When somebody found that packets of the fabric never move again; kNever: nobody has. The run ends soon after, with
  // Outcome::kDeadlock: as late as a thread may have run by itself then. nullptr: nobody looks.
  const Instant* fabric_deadlock = nullptr;
};

// Two ways to run, one result. Call by call is the oracle: every intercepted call hands the token over. In slices a
// thread answers its calls itself up to a horizon before which nothing outside can notice or change anything.
enum class Mode { kSlices, kCallByCall };

// Whether the simulator runs on a processor of its own beside the one of the programs: costs or saves real time, decides nothing.
enum class SecondCoreUse : std::uint8_t {
  kNever,
  kWhenFree,  // while one has nothing else to do, and looking there for answers is not in vain
  kAlways,
  kChanging,  // now and then, at moments that nobody can foresee: to test that it decides nothing
};

// What the machine is relied on for; found out by `verbatim check --host`, or taken away by --assume-missing, which makes
// every run go the second way.
struct MachineFacilities {
  bool timestamp_counter_trap = true;  // PR_SET_TSC stops the instructions that nothing was put in the place of
  bool jumps = true;                   // replaced instructions are jumps where one fits; otherwise all trap
  bool loader_breakpoints = true;      // otherwise every system call of the loader is looked at
  bool overcommit = true;              // the shim's heap is reserved in full size
  bool call_traps = true;              // system calls trap until that has proved worth replacing; otherwise once
  bool fixed_layout = true;            // otherwise programs are moved to their addresses
  bool memory_calls = true;            // process_vm_readv and process_vm_writev; otherwise /proc/PID/mem
  bool descriptor_copies = true;       // otherwise programs are stopped and send what they have open
  bool removable_vdso = true;          // otherwise it stays where it is, and nobody is told

  // Names for --assume-missing.
  static std::vector<std::string> replaceable();
  // False: there is no such facility.
  bool assume_missing(std::string_view name);
};

// One line of `verbatim check --host`.
struct Facility {
  enum class State { kWorks, kOtherMeans, kMissing };
  std::string name, what;
  State state = State::kWorks;
  std::string consequence;  // why it does not work, and what follows or what to do
};

class HeldRun;  // held_run.h

struct SupervisorOptions {
  Mode mode = Mode::kSlices;
  std::uint64_t seed = 1;
  std::int64_t epoch_ns = 1'700'000'000'000'000'000;  // CLOCK_REALTIME at virtual time 0
  std::int64_t poke_period_us = 50;            // wall time after which a thread without a call is looked at
  bool traps_loops = true;                     // jumps of loops that wait trap (tasks/loop_traps.h); a debugger would stop there
  int core = -1;                               // CPU that programs run on; -1: the one that the caller is on
  SecondCoreUse second_core = SecondCoreUse::kNever;
  std::string shim_directory;                  // holds the libraries of verbs_shim, ssh, sshd and keeper
  // Programs work in copies of their folders (machine/folder_views.h), which go with the run; `working_snapshot`: times of files
  // there that take the place of the machine's, or nullptr.
  bool views_working_folders = false;
  const FolderSnapshot* working_snapshot = nullptr;
  std::string keep_files_in;                   // folder that gets the files of the hosts' own folders; empty: none
  // Called for each host that had programs when all have ended: what they left in the host's own folders, which lie in
  // `folder`; `made_first` were there before them. Sentences that it returns become warnings.
  std::function<std::vector<std::string>(ComponentId host, const std::string& folder,
                                         const std::set<std::string>& made_first)>
      on_files;
  std::uint32_t checks = ~0u;  // that are made: protocol::check_bit() of each
  // What has become of packets to whom ib::addressee() names so, in words; "": nothing is known. Empty: nobody knows.
  std::function<std::string(const std::string& addressee)> dropped_to;
  // Is told of requests that are posted, events that are asked for and threads that are late. Empty: nobody wants to know.
  std::function<void(const CallPlace&)> on_place;
  // Is told of every wait of a thread when it has ended, or the run has. Empty: nobody wants to know.
  std::function<void(const ThreadWait&)> on_wait;
  // Is asked every 20 ms while a debugger holds the program whose turn it is; true: the run is to end, as by an interrupt. Empty:
  // nobody wants to know.
  std::function<bool(HeldRun&)> while_held;
  bool late_accesses = false;  // threads may be late before accesses to memory, too, as the run's choices say
  bool lets_unknown_calls_through = false;  // what is not simulated reaches the machine; the run is then weak
  // Below which folders of the machine, and those that a host has of its own, programs may change files (confinement.h);
  // nullopt: wherever the user may.
  std::optional<std::vector<std::string>> changes_only_in;
  // Whether the run goes on when all programs have ended, for traffic that is not theirs. Empty: it does not.
  std::function<bool()> has_other_work;
  MachineFacilities machine;
  Limits limits;
  // Whoever sits at the terminals of programs that have one; outlives the run. nullptr: nobody.
  TerminalUser* terminal_user = nullptr;
  // Who starts processes; empty: launch() of launcher.h. A test may put something there that is no program.
  std::function<LaunchedProcess(const LaunchRequest&)> launcher;
  // Files whose code was searched before, for many runs of the same programs; outlives the run. nullptr: each is searched here.
  code::CodeFiles* code_files = nullptr;
  // What the run shares with those before and after it in the same process, in place of code_files too; nullptr: nothing.
  RunAfterRun* run_after_run = nullptr;
};

}  // namespace verbatim::supervisor
