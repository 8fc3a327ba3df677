// Declarations shared by the runtime's files: the region, the calling thread's slot, the token exchange.
#pragma once

#include <time.h>
#include <cstdint>

#include "verbs_shim/protocol/patches.h"
#include "verbs_shim/protocol/path_calls.h"
#include "verbs_shim/protocol/region.h"
#include "verbs_shim/runtime/runtime.h"
#include "verbs_shim/runtime/thread_state.h"

extern "C" __attribute__((visibility("hidden"))) int verbatim_clock_gettime(clockid_t clock, timespec* time) noexcept;
extern "C" __attribute__((visibility("hidden"))) int verbatim_sched_yield() noexcept;
extern "C" __attribute__((visibility("hidden"))) time_t verbatim_time(time_t* seconds) noexcept;
extern "C" __attribute__((visibility("hidden"))) int verbatim_gettimeofday(timeval* time, void* zone) noexcept;

namespace verbatim::shim {

extern bool is_attached;
inline protocol::ThreadSlot* current_slot() { return has_foreign_bases ? find_slot() : verbatim_thread_slot; }
#define my_slot current_slot()

inline protocol::RegionHeader& region_header() {
  return *reinterpret_cast<protocol::RegionHeader*>(protocol::kRegionAddress);
}
inline protocol::ThreadSlot& slot_at(std::uint32_t index) {
  return reinterpret_cast<protocol::ThreadPart*>(protocol::kRegionAddress + protocol::kThreadsOffset)[index].slot;
}
inline std::uint32_t my_slot_index() {
  return static_cast<std::uint32_t>(reinterpret_cast<protocol::ThreadPart*>(my_slot) -
                                    reinterpret_cast<protocol::ThreadPart*>(&slot_at(0)));
}
inline protocol::Mailbox& my_mailbox() { return reinterpret_cast<protocol::ThreadPart*>(my_slot)->mailbox; }

inline protocol::PathView& path_view() {
  return *reinterpret_cast<protocol::PathView*>(protocol::kRegionAddress + protocol::kPathViewOffset);
}

inline protocol::HighDescriptors& high_descriptors() {
  return *reinterpret_cast<protocol::HighDescriptors*>(protocol::kRegionAddress + protocol::kHighDescriptorsOffset);
}

inline bool is_virtual_fd(long fd) {
  if (fd < 0 || fd >= protocol::kMostDescriptors) return false;
  const std::atomic<std::uint64_t>* const words =
      fd < protocol::kUsualDescriptors ? region_header().virtual_fds : high_descriptors().virtual_fds;
  return (words[fd / 64].load(std::memory_order_relaxed) >> (fd % 64)) & 1;
}

// Sends the calling thread a signal natively. In the handler of a trapped call all signals are masked: the
// program's handler runs when that handler returns, with the call's result in place, as on Linux. Elsewhere
// it runs before raise_here() returns, and may make calls. `mask`: the program's mask.
long raise_here(const protocol::RaisedSignal& raised, std::uint64_t mask);
// The signal mask that the program has set in the calling thread. Valid during a call.
std::uint64_t program_mask();

// Result of a trapped call that is to be repeated after the program's signal handlers have run.
inline constexpr long kMakeCallAgain = -513;

// Paths of a call that names files: the arguments for the kernel, and the supervisor's redirection.
struct PathExchange {
  const protocol::PathCall* call;
  long native[6];
  bool executed = false;             // the kernel has executed it
  bool names_own = false;            // a file in one of the host's own folders
  int other = -1;                    // index of the path that the supervisor redirects to `text`; -1: none
  char text[protocol::kPathRoom];
};

// Gives the token to the supervisor with a request, returns when the token is back, and carries out the
// action that the answer names. The result is the call's (-errno on failure).
long exchange(protocol::Request request, std::uint32_t number, const long (&arguments)[6],
              PathExchange* paths = nullptr);

// For descriptors that are not virtual.
inline bool is_shim_fd(long fd) {
  const long own = region_header().own_descriptors;
  return fd >= own && fd < own + protocol::kOwnDescriptors;
}

// How a thread looks for the token before it sleeps; copied from ThreadSlot.
struct Waiting {
  std::uint32_t looks = 0;
  std::uint32_t yields = 0;
};
// Waits until the supervisor hands the calling thread the token.
void await_token(Waiting waiting = {});

// The calling thread gets kPokeSignal after `period_us` of real time; a new call restarts the period.
void arm_poke_timer(std::uint32_t period_us);
// The thread gives its token back: a poke from the timer no longer counts.
void disarm_poke_timer();
// In a copy of the process, which inherits no timers.
void forget_poke_timer();
// The poke found the thread in the shim's own code: the timer is started again.
void rearm_poke_timer();

// Creates the thread that the trapped clone() in `context` asks for, with the supervisor's `slot` and `tid`.
long clone_thread(const long (&arguments)[6], void* context, std::uint32_t slot, std::uint32_t tid);

// Creates the copy of this process that the trapped fork(), vfork() or clone() in `context` asks for; returns
// in both.
long fork_process(std::uint32_t number, const long (&arguments)[6], void* context, std::uint32_t pid);

// In a copy of the process: maps `region` in place of the inherited one. Ends the copy if the simulator has
// exited.
void take_region(long region, long simulator);
// Copies the process on each request of the simulator; returns in the copies only.
void serve_copies();
// Writes into the region what the simulator needs to know of the process and its first thread.
void introduce_process();
// Prefaults the pages of the region that every process touches.
void ask_for_region_pages();

// Installs the calling thread's alternate stack for the shim's handlers; false when its address is occupied.
bool install_signal_stack();
// `mask` without the signals that the shim reserves.
std::uint64_t without_reserved(std::uint64_t mask);
// Signals pending in the kernel for the calling thread, without the reserved ones: a poke may be pending at
// any time.
std::uint64_t pending_signals();

// Executes a call of path_calls.h.
long call_by_path(long number, const long (&arguments)[6]);
long get_working_folder(const long (&arguments)[6]);  // getcwd

// Executes one trapped or interposed system call. `context` is the trapped thread's ucontext_t, or nullptr.
long dispatch(long number, const long (&arguments)[6], void* context);

// Gives the token to the supervisor for a thread that was poked or whose jump at `jump` trapped; `mask` is
// the program's. Leaves no trace in the shim's state. Returns whether the thread has waited.
bool hand_over_poked(long context, long fs_base, std::uint64_t jump, std::uint64_t mask);

// Gives the token to the supervisor for a thread that is late before an access, with the arguments of kAccess
// and the program's mask. Returns whether the thread has received a signal.
bool hand_over_access(const std::uint64_t (&arguments)[6], std::uint64_t mask);
// General register `number`, in encoding order, of the program at `context`.
std::uint64_t program_register(const void* context, unsigned number);

// Executes the replaced jump that trapped in `context`, if one did. kGoesBack: the jump was taken, as at the
// end of a loop.
enum class TrappedJump { kNone, kGoesOn, kGoesBack };
TrappedJump follow_trapped_jump(void* context);

// Reports to the supervisor that the system call at `address` has trapped `traps` times. Changes no state of
// the shim.
protocol::CallReplacement report_trapped_call(std::uint64_t address, std::uint32_t traps);
// Makes the request kView. It is no call of the program: rows of polls and of clock reads continue.
long ask_about_view(std::int64_t step, std::int64_t argument);

// Asks the supervisor about new code, with the arguments of kCode. Changes no state of the shim.
long report_new_code(const long (&arguments)[6]);

// Reads the virtual clock as a program does. Consecutive reads without another call between them cost more
// and more, so that polling a clock is a wait. `first_cost_ps`: cost of the first read of a row.
// `is_function`: the reader is a function that begins with POLL_ENTRY, which has stored its caller's
// registers.
std::int64_t read_clock(std::int64_t first_cost_ps, bool is_function = false);

// The same where the token may not be given back. False when the read would reach the thread's horizon;
// nothing has changed then.
bool reads_clock_locally(std::int64_t first_cost_ps);

// As spend(), in a loop that waits: the polls before and after it remain consecutive.
void spend_between_polls(std::int64_t cost_ps);

// Spends the cost of sched_yield(). A loop without any other call that takes time waits as a polling loop
// does. The caller has stored its own caller's registers, in the frame of POLL_ENTRY.
void spend_on_yield();

// clock_gettime and its relatives; -errno on failure. `is_function`: see read_clock().
long clock_call(long number, const long (&arguments)[6], bool is_function = false);

// rt_sigsuspend and rt_sigtimedwait: waits in virtual time for signals, which the kernel then delivers.
long wait_for_signal(long number, const long (&arguments)[6]);
// Waits for files during which signals are unmasked: ppoll, pselect6, epoll_pwait.
long wait_with_mask(long number, const long (&arguments)[6]);

long process_control(const long (&arguments)[6]);  // prctl
void inherit_timer_slack();  // in a forked copy

// getdents64 on a folder of the real file system: sorted.
long read_folder(const long (&arguments)[6]);

// rt_sigaction, rt_sigprocmask, rt_sigpending, sigaltstack.
long signal_call(long number, const long (&arguments)[6], void* context);

// Patched instructions (protocol/patches.h). Code that the stubs in patch areas call:
extern "C" void verbatim_patched_entry();
// Code that stubs of system calls jump to (replaced_calls.cc).
extern "C" __attribute__((visibility("hidden"))) void verbatim_call_entry();
// Emulates the instruction that the HLT at `context` replaces; false if none does.
bool answer_trapped_instruction(void* context);
// An instruction of code that is executed one by one.
struct CodeInstruction {
  protocol::PatchedInstruction decided;  // kNone: its result does not depend on the machine
  unsigned call_length = 0;              // of a system call, bytes; 0: it is none
  bool pushes_flags = false;
};
CodeInstruction code_instruction_at(std::uint64_t rip);
// Emulates `instruction` at the context's instruction pointer, and goes behind it.
void answer_instruction(void* context, protocol::PatchedInstruction instruction);
// Creates a mapping, or changes its protection. New code is searched before it can run.
long map_code(long number, const long (&arguments)[6]);
// Makes reads of the time-stamp counter trap in the calling thread when the process needs it.
void follow_timestamp_counter_trap();

constexpr bool in_patch_area(std::uint64_t rip) {
  for (const std::uint64_t area : protocol::kPatchAreas) {
    if (rip - area < protocol::kPatchAreaSize) return true;
  }
  return false;
}

// The lower half of a thread's shim stack is for handlers, the upper half for its start and its waits.
constexpr std::size_t kSignalStackSize = protocol::kShimStackSize / 2;
// Room for the state of a thread without storage of its own, at the top of its shim stack (thread_state.h).
constexpr std::size_t kRoomWithoutStorage = 4096;
// Prefaults the pages for writing. Without it each is mapped by a fault of its own.
void ask_for_pages(unsigned long address, unsigned long size);

bool install_handlers();
bool install_filter();
bool map_heap();
// In a copy of the process, where the thread that held the lock does not exist.
void unlock_heap();

}  // namespace verbatim::shim
