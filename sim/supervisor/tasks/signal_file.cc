#include "sim/supervisor/tasks/signal_file.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

namespace {

signalfd_siginfo siginfo_of(const QueuedSignal& signal) {
  signalfd_siginfo info{};
  const SignalOrigin& origin = signal.origin;
  info.ssi_signo = static_cast<std::uint32_t>(signal.signal);
  info.ssi_code = origin.code;
  if (origin.code == SI_TIMER) {
    info.ssi_tid = static_cast<std::uint32_t>(origin.timer);
    info.ssi_overrun = static_cast<std::uint32_t>(origin.overrun);
  } else if (origin.code != SI_KERNEL) {
    info.ssi_pid = origin.sender;
    info.ssi_uid = origin.user;
    info.ssi_status = origin.status;
  }
  info.ssi_ptr = origin.value;
  info.ssi_int = static_cast<std::int32_t>(origin.value);
  return info;
}

}  // namespace

std::uint32_t SignalFile::readiness() const {
  return (process_.pending.pending() & set_) != 0 ? POLLIN | POLLRDNORM : 0;
}

IoResult SignalFile::read(std::size_t limit, std::vector<std::byte>& bytes) {
  if (limit < sizeof(signalfd_siginfo)) return -EINVAL;
  while (bytes.size() + sizeof(signalfd_siginfo) <= limit) {
    const auto signal = process_.pending.take(set_);
    if (!signal) break;
    const signalfd_siginfo info = siginfo_of(*signal);
    const auto raw = std::as_bytes(std::span(&info, 1));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  }
  if (bytes.empty()) return std::nullopt;
  return static_cast<std::int64_t>(bytes.size());
}

void SignalFile::replace_set(std::uint64_t set) {
  set_ = set;
  notify();
}

}  // namespace verbatim::supervisor
