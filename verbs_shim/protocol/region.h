// The process region: what the supervisor and one simulated process share. Everything the supervisor reads from
// here may have been overwritten by the program, so every value is copied once and checked before use.
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

// What a thread asks of the supervisor when it gives its token back.
enum class Request : std::uint32_t {
  kNone = 0,
  kAttach,      // first contact of a process, from the runtime's constructor. arguments: [0] where it has room for
                // kMostAccessPlaces, or 0. Answered with how many have been written there
  kSpend,       // arguments[0]: virtual time the call takes, ps; resumed when it has passed. number: kReadsClock: it is a read of
                // a clock, in a row of them that began at [1], and the program's registers are in poll_registers; or 0
  kPoll,        // a poll of a completion queue that has shown nothing so far, or sched_yield() in a loop. arguments: [0] cost ps,
                // and of a queue [1] device handle,
                // [2] CQ number, [3] arena offset of the entry it will look at, [4] its sequence once written,
                // [5] address of clock_gettime, which such a loop may call; number: kStartsPoll, kYields and the known
                // calls of repeated_calls.h. The program's registers at the call are in
                // poll_registers. Answered with how many more polls that show nothing the thread may let pass by itself
                // before it asks again, if it makes no other request
  kPoke,        // the thread was found running without a call for a while: arguments[0]: its ucontext_t, [1]: fs base,
                // [2]: address of the jump that trapped (DecidedInstruction::kLoopJump), 0: it was poked. Answered at once
                // and without effect (kVainPoke), or the thread is parked
  kDoorbell,    // arguments: [0] cost ps, [1] DoorbellKind, [2] device handle, [3] object number, [4] value;
                // the MMIO write leaves the CPU when the cost has passed, and the thread goes on then
  kCommand,     // mailbox: CommandHeader …; arguments[0]: its size in bytes
  kSystemCall,  // arguments[0..5]: the call's arguments; number: the call's number
  kRefused,     // like kSystemCall, for a call that the table refuses: recorded by name, answered in `result`
  kForked,      // the copy that kForkProcess asked for is made, or not. arguments: [0] its virtual pid, [1] its real one or
                // -errno, [2] descriptor of its region, [3] 1: wait until it has executed a program or ended, 3: and it
                // shares the caller's memory till then, [4] address of the word to clear when it ends, or 0. Answered with
                // the virtual pid or -errno
  kCode,        // memory holds new code. arguments: [0] address, [1] length, [2] descriptor of the file that is mapped there or
                // -1, [3] offset in it, [4] what the memory's protection is. Answered at once and without effect on time
  kMachine,     // the machine could not do what it was asked to. arguments: [0] errno, [1] the size of what did not fit, or 0;
                // number: the system call. Answered at once and without effect on time
  kFolders,     // the program goes to one of the folders that its host has of its own: they are to be made, unless they are
                // there. Answered at once and without effect on time
  kView,        // a call is about to use a path in a view of a working folder, or has. arguments and mailbox: ViewStep
                // (folder_view.h). Answered at once and without effect on time
  kPlace,       // a placement that came with the token (placements.h) cannot be carried out by the thread, as the memory is not
                // there or may not be written: none of them counts as done. Answered at once and without effect on time: all are
  kFileEvents,  // what the kernel has told of changes to the host's files since it was asked last is kept until it is told
                // (kFileEventsCall). arguments: [0] 1: the runtime itself has looked at them or set their attributes, which is
                // no event. Answered at once and without effect on time: how many events are kept
  kFault,       // the program is about to die of a signal of its own: arguments[0]: signal, [1]: address; after a foreign call
                // (foreign_call.h) also [2]: si_arch, [3]: si_syscall, else 0
  kReplaceCall,  // a system call traps again and again. arguments: [0] address of its instruction, [1] how often it has since
                 // that was last told. Answered at once and without effect on time, with a CallReplacement
  kAccess,      // the thread is late before an access to memory. arguments: [0] address of the instruction, [1] of the context
                // saved there or behind, [2] fs base, [3] what it touches and [4] how many bytes, [5] an AccessLateness.
                // Answered to kMayBeBuffered with an address: the store waits in the store buffer until the thread comes there
  kFailedPoll,  // a poll is about to return completions that have failed. arguments: [0] address of the first ibv_wc, [1] how
                // many there are, [2] which have failed, a bit each. The program's registers at the call are in poll_registers.
                // Answered at once and without effect on time: with a FieldUseAnswer
  kTellCall,    // a call of the program's begins, or has ended. arguments: [0] address of a ToldCall (told_calls.h). Answered at
                // once and without effect on time
};
// Fields of ibv_wc that a status other than success leaves undefined (ibv_poll_cq(3)).
struct UndefinedField {
  const char* name;
  std::uint8_t offset, size;
};
inline constexpr UndefinedField kUndefinedFields[] = {
    {"opcode", 12, 4},     {"byte_len", 20, 4}, {"imm_data", 24, 4}, {"src_qp", 32, 4},        {"wc_flags", 36, 4},
    {"pkey_index", 40, 2}, {"slid", 42, 2},     {"sl", 44, 1},       {"dlid_path_bits", 45, 1}};
// An instruction to come that uses such a field; 0: none is known.
struct FieldUseAnswer {
  std::uint64_t instruction : 48;
  std::uint64_t field : 8;
  std::uint64_t completion : 8;
};


enum class CallReplacement : std::int64_t { kNever = 0, kDone, kNotYet };

// kSendQueue: number is the QPN, value the new producer number (as in the record). kCompletionQueueArm: the CQN and
// kArmAny or kArmSolicited. kReceiveQueue: the QPN and the new producer number; only asked for by the record.
enum class DoorbellKind : std::uint32_t { kSendQueue = 0, kCompletionQueueArm, kReceiveQueue, kTagOperations };

// Calls that a thread answers itself and may be late with, counted by what they are for.
enum class OwnCall : std::uint32_t { kOther = 0, kPost, kArm };
inline constexpr std::size_t kOwnCallKinds = 3;
constexpr OwnCall own_call_of(DoorbellKind kind) {
  return kind == DoorbellKind::kCompletionQueueArm ? OwnCall::kArm : OwnCall::kPost;
}

// How many polls a thread lets pass by itself, unless it was told otherwise, before it asks whether it may be parked.
inline constexpr std::uint32_t kPollsAlone = 16;

// ibv_poll_cq keeps its caller's registers of these numbers, in their order in instructions, on the stack: the first just
// below the return address, that is 8 bytes below the stack pointer at the entry, the next 8 bytes below that. They have
// the values there that they have when it returns.
inline constexpr std::uint8_t kPollFrame[] = {3, 5, 12, 13, 14, 15};

// Sent to a thread that gives no sign of life, see Request::kPoke: by the supervisor, or by the thread's own timer
// (ThreadSlot::poke_after_us) while it is known to wait by spinning. Never seen by the program.
inline constexpr int kPokeSignal = 63;

// Signals that the shim handles natively, bit n - 1 for signal n, and that are therefore never blocked natively: of those
// that the program sends, handles and blocks the shim keeps account.
inline constexpr std::uint64_t kReservedSignals = 1ull << (SIGSYS - 1) | 1ull << (SIGSEGV - 1) | 1ull << (kPokeSignal - 1);

// Number of kSpend.
inline constexpr std::uint32_t kReadsClock = 1;

// Answer to kPoke: the thread does not wait, and goes on.
inline constexpr std::int64_t kVainPoke = 1;

// What the shim does natively, after the supervisor has answered and before the program goes on.
enum class Action : std::uint32_t {
  kReturn = 0,     // return `result`
  kNative,         // execute the original call through the gate and return what the kernel says
  kReserveFd,      // let descriptor action_arguments[0] be a copy of the placeholder, then return `result`
  kReserveTwoFds,  // the same for action_arguments[0] and [1]
  kTakeFds,        // the same for the action_arguments[0] numbers in the mailbox; where the number is ~n, the real
                   // file that is next in the passage becomes descriptor n
  kReleaseFd,      // close descriptor action_arguments[0] natively, then return `result`
  kNativePath,     // execute the call natively, its path number action_arguments[0] being what stands in the mailbox
  kOtherPath,      // path number action_arguments[0] of the call leads to the one in the mailbox, which is not in a
                   // tree: look where it is and ask again, or execute the call
  kCloneThread,    // make the thread natively: its slot is action_arguments[0]; `result` is its virtual id
  kForkProcess,    // make a copy of the process natively: `result` is its virtual pid; then ask kForked
  kRestart,        // deliver the raised signals, then make the same call again (SA_RESTART)
  kMapSegment,     // shmat: map the file that is next in the passage, action_arguments[0] bytes in pages of
                   // action_arguments[1] bytes, and ask kAttachedCall
  kUnmapSegment,   // unmap action_arguments[1] bytes from action_arguments[0] on, then return `result`
  kTransfers,      // io_submit: carry out the action_arguments[0] transfers in the mailbox (async_io.h), then ask
                   // kTransfersDoneCall with action_arguments[1], the number of requests that came before them
  kRaise,          // send the process signal action_arguments[0] natively, then return `result`
};

// A doorbell rung while the thread answered its calls itself: it leaves the CPU at `time_ps`, when the call
// that rings it has taken `cost_ps`.
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

// A signal that the program gets natively before it goes on, and its siginfo_t.
struct RaisedSignal {
  std::int32_t signal;
  std::int32_t code;     // si_code
  std::uint32_t sender;  // si_pid
  std::int32_t status;   // si_status
  std::uint64_t value;   // si_value, of SI_QUEUE and SI_TIMER; si_band, of POLL_IN to POLL_HUP
  std::int32_t timer;    // si_timerid, of SI_TIMER; si_fd, of POLL_IN to POLL_HUP
  std::int32_t overrun;  // si_overrun, of SI_TIMER
  std::uint32_t to_thread;  // 1: sent to the thread; 0: to the process, whoever unmasks it first gets it
  std::uint32_t user;       // si_uid
};
inline constexpr std::uint32_t kMaxRaisedSignals = 32;
inline constexpr std::uint32_t kMostFileGroups = 32;

inline constexpr std::uint32_t kMostNoteFrames = 12;
// Why the thread's own part of verbs has refused a call, or what a check has found, in words.
struct VerbNote {
  std::int64_t time_ps;
  std::uint64_t caller;  // of a finding: the address in the program to which the verb returns
  std::int32_t error;    // errno; 0 of a finding
  Check check;           // kNone: a refusal
  std::uint64_t posted;  // of a finding: where the work request was posted that it is about, as `caller`; 0: about none
  // Of a finding in a call that libraries make, too: what may be return addresses on the stack, the innermost first and 0 behind
  // the last. The first that leads into the program itself is its place, else `caller`.
  std::uint64_t frames[kMostNoteFrames];
  std::uint64_t stack;       // address of a NoteStack; 0: there is none
  std::uint64_t private_at;  // what is mapped at this address must be private, or nothing is told; 0: nothing must
  char text[232];        // the verb, a colon, and why
};
inline constexpr std::uint32_t kMaxVerbNotes = 4;
// The stack of a thread that has noted a finding, as it was then; in memory of the process.
struct NoteStack {
  std::uint64_t address;       // in the shim: where what has noted it returns to
  std::uint64_t stack, frame;  // the stack pointer and rbp there
  std::uint64_t length;        // of what follows, from the stack pointer on
  std::uint8_t bytes[4064];
};
inline constexpr std::uint32_t kMaxCallNotes = 32;

// Lines of 64 bytes of a page of the program's memory, one bit each.
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
  std::int64_t result;               // what the call returns: -errno on failure, as the kernel does
  std::int64_t action_arguments[2];
  std::int64_t clock_ps;    // the thread's own virtual clock, true whenever it holds the token
  std::int64_t horizon_ps;  // before this time the thread may answer calls itself; 0 in call-by-call mode
  // Of the calls that it answers itself and that count (exchange.cc), the one with which the number of its kind (OwnCall) comes
  // to 0 is handed over.
  std::int64_t calls_until_late[kOwnCallKinds];
  // The same of its accesses to memory that count (accesses.h).
  std::int64_t accesses_until_late;
  // When the first touch of the process's list is due that has not been done (touches.h).
  std::int64_t next_touch_ps;
  RaisedSignal raised[kMaxRaisedSignals];
  std::uint32_t raised_count;
  std::uint32_t doorbell_count;
  std::uint32_t polls_alone;    // polls that have shown nothing and passed by themselves since it got the token
  std::uint32_t poke_after_us;  // real time without a request after which the thread pokes itself; 0: never
  QueuedDoorbell doorbells[kMaxQueuedDoorbells];
  // General registers in encoding order, rip and the base of fs, at the entry of the last poll.
  std::uint64_t poll_registers[18];
  // ucontext_t of the trapped call, 0 when the call came through a symbol. One that came through a stub has only the stack
  // pointer and the mask in its own.
  std::uint64_t context_address;
  std::uint32_t user;             // the thread's real user
  // By whose rights the thread names files of the machine; 0: by those of whoever runs the simulator.
  std::uint32_t file_user, file_group;
  std::uint32_t real_group;
  // Of which system calls the answers are known until the horizon, see repeated_calls.h. The present one takes
  // action_arguments[0] beyond what any call costs, ps.
  std::uint32_t repeats;
  std::uint64_t state_address;    // the shim's own: what it keeps for the thread
  std::uint32_t has_own_storage;  // and whether it keeps that in the C library's storage of the thread
  std::uint32_t reserved_for_storage;
  std::uint64_t signal_mask;      // the program's own, always: the shim's handlers mask everything natively
  std::uint32_t note_count;       // of the notes below, since the thread got the token
  std::uint32_t looks;            // at `go`, before the thread sleeps; a new thread has none
  VerbNote notes[kMaxVerbNotes];
  VerbWait verb_wait;
  // The address in the program to which the verb returns that the thread was in last, 0: it has not said so, or the verb was a
  // poll, whose registers are above; and its caller's frame pointer, where the program has such.
  std::uint64_t verb_caller, verb_frame;
  std::uint64_t verb_stack;  // and its stack pointer behind the call
  // What the analysis of a loop looks at (Request::kPoll) costs the thread a copy, and the supervisor a call of the kernel.
  // So the thread brings these lines with such a request, one after the other in the mailbox, and says which list it has
  // followed: `brought` is `list_to_bring`, or 0 if it has brought none, as one of them is not mapped any more.
  std::uint32_t list_to_bring;  // number of the list; 0: there is none
  std::uint32_t brought;
  std::uint32_t pages_to_bring;  // entries of the list, at most kMostPagesToBring; at most kMostLinesToBring lines in all
  std::uint32_t yields;          // looks at `go` between yields of the processor, after `looks` and before the thread sleeps
  PageLines to_bring[kMostPagesToBring];
  std::uint32_t call_count;  // of the notes below, since the thread got the token: note n at n mod kMaxCallNotes
  std::uint32_t placements;  // that come with the token (placements.h)
  CallNote calls[kMaxCallNotes];
  // The thread's supplementary groups, the first of them: those behind give no rights to files of the machine.
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
  std::int64_t post_send_wqe_ps;      // and per work request in it
  std::int64_t post_recv_ps;          // per ibv_post_recv call
  std::int64_t post_recv_wqe_ps;      // and per work request in it
  std::int64_t doorbell_ps;           // MMIO write of the doorbell, CPU side
  std::int64_t inline_line_ps;        // per started 64 bytes of inline data copied into a WQE
  std::int64_t poll_empty_ps;         // ibv_poll_cq that finds nothing
  std::int64_t poll_cqe_ps;           // per work completion returned
  std::int64_t arm_cq_ps;             // ibv_req_notify_cq
  std::int64_t system_call_ps;        // any system call that has no cost of its own
  std::int64_t clock_read_ps;         // first of a row of clock reads
  std::int64_t timestamp_counter_ps;  // first rdtsc of a row
  std::int64_t wake_up_ps;            // blocked thread: from the cause to running again
  std::int64_t event_wake_up_ps;      // and when the cause is an event of the adapter
};

struct RegionHeader {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint32_t region_header_size;  // sizeof(RegionHeader): a mismatch is a broken installation
  std::uint32_t virtual_pid;
  std::uint32_t parent_virtual_pid;
  std::uint32_t thread_count;  // slots ever used
  alignas(64) std::atomic<Baton> message;  // hands a request to the supervisor; a futex
  std::uint32_t message_slot;              // the slot that has the request
  alignas(64) std::int64_t epoch_ns;               // CLOCK_REALTIME at virtual time 0, since 1970
  std::uint64_t timestamp_counter_hz;
  std::int64_t own_effect_ps;  // least time from a doorbell leaving the CPU to any effect on the process
  CallCosts costs;
  // One bit per descriptor below kUsualDescriptors: calls on it belong to the supervisor. The others: HighDescriptors.
  std::atomic<std::uint64_t> virtual_fds[kUsualDescriptors / 64];
  std::int32_t own_descriptors;        // where the shim's own lie
  std::int32_t own_descriptors_later;  // and where they go when the program needs their numbers
  std::int32_t descriptor_limit;       // the program's RLIMIT_NOFILE, at most kMostDescriptors
  std::atomic<std::int32_t> least_closed;  // the lowest number that the kernel has closed since the supervisor reset it
  // What the program has set for each signal, kept by the shim: SignalDisposition.
  std::uint8_t dispositions[65];
  std::uint8_t silent_stops;  // 1: SA_NOCLDSTOP, the stop of a child sends no SIGCHLD
  // Bit n - 1: the supervisor keeps signal n while the program masks it: the process has a signalfd for it, or was sent it.
  std::atomic<std::uint64_t> watched_signals;
  std::uint32_t watches_files;  // 1: somebody on the host watches files of its own (file_events.h)
  std::uint64_t random_seed;   // of random instructions
  std::uint64_t random_draws;  // how many there were
  std::uint32_t extended_control;        // what XGETBV answers
  std::uint32_t traps_timestamp_counter; // 1: PR_SET_TSC works here and is needed
  // Who runs the simulator, and whom the kernel names in place of users that it cannot name: programs see root.
  std::uint32_t machine_user, machine_group, unnamed_user, unnamed_group;
  std::int64_t machine_began_ns;  // the machine's time when the run began, since 1970
  // Bit n - 1 for signal n: the program has been sent it within the simulation; it came from outside, and was dropped.
  std::atomic<std::uint64_t> sent_signals, outside_signals;
  std::uint64_t shim_heap_size;  // bytes, at most kShimHeapSize
  std::uint32_t traced_start;            // 1: a breakpoint tells the supervisor that the shim is in place
  // System calls that came to the shim, whether it answered them, handed them over or let the kernel answer; and the last
  // one's number. Only for what is said of a program that does not come back.
  std::uint64_t calls;
  std::uint32_t last_call;
  std::uint32_t traps_until_told;  // of one system call, before kReplaceCall is asked; 0: it never is
  // Addresses of functions that loops which wait may call; each is answered in the process.
  std::uint64_t yield_function, time_function, timeofday_function;  // sched_yield(2), time(2), gettimeofday(2)
  std::uint64_t gate;  // the page of the only code that may enter the kernel
  std::uint32_t checks;  // that the shim makes: check_bit() of each
  std::uint32_t late_accesses;  // 1: threads may be late before accesses to memory
  std::uint64_t access_epoch;  // how often instructions have begun to trap again (accesses.h)
  // 1: nothing runs here, the process is there to be copied (verbs_shim/runtime/zygote.cc): it hands the message over when it can
  // be, and again for each token, with which the copy's region is next in the passage. The result is the copy's real pid or
  // -errno
  std::uint32_t is_zygote;
};

// With the breakpoint, in rax; rdi and rsi are the addresses of the shim's entries for patched instructions and system calls.
inline constexpr std::uint64_t kAttachMark = 0x6863'6174'7461'2e62;

// Of the descriptors from kUsualDescriptors on. Few programs have one: the pages are there when they are touched.
struct HighDescriptors {
  std::atomic<std::uint64_t> virtual_fds[kMostDescriptors / 64];    // as in the header
  std::atomic<std::uint64_t> close_on_exec[kMostDescriptors / 64];  // of virtual ones that the kernel does not know; the shim's
};

struct Mailbox {
  std::uint8_t bytes[kMailboxSize];
};

// What one thread has of the region.
struct ThreadPart {
  ThreadSlot slot;
  alignas(4096) Mailbox mailbox;
};

inline constexpr std::uint64_t kPathViewOffset = 4096;
inline constexpr std::uint64_t kThreadsOffset = (kPathViewOffset + sizeof(PathView) + 4095) / 4096 * 4096;
inline constexpr std::uint64_t kHighDescriptorsOffset = 1020ull << 20;

// What a process needs from its first moment on, in pages that are best asked for together.
inline constexpr std::uint64_t kFirstPages = kPathViewOffset + offsetof(PathView, text) + 4096;  // from the beginning on
inline constexpr std::uint64_t kThreadPages = offsetof(ThreadPart, mailbox) + 4096;              // of a thread

static_assert(sizeof(RegionHeader) <= kPathViewOffset);
static_assert(kThreadsOffset + sizeof(ThreadPart) <= kNearSize);
static_assert(kThreadsOffset + std::uint64_t{kMaxThreads} * sizeof(ThreadPart) <= kHighDescriptorsOffset);
static_assert(kHighDescriptorsOffset + sizeof(HighDescriptors) <= kArenaOffset);
static_assert(std::atomic<Baton>::is_always_lock_free && sizeof(std::atomic<Baton>) == sizeof(std::uint32_t));

}  // namespace verbatim::protocol
