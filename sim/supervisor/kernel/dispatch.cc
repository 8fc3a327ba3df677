#include "sim/supervisor/kernel/dispatch.h"

#include <fmt/format.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <type_traits>

#include "sim/supervisor/kernel/async_io_calls.h"
#include "sim/supervisor/kernel/file_calls.h"
#include "sim/supervisor/kernel/futex_calls.h"
#include "sim/supervisor/kernel/inotify_calls.h"
#include "sim/supervisor/kernel/memory_calls.h"
#include "sim/supervisor/kernel/posix_queue_calls.h"
#include "sim/supervisor/kernel/process_calls.h"
#include "sim/supervisor/kernel/socket_calls.h"
#include "sim/supervisor/kernel/sysv_calls.h"
#include "sim/supervisor/kernel/timer_calls.h"
#include "sim/supervisor/kernel/tree_calls.h"
#include "sim/supervisor/kernel/wait_calls.h"
#include "verbs_shim/protocol/async_io.h"
#include "verbs_shim/protocol/file_events.h"
#include "verbs_shim/protocol/passing_calls.h"
#include "verbs_shim/protocol/remote_shell.h"
#include "verbs_shim/protocol/system_calls.h"

namespace verbatim::supervisor {

static_assert(protocol::kStartRemoteShellCall == VERBATIM_START_REMOTE_SHELL);

Answer refuse(CallContext& call) {
  const protocol::SystemCall& row = protocol::system_call(call.number);
  const int error = row.call_class == protocol::CallClass::kRefused ? row.refusal : ENOSYS;
  if (call.number == SYS_clone3) return {-ENOSYS};  // libc tries it once and falls back to clone
  const std::string name = row.name != nullptr ? row.name : fmt::format("system call {}", call.number);
  // Calls that need privilege, or affect other processes (EPERM), are refused in any case.
  if (call.services.options.lets_unknown_calls_through && row.name != nullptr && error == ENOSYS) {
    call.warn(name + " is not simulated; it reached the machine's own kernel", true);
    return {0, protocol::Action::kNative};
  }
  const char* const advice = row.name != nullptr && error == ENOSYS
                                 ? " (with --strict=warn it would reach the machine's own kernel)"
                                 : "";
  call.warn(fmt::format("{} is not simulated; the program got {}{}", name,
                        error == EPERM ? "EPERM" : "ENOSYS", advice));
  return {-error};
}

namespace {

CallOutcome sys_refused(CallContext& call) { return refuse(call); }

// The runtime has found an argument that is not simulated: a[0] the call, a[1] the argument, a[2] the errno.
CallOutcome sys_refused_argument(CallContext& call) {
  const auto& a = call.arguments;
  const protocol::SystemCall& row = protocol::system_call(static_cast<std::uint64_t>(a[0]));
  const int error = call.as_int(2);
  if (row.name == nullptr || error < 1 || error > 133) return Answer{-ENOSYS};
  if (a[3] != 0) {
    call.warn(
        fmt::format("{} would change memory that the simulator has in each process, from {:#x} to {:#x}; "
                    "the program got {}",
                    row.name, protocol::kShimStart, protocol::kShimEnd, strerrorname_np(error)));
    return Answer{-error};
  }
  call.warn(fmt::format("{} with {:#x} is not simulated; the program got {}", row.name, a[1],
                        strerrorname_np(error)));
  return Answer{-error};
}

using SocketArgument = const std::shared_ptr<Socket>;

template <class Part>
Part& part_of(KernelState& state, SocketArgument& socket) {
  if constexpr (std::is_same_v<Part, SocketArgument>) return socket;
  else return state.part<Part>();
}

// A handler whose parameters after the context are parts of the state, or the socket of the call.
template <auto kHandler>
struct Adapter;
template <class... Parts, CallOutcome (*kHandler)(CallContext&, Parts&...)>
struct Adapter<kHandler> {
  static CallOutcome answer(CallContext& call, KernelState& state) {
    constexpr bool kHasSocket = (std::is_same_v<Parts, SocketArgument> || ...);
    int error = 0;
    SocketArgument socket = kHasSocket ? call.file_of_kind<Socket>(call.arguments[0], -ENOTSOCK, &error) : nullptr;
    if (kHasSocket && socket == nullptr) return Answer{error};
    return kHandler(call, part_of<Parts>(state, socket)...);
  }
};

struct Dispatch {
  CallOutcome (*rows[protocol::kSystemCallLimit])(CallContext&, KernelState&) = {};

  constexpr Dispatch() {
    for (auto& row : rows) row = &Adapter<&sys_refused>::answer;
#define VERBATIM_HANDLER(number, name, call_class, refusal, handler, traits, letters) \
  rows[number] = &Adapter<&handler>::answer;
    VERBATIM_SYSTEM_CALLS(VERBATIM_HANDLER)
#undef VERBATIM_HANDLER
#define VERBATIM_RUNTIME_HANDLER(number, name, handler, traits) rows[number] = &Adapter<&handler>::answer;
    VERBATIM_RUNTIME_CALLS(VERBATIM_RUNTIME_HANDLER)
#undef VERBATIM_RUNTIME_HANDLER
  }
};

// A call has a handler if and only if its class can reach the supervisor. Names are compared: with
// sanitizers, pointers to functions cannot be compared at compile time.
constexpr bool is_handler_sound(protocol::CallClass call_class, std::string_view handler) {
  using protocol::CallClass;
  if (call_class == CallClass::kLocal) return true;
  const bool reaches_kernel = call_class == CallClass::kVirtual || call_class == CallClass::kByDescriptor ||
                              call_class == CallClass::kByPath;
  return reaches_kernel == (handler != "sys_refused");
}
#define VERBATIM_CHECK_HANDLER(number, name, call_class, refusal, handler, traits, letters) \
  static_assert(is_handler_sound(protocol::CallClass::call_class, #handler), #name);
VERBATIM_SYSTEM_CALLS(VERBATIM_CHECK_HANDLER)
#undef VERBATIM_CHECK_HANDLER

}  // namespace

CallOutcome dispatch(CallContext& call, KernelState& state) {
  static constexpr Dispatch kDispatch;
  return kDispatch.rows[std::min(call.number, protocol::kSystemCallLimit - 1)](call, state);
}

}  // namespace verbatim::supervisor
