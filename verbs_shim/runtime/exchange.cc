// Token exchange: the thread stores a request in its slot, wakes the supervisor, and waits for `go`.
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "verbs_shim/protocol/clocks.h"
#include "verbs_shim/runtime/accesses.h"
#include "verbs_shim/runtime/async_io.h"
#include "verbs_shim/runtime/changing_code.h"
#include "verbs_shim/runtime/delivery.h"
#include "verbs_shim/runtime/descriptors.h"
#include "verbs_shim/runtime/file_user.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/path.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/real_file.h"
#include "verbs_shim/runtime/repeated_call.h"
#include "verbs_shim/runtime/runtime.h"
#include "verbs_shim/runtime/shared_segments.h"
#include "verbs_shim/runtime/spend.h"
#include "verbs_shim/runtime/state.h"
#include "verbs_shim/runtime/reported_call.h"
#include "verbs_shim/runtime/touches.h"

namespace verbatim::shim {

bool is_attached = false;

namespace {

using protocol::Action;
using protocol::CallTraits;
using protocol::Request;
using protocol::ThreadSlot;

void exchange_token() {
  disarm_poke_timer();
  protocol::RegionHeader& header = region_header();
  header.message_slot = my_slot_index();
  const Waiting waiting{my_slot->looks, my_slot->yields};  // afterwards the supervisor owns the slot
  if (protocol::hand_over(header.message)) native(SYS_futex, &header.message, FUTEX_WAKE, 1, 0, 0, 0);
  await_token(waiting);
}

void give_token_back() {
  exchange_token();
  while (my_slot->placements != 0 && !take_placements()) {
    my_slot->request = Request::kPlace;
    exchange_token();
  }
}

// How a thread waits depends on real time, as do the contents of its stack frames; a program that reads
// uninitialized stack would see them. The thread therefore waits on the stack on which the shim starts
// threads. (A trap handler stays on its signal stack, because the kernel must see that the stack is in use.)
void hand_over() {
  if (my_slot->request != Request::kPoke) time_passes();
  const unsigned long base = protocol::shim_stack(my_slot_index());
  unsigned long here;
  asm volatile("mov %%rsp, %0" : "=r"(here));
  if (here - base < 2 * kSignalStackSize) return give_token_back();
  const unsigned long top = base + 2 * kSignalStackSize - (has_foreign_bases ? kRoomWithoutStorage : 0);
  // The frame pointer leads debuggers back to the caller.
  asm volatile(
      "mov %%rsp, %%rbx\n"
      "mov %0, %%rsp\n"
      "call *%1\n"
      "mov %%rbx, %%rsp\n"
      :
      : "r"(top), "r"(&give_token_back)
      : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory");
}

// True if new descriptors of the call are close-on-exec; those of the verbs library and of clone(CLONE_PIDFD) are.
bool closed_by_exec(const ThreadSlot& slot, std::uint32_t number, const long (&a)[6]) {
  if (slot.request == Request::kCommand || slot.request == Request::kForked) return true;
  const protocol::SystemCall& call = protocol::system_call(number);
  if (call.has(CallTraits::kExecFlagOfFcntl)) return a[1] == F_DUPFD_CLOEXEC;
  if (!call.has(CallTraits::kExecFlags)) return false;
  if ((call.traits & CallTraits::kExecFlags) == CallTraits::kExecAlways) return true;
  const unsigned argument = protocol::exec_flag_argument(call);
  return (a[argument] & (call.has(CallTraits::kMessage) ? MSG_CMSG_CLOEXEC : O_CLOEXEC)) != 0;
}

// Copies the path that the supervisor has stored in the mailbox.
void take_path(PathExchange& paths) {
  memcpy(paths.text, my_mailbox().bytes, sizeof paths.text);
  paths.text[sizeof paths.text - 1] = 0;
}

// Executes the call natively, with native paths in place of the program's.
long execute_natively(const ThreadSlot& slot, std::uint32_t number, const long (&a)[6], PathExchange* paths) {
  if (number == SYS_exit) leave_slot();
  if (paths == nullptr) return call_on_number(number, a);
  paths->executed = true;
  long n[6];
  memcpy(n, paths->native, sizeof n);
  if (slot.action == Action::kNativePath) {
    take_path(*paths);
    const protocol::PathArgument& path = paths->call->paths[slot.action_arguments[0] & 1];
    if (path.path < 0) return -ENOSYS;
    n[path.path] = reinterpret_cast<long>(paths->text);
    if (path.folder >= 0) n[path.folder] = AT_FDCWD;
  }
  // The supervisor only names devices, links to open files, and files of the host.
  const bool is_own = paths->names_own || (slot.action == Action::kNativePath && !leads_to_machine_file(paths->text));
  const AsFileUser user(number, is_own);
  return call_with_room(number, n);
}

long carry_out(ThreadSlot& slot, std::uint32_t number, const long (&a)[6], PathExchange* paths) {
  switch (slot.action) {
    case Action::kReturn:
      return slot.result;
    case Action::kNative:
    case Action::kNativePath:
      return execute_natively(slot, number, a, paths);
    case Action::kOtherPath:
      if (paths == nullptr) return -ENOSYS;
      take_path(*paths);
      paths->other = slot.action_arguments[0] & 1;
      return 0;
    case Action::kReserveTwoFds:
      reserve_descriptor(slot.action_arguments[1], closed_by_exec(slot, number, a));
      [[fallthrough]];
    case Action::kReserveFd:
      reserve_descriptor(slot.action_arguments[0], closed_by_exec(slot, number, a));
      return slot.result;
    case Action::kTakeFds: {
      const auto* numbers = reinterpret_cast<const std::int32_t*>(my_mailbox().bytes);
      for (std::int64_t i = 0; i < slot.action_arguments[0]; ++i) {
        const bool closes = closed_by_exec(slot, number, a);
        numbers[i] >= 0 ? reserve_descriptor(numbers[i], closes) : take_passed_file(~numbers[i], closes);
      }
      return slot.result;
    }
    case Action::kReleaseFd:
      release_descriptor(slot.action_arguments[0]);
      return slot.result;
    case Action::kCloneThread:
      return clone_thread(a, reinterpret_cast<void*>(slot.context_address),
                          static_cast<std::uint32_t>(slot.action_arguments[0]),
                          static_cast<std::uint32_t>(slot.result));
    case Action::kForkProcess:
      return fork_process(number, a, reinterpret_cast<void*>(slot.context_address),
                          static_cast<std::uint32_t>(slot.result));
    case Action::kMapSegment:
      return map_segment(a, static_cast<unsigned long>(slot.action_arguments[0]),
                         static_cast<unsigned long>(slot.action_arguments[1]));
    case Action::kUnmapSegment:
      return unmap_segment(slot.action_arguments[0], slot.action_arguments[1], slot.result);
    case Action::kTransfers:
      return carry_out_transfers(a, slot.action_arguments[0], slot.action_arguments[1]);
    case Action::kSpliceFile:
      return splice_file(a, slot.result);
    case Action::kRaise: {
      const long result = slot.result;
      raise_here({.signal = static_cast<std::int32_t>(slot.action_arguments[0]),
                  .sender = region_header().virtual_pid,
                  .to_thread = 1,
                  .user = slot.user},
                 program_mask());
      return result;
    }
    case Action::kRestart:
      break;
  }
  return -ENOSYS;
}

}  // namespace

// Copies the memory lines that the analysis of the caller's loop will read.
void bring_lines() {
  ThreadSlot& slot = *my_slot;
  const std::uint32_t pages = slot.pages_to_bring;
  const bool brings = slot.list_to_bring != 0 && pages <= protocol::kMostPagesToBring &&
                      copy_lines(my_mailbox().bytes, slot.to_bring, pages);
  slot.brought = brings ? slot.list_to_bring : 0;
}

bool hand_over_poked(long context, long fs_base, std::uint64_t jump, std::uint64_t mask) {
  ThreadSlot& slot = *my_slot;
  slot.signal_mask = mask;
  slot.request = Request::kPoke;
  slot.arguments[0] = context;
  slot.arguments[1] = fs_base;
  slot.arguments[2] = static_cast<std::int64_t>(jump);
  if (jump != 0) bring_lines();
  const std::int64_t before = slot.clock_ps;
  hand_over();
  // The clock has advanced: the thread was parked. Otherwise the slice continues as without the poke.
  if (slot.clock_ps != before) thread_state().repeated_calls.forget();
  const bool waited = slot.result != protocol::kNotWaiting;
  Raised(slot).raise_all(mask);
  return waited;
}

bool hand_over_access(const std::uint64_t (&arguments)[6], std::uint64_t mask) {
  ThreadSlot& slot = *my_slot;
  ThreadState& state = thread_state();
  state.polls_in_a_row = state.yields_in_a_row = 0;
  state.polls_allowed = protocol::kPollsAlone;
  state.repeated_calls.forget();
  state.end_clock_row();
  slot.signal_mask = mask;
  slot.request = Request::kAccess;
  for (int i = 0; i < 6; ++i) slot.arguments[i] = static_cast<std::int64_t>(arguments[i]);
  hand_over();
  const Raised raised(slot);
  raised.raise_all(mask);
  return raised.count != 0;
}

protocol::CallReplacement report_trapped_call(std::uint64_t address, std::uint32_t traps) {
  ThreadSlot& slot = *my_slot;
  slot.request = Request::kReplaceCall;
  slot.arguments[0] = static_cast<std::int64_t>(address);
  slot.arguments[1] = traps;
  hand_over();
  return static_cast<protocol::CallReplacement>(slot.result);
}

long report_new_code(const long (&arguments)[6]) {
  ThreadSlot& slot = *my_slot;
  slot.request = Request::kCode;
  for (int i = 0; i < 6; ++i) slot.arguments[i] = arguments[i];
  hand_over();
  return slot.result;
}

void report_call(const protocol::ReportedCall& call) {
  ThreadSlot& slot = *my_slot;
  slot.request = Request::kReportCall;
  slot.arguments[0] = reinterpret_cast<std::int64_t>(&call);
  hand_over();
}

long ask_about_view(std::int64_t step, std::int64_t argument) {
  ThreadSlot& slot = *my_slot;
  slot.request = Request::kView;
  slot.arguments[0] = step;
  slot.arguments[1] = argument;
  hand_over();
  const Raised raised(slot);
  const long result = slot.result;
  if (raised.count != 0) raised.raise_all(program_mask());
  return result;
}

void await_token(Waiting waiting) {
  ThreadSlot& slot = *my_slot;
  if (!protocol::look_for(slot.go, waiting.looks, [] { __builtin_ia32_pause(); }) &&
      !protocol::look_between_yields(slot.go, waiting.yields, [] { native(SYS_sched_yield); })) {
    protocol::take(slot.go, [&slot] {
      native(SYS_futex, &slot.go, FUTEX_WAIT, static_cast<long>(protocol::Baton::kAsleep), 0, 0, 0);
      return true;
    });
  }
  follow_timestamp_counter_trap();
  if (access_places != 0) [[unlikely]] follow_accesses();
  if (has_changing_code()) [[unlikely]] follow_foreign_writes();
  const std::uint32_t poke_after_us = slot.poke_after_us;
  if (poke_after_us != 0) arm_poke_timer(poke_after_us);
}

// State of the thread before it makes the request.
void begin_request(Request request) {
  ThreadState& state = thread_state();
  state.polls_in_a_row = state.yields_in_a_row = 0;
  state.polls_allowed = protocol::kPollsAlone;
  if (request != Request::kPoll && request != Request::kSystemCall) state.repeated_calls.forget();
  state.end_clock_row();
  if (request == Request::kSystemCall || request == Request::kCommand || request == Request::kRefused) access_row_ends();
}

void make_request(ThreadSlot& slot, Request request, std::uint32_t number, const long (&arguments)[6]) {
  slot.request = request;
  slot.number = number;
  for (int i = 0; i < 6; ++i) slot.arguments[i] = arguments[i];
  hand_over();
}

long exchange(Request request, std::uint32_t number, const long (&arguments)[6], PathExchange* paths) {
  ThreadSlot& slot = *my_slot;
  ThreadState& state = thread_state();
  // A repeated empty call does not interrupt a row of polls.
  if (request == Request::kSystemCall && state.repeated_calls.known() != 0) {
    const RepeatedCall* const same = state.repeated_calls.find(number, arguments);
    if (same != nullptr && passes_locally(costs().system_call_ps + same->extra_ps)) return same->result;
  }
  begin_request(request);
  if (request == Request::kCommand && has_changing_code()) [[unlikely]] make_code_writable();
  while (true) {
    make_request(slot, request, number, arguments);
    const bool again = slot.action == Action::kRestart;
    const std::uint32_t repeats = slot.repeats;
    const std::int64_t extra_ps = slot.action_arguments[0];
    // The answer is carried out first: a handler that runs here makes calls, which reuse the slot and the
    // mailbox.
    const Raised raised(slot);
    const std::uint32_t tid = slot.virtual_tid;
    const long result = again ? 0 : carry_out(slot, number, arguments, paths);
    state.repeated_calls.keep_only(again ? 0 : repeats & protocol::kAllKnownCalls);
    if (const std::uint32_t kept_at = repeats >> protocol::kKeptAtShift; !again && kept_at != 0)
      state.repeated_calls.keep(kept_at - 1, number, arguments, result, extra_ps);
    if (request == Request::kCommand && !again && result >= 0) {
      memcpy(reinterpret_cast<void*>(arguments[1]), my_mailbox().bytes, static_cast<std::size_t>(arguments[0]));
    }
    if (slot.virtual_tid != tid) {
      // In a forked copy: `raised` belongs to the parent; the copy's own signals came with its first token.
      const Raised own(slot);
      if (own.count != 0) own.raise_all(program_mask());
    } else if (raised.count != 0) {
      raised.raise_all(program_mask());
    }
    if (!again) return result;
    // The program repeats a trapped call itself, after its handlers have run.
    if (slot.context_address != 0) return kMakeCallAgain;
  }
}

std::uint64_t program_mask() {
  std::uint64_t mask = my_slot->signal_mask;
  if (my_slot->context_address != 0) return mask;
  native(SYS_rt_sigprocmask, SIG_BLOCK, 0, &mask, sizeof mask);
  return mask_seen(mask);
}

long raise_here(const protocol::RaisedSignal& raised, std::uint64_t mask) {
  region_header().sent_signals.fetch_or(1ull << (raised.signal - 1), std::memory_order_relaxed);
  expect_signal(raised.signal);
  siginfo_t info{};
  info.si_signo = raised.signal;
  info.si_code = raised.code;
  if (raised.code == SI_TIMER) {
    info.si_timerid = raised.timer;
    info.si_overrun = raised.overrun;
    info.si_ptr = reinterpret_cast<void*>(raised.value);
  } else if (raised.code > SI_USER && raised.code <= POLL_HUP && raised.signal != SIGCHLD) {  // si_code of a descriptor
    info.si_band = static_cast<long>(raised.value);
    info.si_fd = raised.timer;
  } else if (raised.code != SI_KERNEL) {
    info.si_pid = static_cast<pid_t>(raised.sender);
    info.si_uid = raised.user;
    if (raised.code < SI_USER) {  // SI_QUEUE, SI_ASYNCIO, SI_MESGQ
      info.si_ptr = reinterpret_cast<void*>(raised.value);
    } else {
      info.si_status = raised.status;
    }
  }
  if (is_reserved(raised.signal)) {
    keep_reserved(info);
    if (my_slot->context_address == 0) interrupt_for_kept();
    return 0;
  }
  const long process = native(SYS_getpid);
  // Only a process's first thread may send the whole process a signal with an si_code of the kernel.
  if (raised.to_thread == 0 && native(SYS_gettid) == process && (mask >> (raised.signal - 1) & 1) != 0) {
    return native(SYS_rt_sigqueueinfo, process, raised.signal, &info);
  }
  return native(SYS_rt_tgsigqueueinfo, process, native(SYS_gettid), raised.signal, &info);
}

bool attached() { return is_attached; }

std::int64_t now_ps() { return my_slot->clock_ps; }

const protocol::CallCosts& costs() { return region_header().costs; }
std::uint32_t checks() { return region_header().checks; }
protocol::FieldUseAnswer use_of_failed(const void* completions, std::uint32_t count, std::uint64_t failed) {
  const long place = reinterpret_cast<long>(completions);
  const long answer =
      exchange(Request::kFailedPoll, 0, {place, static_cast<long>(count), static_cast<long>(failed), 0, 0, 0});
  protocol::FieldUseAnswer use;
  __builtin_memcpy(&use, &answer, sizeof use);
  return use;
}
std::uint32_t process_id() { return static_cast<std::uint32_t>(region_header().virtual_pid); }

int command(protocol::CommandHeader* command) {
  const std::uint32_t size = command->size;
  if (size < sizeof(protocol::CommandHeader) || size > protocol::kMailboxSize) return EINVAL;
  CallReport report(protocol::ReportedCallKind::kCommand, 0, reinterpret_cast<std::int64_t>(command));
  memcpy(my_mailbox().bytes, command, size);
  // exchange() copies the answer into `command`, before a signal handler can reuse the mailbox.
  const long transport =
      exchange(Request::kCommand, 0, {static_cast<long>(size), reinterpret_cast<long>(command), 0, 0, 0, 0});
  if (transport < 0) return report.ended(static_cast<int>(-transport));
  return report.ended(command->status);
}

long system_call(long number, long a0, long a1, long a2, long a3, long a4, long a5) {
  return dispatch(number, {a0, a1, a2, a3, a4, a5}, nullptr);
}

long read_cancellably(int fd, void* bytes, std::size_t size) {
  const int before = errno;
  const long result = ::read(fd, bytes, size);
  if (result >= 0) return result;
  const long error = errno;
  errno = before;
  return -error;
}

void* arena(std::uint64_t offset) {
  return reinterpret_cast<void*>(protocol::kRegionAddress + protocol::kArenaOffset + offset);
}

}  // namespace verbatim::shim
