// Every x86-64 system call: its class, and all other properties in which calls differ (system_call_table.h).
// A call without a row is refused with ENOSYS.
//
//   kPassing       executed by the kernel, never trapped; passing_calls.h has the reasons
//   kByArgument    like kPassing for the argument values listed there; the shim answers or refuses the others
//   kLocal         answered by the shim, which keeps signal state and some process attributes
//   kByDescriptor  answered by the supervisor if the descriptor in the first argument is virtual, else by the kernel
//   kByPath        answered by the supervisor if a path leads to a tree of the simulated host (path_view.h), else by the
//                  kernel; path_calls.h lists the path arguments
//   kByProtection  executed by the kernel. Code that becomes executable is searched before it can run. If the machine
//                  refuses a large mapping, the run reports it
//   kVirtual       passed to the supervisor, which may answer "execute natively"
//   kRefused       fails with the errno of its row, and a warning names it
#pragma once

#include <errno.h>

#include <cstdint>

#include "verbs_shim/protocol/system_call_table.h"

namespace verbatim::protocol {

enum class CallClass : std::uint8_t {
  kPassing,
  kByArgument,
  kLocal,
  kByDescriptor,
  kByPath,
  kByProtection,
  kVirtual,
  kRefused
};

enum class CallTraits : std::uint32_t {
  kNone = 0,

  // Threads that the call affects. A call with one of these traits may be executed before earlier calls of
  // other hosts (sim/supervisor/kernel/kernel_ahead.cc). A call without one may affect any thread, for
  // example one that creates or ends processes, assigns numbers unique in the run (TCP connections), may
  // start a timer due at once, or only waits (poll, nanosleep).
  kOfCaller = 1u << 0,      // only the calling process
  kOfFile = 1u << 1,        // users of the file that is the first argument
  kOfTwoFiles = 1u << 2,    // users of the files that are the first two arguments
  kOfUnixSocket = 1u << 3,  // users of the first argument, if it is an AF_UNIX socket
  kOfFutex = 1u << 4,       // FUTEX_WAKE: waiters on a futex of the host; other operations: any thread
  kConcerns = kOfCaller | kOfFile | kOfTwoFiles | kOfUnixSocket | kOfFutex,

  // Answered without a trap (replaced_calls.h).
  kInPlace = 1u << 5,

  // The call has found nothing and changed nothing (repeated_calls.h) if it returns:
  kEmptyIfEagain = 1u << 6,  // EAGAIN
  kEmptyAtOnce = 1u << 7,    // 0, with a zero timeout as last argument
  kSleep = 1u << 8,          // 0, from a relative sleep

  // Events after which a blocked call may be failed with EINTR (call_failures.h), see signal(7).
  kEndedByHandler = 1u << 9,  // a signal handler installed without SA_RESTART
  kEndedByStop = 1u << 10,    // such a handler or a stop signal; kEndedByHandler is then not set

  // Waiting programs repeat the call, and no answer adds information: consecutive calls are one line of
  // --calls.
  kOnlyAsks = 1u << 11,

  kFree = 1u << 12,    // takes no virtual time
  kUnseen = 1u << 13,  // recorded only if its result is not 0

  // Index of the argument with the close-on-exec flag for new descriptors: O_CLOEXEC, or MSG_CMSG_CLOEXEC
  // with kMessage.
  kExecFlag0 = 1u << 16,
  kExecFlag1 = 2u << 16,
  kExecFlag2 = 3u << 16,
  kExecFlag3 = 4u << 16,
  kExecAlways = 5u << 16,  // no such argument: new descriptors are close-on-exec
  kExecFlags = 7u << 16,
  kMessage = 1u << 19,
  kMessageExecFlag2 = kExecFlag2 | kMessage,
  kMessageExecFlag3 = kExecFlag3 | kMessage,
  kExecFlagOfFcntl = 1u << 20,  // only F_DUPFD_CLOEXEC

  // Progress of the program (sim/supervisor/idle_watch.h). A call that succeeds is progress, except:
  kNoProgress = 1u << 21,  // a call that waits, measures time, or sets timers or signals
  kCounted = 1u << 22,     // a transfer of 0, 8 or 128 bytes: those of eventfd and timerfd, and of signalfd

  kNeverRestarted = 1u << 23,  // fails with EINTR also after a handler installed with SA_RESTART, see signal(7)
  kTakesInput = 1u << 24,      // a thread that is blocked in the call may wait for a terminal's input
  kWaitsForFiles = kNoProgress | kNeverRestarted | kTakesInput,
};
constexpr CallTraits operator|(CallTraits a, CallTraits b) {
  return static_cast<CallTraits>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
constexpr CallTraits operator&(CallTraits a, CallTraits b) {
  return static_cast<CallTraits>(static_cast<std::uint32_t>(a) & static_cast<std::uint32_t>(b));
}

struct SystemCall {
  const char* name;  // nullptr: no such call
  CallClass call_class;
  std::int16_t refusal;  // errno of a refused call
  CallTraits traits;
  const char* letters;     // format of each argument, see system_call_table.h
  std::uint8_t arguments;  // number of arguments

  // True if the call has at least one of `some`.
  constexpr bool has(CallTraits some) const { return (traits & some) != CallTraits::kNone; }
};

// Index of the argument with the close-on-exec flag, for a call with one of kExecFlags.
constexpr unsigned exec_flag_argument(const SystemCall& call) {
  constexpr auto kUnit = static_cast<std::uint32_t>(CallTraits::kExecFlag0);
  return static_cast<std::uint32_t>(call.traits & CallTraits::kExecFlags) / kUnit - 1;
}

constexpr std::uint8_t count_letters(const char* letters) {
  std::uint8_t count = 0;
  while (letters[count] != 0) ++count;
  return count;
}

// Numbers of the runtime's own calls.
enum RuntimeCall : std::uint32_t {
#define VERBATIM_RUNTIME_CALL_NUMBER(number, name, handler, traits) k##name##Call = number,
  VERBATIM_RUNTIME_CALLS(VERBATIM_RUNTIME_CALL_NUMBER)
#undef VERBATIM_RUNTIME_CALL_NUMBER
};

inline constexpr std::uint32_t kSystemCallLimit = 528;

struct SystemCallTable {
  SystemCall rows[kSystemCallLimit] = {};

  constexpr SystemCallTable() {
    using enum CallTraits;
    constexpr const char* kSixNumbers = "xxxxxx";
    for (SystemCall& row : rows) row = {nullptr, CallClass::kRefused, ENOSYS, kNone, kSixNumbers, 6};
#define VERBATIM_SYSTEM_CALL_ROW(number, call_name, call_class, refusal, handler, traits, letters) \
  rows[number] = {#call_name, CallClass::call_class, refusal, traits, letters, count_letters(letters)};
    VERBATIM_SYSTEM_CALLS(VERBATIM_SYSTEM_CALL_ROW)
#undef VERBATIM_SYSTEM_CALL_ROW
#define VERBATIM_RUNTIME_CALL_ROW(number, name, handler, call_traits) rows[number].traits = call_traits;
    VERBATIM_RUNTIME_CALLS(VERBATIM_RUNTIME_CALL_ROW)
#undef VERBATIM_RUNTIME_CALL_ROW
  }
};
inline constexpr SystemCallTable kSystemCalls;

// A number beyond the table has its last row, which is no call.
constexpr const SystemCall& system_call(std::uint64_t number) {
  constexpr const SystemCall* kRows = kSystemCalls.rows;
  return kRows[number < kSystemCallLimit ? number : kSystemCallLimit - 1];
}

// True if the row does not contradict itself.
constexpr bool is_sound(const SystemCall& row) {
  using enum CallTraits;
  const bool is_answered = row.call_class != CallClass::kPassing && row.call_class != CallClass::kByArgument &&
                           row.call_class != CallClass::kByProtection && row.call_class != CallClass::kRefused;
  const auto concerns = static_cast<std::uint32_t>(row.traits & kConcerns);
  const auto is_descriptor = [&](unsigned argument) { return row.arguments > argument && row.letters[argument] == 'f'; };
  const bool is_refused = row.call_class == CallClass::kRefused;
  return row.arguments <= 6 && (is_answered || row.traits == kNone) && (row.refusal != 0) == is_refused &&
         (concerns & (concerns - 1)) == 0 && (!row.has(kOfFile | kOfTwoFiles | kOfUnixSocket) || is_descriptor(0)) &&
         (!row.has(kOfTwoFiles) || is_descriptor(1)) && (row.call_class != CallClass::kByDescriptor || is_descriptor(0)) &&
         (!row.has(kEmptyAtOnce | kEmptyIfEagain) || row.has(kEndedByHandler | kEndedByStop)) &&
         (!row.has(kSleep | kOnlyAsks) || row.has(kNoProgress)) && (!row.has(kNoProgress) || !row.has(kCounted)) &&
         (!row.has(kNeverRestarted | kTakesInput) || row.call_class == CallClass::kVirtual || is_descriptor(0));
}
// True if the rows ascend by number and are sound, and no runtime call has the number of a system call.
constexpr bool are_rows_sound() {
  std::int64_t last = -1;
  bool are_sound = true;
#define VERBATIM_CHECK_ROW(number, ...) \
  are_sound &= number > last && is_sound(kSystemCalls.rows[number]); \
  last = number;
#define VERBATIM_CHECK_RUNTIME_ROW(number, ...) \
  are_sound &= number > last && kSystemCalls.rows[number].name == nullptr; \
  last = number;
  VERBATIM_SYSTEM_CALLS(VERBATIM_CHECK_ROW)
  VERBATIM_RUNTIME_CALLS(VERBATIM_CHECK_RUNTIME_ROW)
#undef VERBATIM_CHECK_ROW
#undef VERBATIM_CHECK_RUNTIME_ROW
  return are_sound && last < kSystemCallLimit - 1;  // the last row is that of all other numbers
}
static_assert(are_rows_sound());

}  // namespace verbatim::protocol
