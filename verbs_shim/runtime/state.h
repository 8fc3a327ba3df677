// What the runtime's files share: the region, the calling thread's slot, and the exchange of the token.
#pragma once

#include <time.h>
#include <cstdint>

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

// Sends the calling thread a signal natively. In the handler of a trapped call all signals are masked: the program's own
// handler runs when that one returns, with the result of the call in place, as from the Linux kernel. Otherwise it runs
// before this returns, and may make calls. `mask`: what the program has masked.
long raise_here(const protocol::RaisedSignal& raised, std::uint64_t mask);
// What the program has masked, in the calling thread, which made a call.
std::uint64_t program_mask();

// What a trapped call answers when it is to be made again after the program's signal handlers have run.
inline constexpr long kMakeCallAgain = -513;

// A call that names files: what the kernel gets of it, and where the supervisor says that a path of it leads.
struct PathExchange {
  const protocol::PathCall* call;
  long native[6];
  bool executed = false;             // by the kernel
  bool names_own = false;            // a file in a folder of the host's own
  int other = -1;                    // which of its paths leads to `text`
  char text[protocol::kPathRoom];
};

// Gives the token to the supervisor with a request and returns when it is back; carries out the action that the
// answer names. The result is what the call returns (-errno on failure).
long exchange(protocol::Request request, std::uint32_t number, const long (&arguments)[6],
              PathExchange* paths = nullptr);

// Of descriptors that are not virtual.
inline bool is_shim_fd(long fd) {
  const long own = region_header().own_descriptors;
  return fd >= own && fd < own + protocol::kOwnDescriptors;
}

// What a thread does before it sleeps, as ThreadSlot has it.
struct Waiting {
  std::uint32_t looks = 0;
  std::uint32_t yields = 0;
};
// Waits until the supervisor hands the calling thread the token.
void await_token(Waiting waiting = {});

// The calling thread gets kPokeSignal when it has run for `period_us` of real time from now on; a new call starts anew.
void arm_poke_timer(std::uint32_t period_us);
// The thread gives its token back: a poke that comes now does not count.
void disarm_poke_timer();
// In a copy of the process, which inherits no timers.
void forget_poke_timer();
// The poke found the thread in the shim's own code: it is to come again.
void rearm_poke_timer();

// Makes the thread that the trapped clone() in `context` asks for; `slot` and `tid` are the supervisor's.
long clone_thread(const long (&arguments)[6], void* context, std::uint32_t slot, std::uint32_t tid);

// Makes the copy of this process that the trapped fork(), vfork() or clone() in `context` asks for and returns in both.
long fork_process(std::uint32_t number, const long (&arguments)[6], void* context, std::uint32_t pid);

// A copy of the process takes `region` in place of what was mapped there; ends it when the simulator is no more.
void take_region(long region, long simulator);
// The process is copied whenever the simulator asks for it; returns in the copies.
void serve_copies();
// Tells the simulator, in the region, what it has to know of the process and its first thread.
void introduce_process();
// Has the pages there that every process touches.
void ask_for_region_pages();

// The calling thread's alternate stack for the shim's handlers; false when its address is taken.
bool install_signal_stack();
// The program's mask without the signals that are the shim's.
std::uint64_t without_reserved(std::uint64_t mask);
// What Linux keeps for the calling thread, of the program's own signals: a poke may be pending at any time.
std::uint64_t pending_signals();

// A call of path_calls.h.
long call_by_path(long number, const long (&arguments)[6]);
long tell_working_folder(const long (&arguments)[6]);  // getcwd

// Answers one trapped or interposed system call. `context` is the trapped thread's ucontext_t, or nullptr.
long dispatch(long number, const long (&arguments)[6], void* context);

// Hands a thread that was poked, or whose jump at `jump` trapped, with the program's mask, to the supervisor; leaves no trace in
// the shim's state. Whether it has waited.
bool hand_over_poked(long context, long fs_base, std::uint64_t jump, std::uint64_t mask);

// Hands a thread that is late before an access, with the arguments of kAccess and the program's mask, to the supervisor. Whether
// it has got a signal.
bool hand_over_access(const std::uint64_t (&arguments)[6], std::uint64_t mask);
// General register `number`, in encoding order, of the program at `context`.
std::uint64_t program_register(const void* context, unsigned number);

// Follows the jump that has trapped in `context`, if one has: whether it goes back to where it came from, as loops do.
enum class TrappedJump { kNone, kGoesOn, kGoesBack };
TrappedJump follow_trapped_jump(void* context);

// Tells the supervisor that the system call at `address` has trapped `traps` times. As if it had not been told.
protocol::CallReplacement tell_trapped_call(std::uint64_t address, std::uint32_t traps);

// Reads the virtual clock as a program does: consecutive reads with no other call in between cost more and more, so
// that polling a clock is a wait. `first_cost_ps` is the cost of the first of a row. `is_function`: it is read by a function that
// begins with POLL_ENTRY, which has stored its caller's registers.
std::int64_t read_clock(std::int64_t first_cost_ps, bool is_function = false);

// The same where the token may not be given back: false when the read takes the thread to its horizon; nothing has changed
// then. Otherwise the clock has moved on.
bool reads_clock_locally(std::int64_t first_cost_ps);

// As spend(), in a loop that waits: the polls before and after it are still in a row.
void spend_between_polls(std::int64_t cost_ps);

// What sched_yield() takes. A loop that does nothing else that takes time waits as one that polls does: the caller has stored its
// own caller's registers, in the frame of POLL_ENTRY.
void spend_on_yield();

// answers clock_gettime and its relatives; -errno on failure. `is_function`: see read_clock().
long clock_call(long number, const long (&arguments)[6], bool is_function = false);

// rt_sigsuspend and rt_sigtimedwait: virtual waits for signals that the kernel then delivers.
long wait_for_signal(long number, const long (&arguments)[6]);
// Waits for files that let signals in meanwhile: ppoll, pselect6, epoll_pwait.
long wait_with_mask(long number, const long (&arguments)[6]);

long process_control(const long (&arguments)[6]);  // prctl

// getdents64 on a folder of the real file system: sorted.
long read_folder(const long (&arguments)[6]);

// Signal state the shim keeps its own hands on.
long signal_call(long number, const long (&arguments)[6], void* context);

// Patched instructions (protocol/patches.h). The code that patch areas call:
extern "C" void verbatim_patched_entry();
// The code that stubs of system calls jump to (replaced_calls.cc).
extern "C" __attribute__((visibility("hidden"))) void verbatim_call_entry();
// Answers the HLT that `context` stopped at, if it stands for an instruction.
bool answer_trapped_instruction(void* context);
// Makes a mapping, or changes its protection; new code is searched before it can run.
long map_code(long number, const long (&arguments)[6]);
// Turns the trap of the time stamp counter on for the calling thread when the process needs it.
void follow_timestamp_counter_trap();

constexpr bool in_patch_area(std::uint64_t rip) {
  for (const std::uint64_t area : protocol::kPatchAreas) {
    if (rip - area < protocol::kPatchAreaSize) return true;
  }
  return false;
}

// The lower half of a thread's stack is for handlers, the upper one for its start and its waits.
constexpr std::size_t kSignalStackSize = protocol::kShimStackSize / 2;
// At the top of its second stack, of a thread without storage of its own (thread_state.h).
constexpr std::size_t kRoomWithoutStorage = 4096;
// Has the kernel put pages there now; without it, one by one, when they are touched.
void ask_for_pages(unsigned long address, unsigned long size);

bool install_handlers();
bool install_filter();
bool map_heap();
// In a copy of the process, whose other threads do not exist: whoever held the lock is gone.
void unlock_heap();

}  // namespace verbatim::shim
