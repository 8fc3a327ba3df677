#include "sim/supervisor/kernel/file_signal.h"

#include <utility>

namespace verbatim::supervisor {

namespace {

// Signals with other meanings of si_code. They have SI_SIGIO (Linux' do_send_sigio).
bool has_own_codes(int signal) {
  return signal == SIGILL || signal == SIGFPE || signal == SIGSEGV || signal == SIGBUS || signal == SIGTRAP ||
         signal == SIGCHLD || signal == SIGSYS;
}

}  // namespace

FileSignal::FileSignal(Engine& engine, ComponentId source, VirtualFile& file, Send send)
    : file_(file),
      send_(std::move(send)),
      timer_(Timer::of<&FileSignal::on_timer>(engine, source, EventClass::kSupervisor, this)) {}

void FileSignal::set_async(bool async, int descriptor) {
  if (async) descriptor_ = descriptor;
  is_async_ = async;
  async ? file_.wait_queue.add(*this) : file_.wait_queue.remove(*this);
}

void FileSignal::wake(bool) {
  const std::uint32_t ready = file_.readiness();
  const bool has_input = (ready & (POLLIN | POLLHUP | POLLRDHUP)) != 0;
  if (!has_input && (ready & (POLLOUT | POLLERR)) == 0) return;
  pending_codes_.push_back(has_input ? POLL_IN : POLL_OUT);
  if (!timer_.scheduled()) timer_.schedule_after(Duration::zero());
}

void FileSignal::on_timer() {
  for (const int code : std::exchange(pending_codes_, {})) {
    if (owner.type < 0 || owner.id == 0) continue;
    SignalOrigin origin;
    if (signal != 0) {
      origin.code = has_own_codes(signal) ? SI_SIGIO : code;
      origin.value = code == POLL_IN ? POLLIN | POLLRDNORM : POLLOUT | POLLWRNORM | POLLWRBAND;
      origin.timer = descriptor_;
    }
    send_(owner, signal != 0 ? signal : SIGIO, origin);
  }
}

}  // namespace verbatim::supervisor
