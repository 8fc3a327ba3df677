// Every x86-64 system call: who answers it, and all else in which calls differ (system_call_table.h). A call without a row is refused
// with ENOSYS.
//
//   kPassing       executed by the kernel, never trapped: passing_calls.h says why it may
//   kByArgument    the same with the arguments named there; the shim answers or refuses others
//   kLocal         answered by the shim: signal state and process attributes it has to keep its own hands on.
//   kByDescriptor  the supervisor's when the descriptor in the first argument is virtual, the kernel's
//                  otherwise.
//   kByPath        the supervisor's when a path leads to what each simulated host has of its own (path_view.h),
//                  the kernel's otherwise. Which arguments are paths stands in path_calls.h.
//   kByProtection  the kernel's; when it makes memory executable, the code there is searched before it can run, and when
//                  the machine has no room for a large mapping, the run says so
//   kVirtual       always the supervisor's (it may still answer "execute it natively").
//   kRefused       fails with the errno of its row and is reported by name.
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

  // Whom the call concerns, so that it may be executed before calls of other hosts that are earlier in virtual time
  // (sim/supervisor/kernel/kernel_ahead.cc). None of these: anybody. Calls that make or end processes have none, nor those that
  // number something in the whole run (a TCP connection), that may set a timer that goes off at once, or by which programs wait.
  kOfCaller = 1u << 0,      // the calling process
  kOfFile = 1u << 1,        // the file whose descriptor is the first argument
  kOfTwoFiles = 1u << 2,    // those of the first two arguments
  kOfUnixSocket = 1u << 3,  // the file of the first argument, if it is a Unix socket
  kOfFutex = 1u << 4,       // those who wait for a futex of the host, when they are woken
  kConcerns = kOfCaller | kOfFile | kOfTwoFiles | kOfUnixSocket | kOfFutex,

  // Answered without a trap (replaced_calls.h).
  kInPlace = 1u << 5,

  // By an answer of these calls a waiting program learns that there is nothing, and nothing has changed (repeated_calls.h).
  kEmptyIfEagain = 1u << 6,  // EAGAIN
  kEmptyAtOnce = 1u << 7,    // 0, where the last argument, a timeout, is 0
  kSleep = 1u << 8,          // 0, of a relative sleep

  // What ends a blocked call early, see signal(7).
  kEndedByHandler = 1u << 9,  // a signal handler, unless it is installed with SA_RESTART
  kEndedByStop = 1u << 10,    // also a stop signal

  // Programs that wait make the call again and again, and no answer says more than those before: one line of --calls.
  kOnlyAsks = 1u << 11,

  kFree = 1u << 12,    // takes no virtual time
  kUnseen = 1u << 13,  // is recorded only if it fails

  // The argument with the flag by which exec closes the descriptors that the call makes: O_CLOEXEC, or MSG_CMSG_CLOEXEC.
  kExecFlag0 = 1u << 16,
  kExecFlag1 = 2u << 16,
  kExecFlag2 = 3u << 16,
  kExecFlag3 = 4u << 16,
  kExecFlags = 7u << 16,
  kMessage = 1u << 19,
  kMessageExecFlag2 = kExecFlag2 | kMessage,
  kMessageExecFlag3 = kExecFlag3 | kMessage,
  kExecFlagOfFcntl = 1u << 20,  // of F_DUPFD_CLOEXEC alone
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
  const char* letters;     // one for each argument
  std::uint8_t arguments;  // how many

  // At least one of them.
  constexpr bool has(CallTraits some) const { return (traits & some) != CallTraits::kNone; }
};

// Index of the argument with the flag, of a call that has one of kExecFlags.
constexpr unsigned exec_flag_argument(const SystemCall& call) {
  return static_cast<std::uint32_t>(call.traits & CallTraits::kExecFlags) / static_cast<std::uint32_t>(CallTraits::kExecFlag0) - 1;
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

inline constexpr std::uint32_t kSystemCallLimit = 512;

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

constexpr const SystemCall& system_call(std::uint64_t number) {
  constexpr const SystemCall* kRows = kSystemCalls.rows;
  return kRows[number < kSystemCallLimit ? number : kSystemCallLimit - 1];
}

// Rows in the order of their numbers, each number once, and none that contradicts itself.
constexpr bool is_sound(const SystemCall& row) {
  using enum CallTraits;
  const bool is_answered = row.call_class != CallClass::kPassing && row.call_class != CallClass::kByArgument &&
                           row.call_class != CallClass::kByProtection && row.call_class != CallClass::kRefused;
  const auto concerns = static_cast<std::uint32_t>(row.traits & kConcerns);
  const auto is_descriptor = [&](unsigned argument) { return row.arguments > argument && row.letters[argument] == 'f'; };
  return row.arguments <= 6 && (is_answered || row.traits == kNone) && (row.refusal != 0) == (row.call_class == CallClass::kRefused) &&
         (concerns & (concerns - 1)) == 0 && (!row.has(kOfFile | kOfTwoFiles | kOfUnixSocket) || is_descriptor(0)) &&
         (!row.has(kOfTwoFiles) || is_descriptor(1)) && (row.call_class != CallClass::kByDescriptor || is_descriptor(0)) &&
         (!row.has(kEmptyAtOnce | kEmptyIfEagain) || row.has(kEndedByHandler | kEndedByStop));
}
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
  return are_sound && last < kSystemCallLimit;
}
static_assert(are_rows_sound());

}  // namespace verbatim::protocol
