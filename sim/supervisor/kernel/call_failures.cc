#include "sim/supervisor/kernel/call_failures.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>

#include "sim/supervisor/kernel/freedom.h"
#include "sim/supervisor/tasks/process.h"
#include "verbs_shim/protocol/system_calls.h"

namespace verbatim::supervisor {

namespace {

enum class Interrupted { kNever, kByHandler, kByStop };

// signal(7), "Interruption of system calls and library functions by signal handlers" and "by stop signals".
// Excluded: connect, which continues after EINTR, and calls that wait only for a signal.
Interrupted interrupted(const PendingCall& call) {
  using protocol::CallTraits;
  const protocol::SystemCall& row = protocol::system_call(call.number);
  const auto operation = call.arguments[1] & FUTEX_CMD_MASK;
  if (call.number == SYS_futex && operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET)
    return Interrupted::kNever;
  if (row.has(CallTraits::kEndedByStop)) return Interrupted::kByStop;
  return row.has(CallTraits::kEndedByHandler) ? Interrupted::kByHandler : Interrupted::kNever;
}

bool lets_handler_in(Thread& thread) {
  const protocol::RegionHeader& header = thread.process().region().header();
  const std::uint64_t masked = thread.process().region().slot(thread.slot()).signal_mask;
  for (int signal = 1; signal < static_cast<int>(std::size(header.dispositions)); ++signal) {
    const bool is_masked = (masked >> (signal - 1) & 1) != 0;
    if (header.dispositions[signal] == protocol::kSignalHandled && !is_masked) return true;
  }
  return false;
}

// A stream socket: the peer may have sent its bytes in parts.
bool is_stream(const VirtualFile& file) { return S_ISSOCK(file.mode()) && !file.keeps_boundaries(); }

}  // namespace

bool CallFailures::occurs(Thread& thread, std::string_view site) {
  return calls_ != nullptr && calls_->choose(site, thread.source(), thread.process().host().component);
}

bool CallFailures::interrupts(Thread& thread) {
  if (calls_ == nullptr) return false;
  const Interrupted by = interrupted(thread.call());
  if (by == Interrupted::kNever || (by == Interrupted::kByHandler && !lets_handler_in(thread))) return false;
  return occurs(thread, freedom::kInterrupted);
}

// Data left behind is reported again to edge-triggered epoll, as if it had arrived after the call.
std::uint64_t CallFailures::readable_now(Thread& thread, VirtualFile& file, std::uint64_t limit,
                                         bool dont_wait, bool whole) {
  if (calls_ == nullptr || limit == 0 || (file.readiness() & POLLIN) == 0) return limit;
  const bool is_pipe = file.as_pipe() != nullptr;
  const std::uint64_t there =
      is_stream(file) ? std::min<std::uint64_t>(file.queued_input().value_or(0), limit) : 0;
  std::uint64_t most = limit;
  if (dont_wait && (is_pipe || there > 0) && occurs(thread, freedom::kWouldBlock)) {
    most = 0;
  } else if (!whole && there > 1 && occurs(thread, freedom::kShortTransfer)) {
    most = calls_->choose_part(freedom::kShortBytes, thread.source(), there);
  }
  if (most != limit) file.report_again();
  return most;
}

std::uint64_t CallFailures::writable_now(Thread& thread, VirtualFile& file, std::uint64_t length,
                                         bool dont_wait) {
  if (calls_ == nullptr || length == 0 || !dont_wait ||
      (file.readiness() & (POLLOUT | POLLERR | POLLHUP)) != POLLOUT)
    return length;
  const bool is_pipe = file.as_pipe() != nullptr;
  if (!is_pipe && !is_stream(file)) return length;
  std::uint64_t most = length;
  if (occurs(thread, freedom::kWouldBlock)) {
    most = 0;
  } else if (length > (is_pipe ? PIPE_BUF : 1) && occurs(thread, freedom::kShortTransfer)) {
    most = calls_->choose_part(freedom::kShortBytes, thread.source(), length);
  }
  if (most != length) file.report_again();
  return most;
}

}  // namespace verbatim::supervisor
