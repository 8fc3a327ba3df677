// The process region: memory shared by the supervisor and one simulated process. The program may have
// overwritten anything in it. Therefore the supervisor copies every value once, and checks the copy.
#pragma once

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>

#include "verbs_shim/protocol/baton.h"
#include "verbs_shim/protocol/checks.h"
#include "verbs_shim/protocol/layout.h"
#include "verbs_shim/protocol/path_view.h"

namespace verbatim::protocol {

// Request of a thread to the supervisor, made when it gives its token back.
enum class Request : std::uint32_t {
  kNone = 0,
  kAttach,      // start of a process, from the runtime's constructor. arguments: [0] address of room for
                // kMostAccessPlaces, or 0. Result: how many places have been written there
  kSpend,       // arguments[0]: virtual time of the call, ps; the thread resumes when it has passed. number:
                // kReadsClock for a clock read in a row that began at [1], with the program's registers in
                // poll_registers; else 0
  kPoll,        // a poll of a completion queue that has found nothing so far, or sched_yield() in a loop.
                // arguments: [0] cost ps; for a queue also [1] device handle, [2] CQ number, [3] arena offset
                // of the entry that will be read, [4] its sequence once written; [5] address of
                // clock_gettime, which such a loop may call. number: kStartsPoll, kYields and the known calls
                // of repeated_calls.h. The program's registers at the call are in poll_registers. Result: how
                // many more empty polls the thread may execute by itself before the next request, if it makes
                // no other request
  kPoke,        // the thread has run for a while without a call. arguments: [0] its ucontext_t, [1] fs base,
                // [2] address of the jump that trapped (DecidedInstruction::kLoopJump), 0: it was poked.
                // Either answered immediately without effect (kNotWaiting), or the thread is parked
  kDoorbell,    // arguments: [0] cost ps, [1] DoorbellKind, [2] device handle, [3] object number, [4] value.
                // The MMIO write leaves the CPU when the cost has passed; the thread resumes then
  kCommand,     // mailbox: a command (CommandHeader …); arguments[0]: its size in bytes
  kSystemCall,  // arguments[0..5]: the call's arguments; number: the call's number
  kRefused,     // as kSystemCall, for a call that the table refuses: recorded by name, answered in `result`
  kForked,      // the copy for kForkProcess has been made, or has failed. arguments: [0] its virtual pid, [1]
                // its native pid or -errno, [2] descriptor of its region, [3] 1: wait until it has executed a
                // program or exited, 3: and it shares the caller's memory until then, [4] address of the word
                // to clear when it exits, or 0. Result: the virtual pid or -errno
  kCode,        // memory contains new code. arguments: [0] address, [1] length, [2] descriptor of the mapped
                // file or -1, [3] offset in it, [4] a CodeQuestion (changing_code.h), [5] 1: the program may
                // change it unnoticed. Result: a NewCodeAnswer. Answered immediately; takes no virtual time
  kMachine,     // the machine could not execute a call. arguments: [0] errno, [1] size of what did not fit,
                // or 0; number: the system call. Answered immediately; takes no virtual time
  kFolders,     // the program accesses one of its host's own folders for the first time; the supervisor
                // creates them if they are missing. Answered immediately; takes no virtual time
  kView,        // a call is about to use a path in a view of a working folder, or has used it. arguments and
                // mailbox: ViewStep (folder_view.h). Answered immediately; takes no virtual time
  kPlace,       // the thread cannot store a placement that came with the token (placements.h), because memory
                // is unmapped or read-only; the supervisor then stores all of them. Answered immediately;
                // takes no virtual time
  kFileEvents,  // the supervisor reads the kernel's file events of the host's files and keeps them until
                // kFileEventsCall. arguments: [0] 1: the runtime itself has accessed files or set their
                // attributes, and these events are dropped. Result: how many events are kept. Answered
                // immediately; takes no virtual time
  kFault,       // the program is about to be killed by a signal of its own. arguments: [0] signal, [1] address;
                // after a foreign call (foreign_call.h) [2] si_arch, [3] si_syscall; [4] 1: a program has sent it
  kReplaceCall,  // a system call traps repeatedly. arguments: [0] address of its instruction, [1] number of
                 // traps since the last report. Result: a CallReplacement. Answered immediately; takes no
                 // virtual time
  kAccess,      // the thread is late before a memory access. arguments: [0] address of the instruction, [1]
                // of the ucontext_t saved there or behind it, [2] fs base, [3] address and [4] size of the
                // access, [5] an AccessLateness. Result for kMayBeBuffered: an address; the store stays in
                // the store buffer until the thread reaches it
  kFailedPoll,  // a poll is about to return completions of which some have failed. arguments: [0] address of the
                // first ibv_wc, [1] number of completions, [2] a mask of the failed ones. The program's
                // registers at the call are in poll_registers. Result: a FieldUseAnswer. Answered immediately;
                // takes no virtual time
  kReportCall,    // a call of the program begins or has ended. arguments: [0] address of a ReportedCall
                // (reported_calls.h). Answered immediately; takes no virtual time
};
// Fields of ibv_wc that are undefined unless the status is success (ibv_poll_cq(3)).
struct UndefinedField {
  const char* name;
  std::uint8_t offset, size;
};
inline constexpr UndefinedField kUndefinedFields[] = {
    {"opcode", 12, 4},     {"byte_len", 20, 4}, {"imm_data", 24, 4}, {"src_qp", 32, 4},        {"wc_flags", 36, 4},
    {"pkey_index", 40, 2}, {"slid", 42, 2},     {"sl", 44, 1},       {"dlid_path_bits", 45, 1}};
// A later instruction of the program that uses such a field; `instruction` 0: none is known.
struct FieldUseAnswer {
  std::uint64_t instruction : 48;
  std::uint64_t field : 8;
  std::uint64_t completion : 8;
};


// Result of kReplaceCall.
enum class CallReplacement : std::int64_t { kNever = 0, kDone, kNotYet };

// kSendQueue: number is the QPN, value the new producer number (as in the record). kCompletionQueueArm: CQN,
// and kArmAny or kArmSolicited. kReceiveQueue: QPN and the new producer number; rung only when the record
// requests it.
enum class DoorbellKind : std::uint32_t { kSendQueue = 0, kCompletionQueueArm, kReceiveQueue, kTagOperations };

// Calls that a thread answers itself and with which it may be late, counted per kind.
enum class OwnCall : std::uint32_t { kOther = 0, kPost, kArm };
inline constexpr std::size_t kOwnCallKinds = 3;
constexpr OwnCall own_call_of(DoorbellKind kind) {
  return kind == DoorbellKind::kCompletionQueueArm ? OwnCall::kArm : OwnCall::kPost;
}

// Default number of empty polls that a thread executes by itself before it asks whether it may be parked.
inline constexpr std::uint32_t kPollsAlone = 16;

// Callee-saved registers that ibv_poll_cq and the other POLL_ENTRY functions push, by their number in
// encoding order: the first one 8 bytes below the stack pointer at entry (which points to the return
// address), each further one 8 bytes lower. The values there are restored on return.
inline constexpr std::uint8_t kPollFrame[] = {3, 5, 12, 13, 14, 15};

// Sent to a thread that makes no call, see Request::kPoke: by the supervisor, or by the thread's own timer
// (ThreadSlot::poke_after_us) while it is known to spin. Never seen by the program.
inline constexpr int kPokeSignal = 63;

// Signals that the shim handles natively, bit n - 1 for signal n. They are never blocked natively; the shim
// keeps those that the program sends, handles or blocks.
inline constexpr std::uint64_t kReservedSignals = 1ull << (SIGSYS - 1) | 1ull << (SIGSEGV - 1) | 1ull << (kPokeSignal - 1);

// `number` of kSpend: a clock read.
inline constexpr std::uint32_t kReadsClock = 1;

// Result of kPoke: the thread was not waiting, and continues.
inline constexpr std::int64_t kNotWaiting = 1;

// Native action of the shim after the supervisor's answer, before the program continues.
enum class Action : std::uint32_t {
  kReturn = 0,     // return `result`
  kNative,         // execute the original call through the gate and return its result
  kReserveFd,      // make descriptor action_arguments[0] a copy of the placeholder, then return `result`
  kReserveTwoFds,  // the same for action_arguments[0] and [1]
  kTakeFds,        // the same for action_arguments[0] numbers in the mailbox; a number ~n stands for n and
                   // for the next real file in the passage
  kReleaseFd,      // close descriptor action_arguments[0] natively, then return `result`
  kNativePath,     // execute the call natively with the mailbox as its path number action_arguments[0]
  kOtherPath,      // path number action_arguments[0] leads to the path in the mailbox, which is outside every
                   // tree: resolve that, then ask again or execute the call
  kCloneThread,    // create the thread natively in slot action_arguments[0]; `result` is its virtual tid
  kForkProcess,    // create a copy of the process natively; `result` is its virtual pid; then ask kForked
  kRestart,        // deliver the raised signals, then make the same call again (SA_RESTART)
  kMapSegment,     // shmat: map the next file in the passage, action_arguments[0] bytes in pages of
                   // action_arguments[1] bytes, then ask kAttachedCall
  kUnmapSegment,   // unmap action_arguments[1] bytes from action_arguments[0] on, then return `result`
  kTransfers,      // io_submit: execute the action_arguments[0] transfers in the mailbox (async_io.h), then
                   // ask kTransfersDoneCall with action_arguments[1], the number of requests before them
  kSpliceFile,     // splice: move at most `result` bytes between the pipe and the real file, and return their number
  kRaise,          // send the process signal action_arguments[0] natively, then return `result`
};

// A doorbell that was rung while the thread answered its calls itself. It leaves the CPU at `time_ps`, after
// the `cost_ps` of the call that rings it.
struct QueuedDoorbell {
  std::int64_t time_ps;
  DoorbellKind kind;
  std::uint32_t context;
  std::uint32_t number;
  std::uint32_t reserved;
  std::uint64_t value;
  std::int64_t cost_ps;
};
inline constexpr std::uint32_t kMaxQueuedDoorbells = 32;

// A signal that is raised natively before the program continues, with its siginfo_t.
struct RaisedSignal {
  std::int32_t signal;
  std::int32_t code;     // si_code
  std::uint32_t sender;  // si_pid
  std::int32_t status;   // si_status
  std::uint64_t value;   // si_value for a code below SI_USER; si_band for POLL_IN to POLL_HUP
  std::int32_t timer;    // si_timerid for SI_TIMER; si_fd for POLL_IN to POLL_HUP
  std::int32_t overrun;  // si_overrun for SI_TIMER
  std::uint32_t to_thread;  // 1: sent to the thread; 0: to the process, and taken by the first thread that unmasks it
  std::uint32_t user;       // si_uid
};
inline constexpr std::uint32_t kMaxRaisedSignals = 32;
inline constexpr std::uint32_t kMostFileGroups = 32;

inline constexpr std::uint32_t kMostNoteFrames = 12;
// Explanation of a call that the verbs library has refused, or a finding of a check, as text.
struct VerbNote {
  std::int64_t time_ps;
  std::uint64_t caller;  // findings: address in the program to which the verb returns
  std::int32_t error;    // errno; 0 for a finding
  Check check;           // kNone: a refusal
  std::uint64_t posted;  // findings: return address of the post of the work request concerned; 0: none
  // Findings in calls that libraries make as well: candidates for return addresses on the stack, innermost
  // first, 0 after the last. The first one in the program itself is the place of the finding, else `caller`.
  std::uint64_t frames[kMostNoteFrames];
  std::uint64_t stack;       // address of a NoteStack; 0: none
  std::uint64_t private_at;  // the finding is dropped unless the mapping at this address is private; 0: no condition
  char text[232];        // the verb, a colon, and the explanation
};
inline constexpr std::uint32_t kMaxVerbNotes = 4;
// Copy of a thread's stack at the time of a finding; in memory of the process.
struct NoteStack {
  std::uint64_t address;       // return address, in the shim, of the function that made the note
  std::uint64_t stack, frame;  // the stack pointer and rbp there
  std::uint64_t length;        // bytes that follow, from the stack pointer on
  std::uint8_t bytes[4064];
};
inline constexpr std::uint32_t kMaxCallNotes = 32;

// Lines of 64 bytes in a page of program memory, one bit per line.
struct PageLines {
  std::uint64_t number;  // address / 4096
  std::uint64_t lines;
  friend bool operator==(const PageLines&, const PageLines&) = default;
};
inline constexpr std::uint64_t kBroughtLine = 64;
inline constexpr std::uint32_t kMostPagesToBring = 32;
inline constexpr std::uint32_t kMostLinesToBring = kMailboxSize / kBroughtLine;

struct alignas(64) ThreadSlot {
  std::atomic<Baton> go;  // hands the token to the thread; a futex
  std::uint32_t native_tid;
  std::uint32_t virtual_tid;
  Request request;
  std::uint32_t number;  // system call number
  Action action;
  std::int64_t arguments[6];
  std::int64_t result;               // result of the call; -errno on failure
  std::int64_t action_arguments[2];
  std::int64_t clock_ps;    // the thread's own virtual clock; valid whenever the thread holds the token
  std::int64_t horizon_ps;  // before this time the thread may answer calls itself; 0 in call-by-call mode
  // Countdown per OwnCall of the counted calls that the thread answers itself (exchange.cc); the call that
  // brings it to 0 is passed to the supervisor.
  std::int64_t calls_until_late[kOwnCallKinds];
  // The same for counted memory accesses (accesses.h).
  std::int64_t accesses_until_late;
  // Due time of the first access in the process's touch list that has not been performed (touches.h).
  std::int64_t next_touch_ps;
  RaisedSignal raised[kMaxRaisedSignals];
  std::uint32_t raised_count;
  std::uint32_t doorbell_count;
  std::uint32_t polls_alone;    // empty polls that the thread has executed by itself since it got the token
  std::uint32_t poke_after_us;  // real time without a request after which the thread pokes itself; 0: never
  QueuedDoorbell doorbells[kMaxQueuedDoorbells];
  // General registers in encoding order, rip and fs base, at the entry of the last poll.
  std::uint64_t poll_registers[18];
  // ucontext_t of the trapped call; 0 when the call came through a symbol. For a call through a stub it holds
  // only the stack pointer and the mask.
  std::uint64_t context_address;
  std::uint32_t user;             // the thread's real user
  // User and group by whose permissions the thread accesses files of the machine; 0: those of the simulator's
  // user.
  std::uint32_t file_user, file_group;
  std::uint32_t real_group;
  // System calls whose results are known until the horizon, see repeated_calls.h. The present one takes
  // action_arguments[0] ps beyond the cost of any call.
  std::uint32_t repeats;
  std::uint64_t state_address;    // private to the shim: address of the thread's ThreadState
  std::uint32_t has_own_storage;  // 1: the state is in the C library's thread-local storage
  std::uint32_t reserved_for_storage;
  std::uint64_t signal_mask;      // the program's mask at any time; the shim's handlers mask everything natively
  std::uint32_t note_count;       // number of notes below since the thread got the token
  std::uint32_t looks;            // loads of `go` before the thread sleeps; 0 for a new thread
  VerbNote notes[kMaxVerbNotes];
  VerbWait verb_wait;
  // Return address in the program of the last verb that the thread entered, and the caller's frame pointer,
  // if the program keeps one. 0: unknown, or the verb was a poll, whose registers are above.
  std::uint64_t verb_caller, verb_frame;
  std::uint64_t verb_stack;  // the stack pointer behind the call
  // Memory that the analysis of a loop reads (Request::kPoll). A copy by the thread is cheaper than a kernel
  // call by the supervisor, therefore the thread copies these lines into the mailbox with the request,
  // concatenated. `brought` is set to `list_to_bring`, or to 0 if one of the lines is no longer mapped.
  std::uint32_t list_to_bring;  // number of the list; 0: none
  std::uint32_t brought;
  std::uint32_t pages_to_bring;  // entries of the list, at most kMostPagesToBring, with at most
                                 // kMostLinesToBring lines in total
  std::uint32_t yields;          // loads of `go` between sched_yield() calls, after `looks` and before the thread sleeps
  PageLines to_bring[kMostPagesToBring];
  std::uint32_t call_count;  // number of notes below since the thread got the token; note n is at n mod kMaxCallNotes
  std::uint32_t placements;  // number of placements that come with the token (placements.h)
  CallNote calls[kMaxCallNotes];
  // The first of the thread's supplementary groups; the others give no permissions on files of the machine.
  std::uint32_t group_count;
  std::uint32_t groups[kMostFileGroups];
};

enum SignalDisposition : std::uint8_t {
  kSignalDefault = 0,
  kSignalIgnored = 1,
  kSignalHandled = 2,
  kSignalHandledRestart = 3,  // SA_RESTART
};

// CPU time of verbs calls, picoseconds, from the host's profile.
struct CallCosts {
  std::int64_t post_send_ps;          // per ibv_post_send / wr_complete call
  std::int64_t post_send_wqe_ps;      // for each work request in the call
  std::int64_t post_recv_ps;          // per ibv_post_recv call
  std::int64_t post_recv_wqe_ps;      // for each work request in the call
  std::int64_t doorbell_ps;           // MMIO write of the doorbell, CPU side
  std::int64_t inline_line_ps;        // per started 64 bytes of inline data copied into a WQE
  std::int64_t poll_empty_ps;         // ibv_poll_cq that finds nothing
  std::int64_t poll_cqe_ps;           // per work completion returned
  std::int64_t arm_cq_ps;             // ibv_req_notify_cq
  std::int64_t system_call_ps;        // any system call that has no cost of its own
  std::int64_t clock_read_ps;         // first of a row of clock reads
  std::int64_t timestamp_counter_ps;  // first rdtsc of a row
  std::int64_t wake_up_ps;            // from the event that wakes a blocked thread until it runs
  std::int64_t event_wake_up_ps;      // in addition when that event is one of the adapter
};

struct RegionHeader {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint32_t region_header_size;  // sizeof(RegionHeader): a mismatch is a broken installation
  std::uint32_t virtual_pid;
  std::uint32_t parent_virtual_pid;
  std::uint32_t thread_count;  // slots ever used
  alignas(64) std::atomic<Baton> message;  // hands a request to the supervisor; a futex
  std::uint32_t message_slot;              // the slot that contains the request
  alignas(64) std::int64_t epoch_ns;               // CLOCK_REALTIME at virtual time 0, since 1970
  std::uint64_t timestamp_counter_hz;
  std::int64_t own_effect_ps;  // minimum time from a doorbell leaving the CPU to its first effect on the process
  CallCosts costs;
  // One bit per descriptor below kUsualDescriptors: the descriptor is virtual. For the others see
  // HighDescriptors.
  std::atomic<std::uint64_t> virtual_fds[kUsualDescriptors / 64];
  std::int32_t own_descriptors;        // first number of the shim's own descriptors
  std::int32_t own_descriptors_later;  // their first number after they have moved (descriptors.h)
  std::int32_t descriptor_limit;       // the program's RLIMIT_NOFILE, at most kMostDescriptors
  std::atomic<std::int32_t> least_closed;  // the lowest number that the kernel has closed since the supervisor last reset it
  // The program's disposition of each signal, a SignalDisposition maintained by the shim.
  std::uint8_t dispositions[65];
  std::uint8_t silent_stops;  // 1: SA_NOCLDSTOP, the stop of a child sends no SIGCHLD
  std::uint8_t discards_children;  // 1: SA_NOCLDWAIT, children that end are not kept for wait(2)
  std::uint8_t closed_standard;  // bit n: descriptor n of 0 to 2 was closed at exec; the shim closes it before the program begins
  // Bit n - 1: the supervisor keeps signal n while the program masks it, because the process has a signalfd
  // for it or was sent it.
  std::atomic<std::uint64_t> watched_signals;
  std::uint32_t watches_files;  // 1: a program on the host watches files in its own folders (file_events.h)
  std::uint64_t random_seed;   // for random instructions
  std::uint64_t random_draws;  // number of random values drawn
  std::uint32_t extended_control;        // result of XGETBV
  std::uint32_t traps_timestamp_counter; // 1: PR_SET_TSC works on this machine and is needed
  // The simulator's user, and the overflow user of the kernel's user namespace: programs see both as root.
  std::uint32_t machine_user, machine_group, unnamed_user, unnamed_group;
  std::int64_t machine_began_ns;  // the machine's time at the start of the run, since 1970
  // Bit n - 1 for signal n: sent to the program within the simulation; received from outside, and dropped.
  std::atomic<std::uint64_t> sent_signals, outside_signals;
  std::uint64_t shim_heap_size;  // bytes, at most kShimHeapSize
  std::uint32_t traced_start;            // 1: a breakpoint notifies the supervisor that the shim is installed
  // System calls that entered the shim, however they were answered, and the last one's number. Used only to
  // report a program that hangs.
  std::uint64_t calls;
  std::uint32_t last_call;
  std::uint32_t traps_before_report;  // traps of one system call before kReplaceCall is asked; 0: never
  // Addresses of functions that waiting loops may call, and that are answered within the process.
  std::uint64_t yield_function, time_function, timeofday_function;  // sched_yield(2), time(2), gettimeofday(2)
  std::uint64_t gate;  // address of the gate page
  std::uint32_t checks;  // enabled checks of the shim: a mask of check_bit()
  std::uint32_t late_accesses;  // 1: threads may be late before memory accesses
  std::uint64_t access_epoch;  // how often instructions have been changed to trap again or for another thread (accesses.h)
  std::uint64_t changing_code;  // address of the process's ChangingCode; 0: it has no such memory
  // 1: memory was written regardless of its protection since the process last looked. It may be changing code.
  std::atomic<std::uint32_t> writes_regardless;
  // 1: the process runs no program but is a zygote (verbs_shim/runtime/zygote.cc). It hands over `message`
  // when it is ready to be copied, and after each token; the copy's region is then the next file in the
  // passage. Result: the copy's native pid or -errno.
  std::uint32_t is_zygote;
};

// Value of rax at the breakpoint; rdi and rsi are the addresses of the shim's entries for patched
// instructions and system calls.
inline constexpr std::uint64_t kAttachMark = 0x6863'6174'7461'2e62;

// For descriptors from kUsualDescriptors on. Few programs have any, so the pages are not prefaulted.
struct HighDescriptors {
  std::atomic<std::uint64_t> virtual_fds[kMostDescriptors / 64];    // as in the header
  std::atomic<std::uint64_t> close_on_exec[kMostDescriptors / 64];  // for virtual descriptors that the kernel
                                                                    // does not have; set by the shim
};

struct Mailbox {
  std::uint8_t bytes[kMailboxSize];
};

// One thread's part of the region.
struct ThreadPart {
  ThreadSlot slot;
  alignas(4096) Mailbox mailbox;
};

inline constexpr std::uint64_t kPathViewOffset = 4096;
inline constexpr std::uint64_t kThreadsOffset = (kPathViewOffset + sizeof(PathView) + 4095) / 4096 * 4096;
inline constexpr std::uint64_t kHighDescriptorsOffset = 1020ull << 20;

// Data that a process needs from its start, in pages that are prefaulted together.
inline constexpr std::uint64_t kFirstPages = kPathViewOffset + offsetof(PathView, text) + 4096;  // from the region's start on
inline constexpr std::uint64_t kThreadPages = offsetof(ThreadPart, mailbox) + 4096;              // pages of one thread

static_assert(sizeof(RegionHeader) <= kPathViewOffset);
static_assert(kThreadsOffset + sizeof(ThreadPart) <= kNearSize);
static_assert(kThreadsOffset + std::uint64_t{kMaxThreads} * sizeof(ThreadPart) <= kHighDescriptorsOffset);
static_assert(kHighDescriptorsOffset + sizeof(HighDescriptors) <= kArenaOffset);
static_assert(std::atomic<Baton>::is_always_lock_free && sizeof(std::atomic<Baton>) == sizeof(std::uint32_t));

}  // namespace verbatim::protocol
