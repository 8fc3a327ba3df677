#include "sim/supervisor/machine/waiting.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <string>

#include "sim/core/interruption.h"

namespace verbatim::supervisor {

namespace asio = boost::asio;
using asio::io_context;

static_assert(SIGCHLD == 17);

namespace {

// Live objects of this process.
std::vector<Waiting*> all_waitings;

// Opens the file of `descriptor` once more for the wait; negative: use `descriptor` itself. Asio sets
// O_NONBLOCK, which all users of an open file description share, such as the shell and this terminal. Pipes
// and terminals can be opened again, except the master of a pseudo-terminal, which would be a new one.
int own_open_file(int descriptor, int access) {
  struct stat status;
  unsigned number = 0;
  const bool is_pipe = ::fstat(descriptor, &status) == 0 && S_ISFIFO(status.st_mode);
  const bool is_terminal = ::isatty(descriptor) != 0 && ::ioctl(descriptor, TIOCGPTN, &number) != 0;
  if (!is_pipe && !is_terminal) return -1;
  return ::open(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), access | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
}

using Descriptor = asio::posix::stream_descriptor;

// A descriptor, waited for once.
class Awaited {
 public:
  // `what`: wait_read or wait_write.
  Awaited(io_context& context, int descriptor, Descriptor::wait_type what)
      : descriptor_(descriptor),
        what_(what),
        own_(own_open_file(descriptor, what == Descriptor::wait_read ? O_RDONLY : O_WRONLY)),
        waits_(context) {
    if (own_ < 0) flags_ = ::fcntl(descriptor, F_GETFL);
    boost::system::error_code error;
    waits_.assign(waited_for(), error);
    is_ready_ = static_cast<bool>(error);
  }
  ~Awaited() {
    if (waits_.is_open()) waits_.release();
    if (own_ >= 0) ::close(own_);
    if (flags_ >= 0 && ::fcntl(descriptor_, F_GETFL) != flags_) ::fcntl(descriptor_, F_SETFL, flags_);
  }
  Awaited(const Awaited&) = delete;
  Awaited& operator=(const Awaited&) = delete;

  // Calls `on_ready` once, immediately or from the context.
  template <class OnReady>
  void start(OnReady on_ready) {
    if (is_ready_) return on_ready();
    waits_.async_wait(what_, [this, on_ready](const boost::system::error_code& error) {
      if (error == asio::error::operation_aborted) return;
      is_ready_ = true;  // also if it cannot be waited for: a regular file
      on_ready();
    });
  }
  void cancel() {
    boost::system::error_code ignored;
    if (waits_.is_open()) waits_.cancel(ignored);
  }
  bool is_ready() const { return is_ready_; }
  int descriptor() const { return descriptor_; }

 private:
  int waited_for() const { return own_ >= 0 ? own_ : descriptor_; }

  const int descriptor_;
  const Descriptor::wait_type what_;
  const int own_;
  int flags_ = -1;
  Descriptor waits_;
  bool is_ready_ = false;
};

}  // namespace

struct Waiting::Parts {
  explicit Parts(int wanted) {
    signals.add(wanted);
    for (const int signal : kInterruptingSignals) {
      if (!Interruption::takes(signal)) continue;
      signals.add(signal);
      Interruption::call_also(signal);
      taken.push_back(signal);
    }
    await_signal();
  }
  ~Parts() {
    // Asio restores the default action only; the previous handlers are restored here.
    signals.clear();
    for (const int signal : taken) Interruption::stop_calling(signal);
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  void await_signal() {
    signals.async_wait([this](const boost::system::error_code& error, int) {
      if (error) return;
      is_woken = true;
      await_signal();
    });
  }

  Interruption::Watch watch;
  io_context context{1};
  asio::signal_set signals{context};
  asio::steady_timer timer{context};
  std::vector<int> taken;
  bool is_woken = false;
};

Waiting::Waiting(int signal) : parts_(std::make_unique<Parts>(signal)) { all_waitings.push_back(this); }

Waiting::~Waiting() { std::erase(all_waitings, this); }

std::vector<int> Waiting::wait(std::span<const int> descriptors, int limit_ms, int writable) {
  auto& [watch, context, signals, timer, taken, is_woken] = *parts_;
  std::vector<std::unique_ptr<Awaited>> waited;
  const auto await = [&waited, &context = context, &woken = is_woken](int descriptor, Descriptor::wait_type what) {
    waited.push_back(std::make_unique<Awaited>(context, descriptor, what));
    waited.back()->start([&woken] { woken = true; });
  };
  for (const int descriptor : descriptors) await(descriptor, Descriptor::wait_read);
  if (writable >= 0) await(writable, Descriptor::wait_write);
  if (limit_ms >= 0) {
    timer.expires_after(std::chrono::milliseconds(limit_ms));
    timer.async_wait([&woken = is_woken](const boost::system::error_code& error) { woken = woken || !error; });
  }
  context.restart();
  while (!is_woken) context.run_one();
  context.poll();
  timer.cancel();
  for (const auto& awaited : waited) awaited->cancel();
  context.restart();
  context.poll();  // completions of the cancelled waits
  is_woken = false;
  std::vector<int> ready;
  for (const auto& awaited : waited) {
    if (awaited->is_ready()) ready.push_back(awaited->descriptor());
  }
  return ready;
}

pid_t fork_process() {
  // Blocks signals for the child until it has forgotten its parent's handlers.
  sigset_t interrupting, before;
  ::sigemptyset(&interrupting);
  for (const int signal : kInterruptingSignals) ::sigaddset(&interrupting, signal);
  ::sigprocmask(SIG_BLOCK, &interrupting, &before);
  for (Waiting* waiting : all_waitings) waiting->parts_->context.notify_fork(io_context::fork_prepare);
  const pid_t child = ::fork();
  const int error = errno;
  const auto event = child == 0 ? io_context::fork_child : io_context::fork_parent;
  for (Waiting* waiting : all_waitings) waiting->parts_->context.notify_fork(event);
  if (child == 0) {
    // The context has created new descriptors in the child; they are closed here.
    for (Waiting* waiting : all_waitings) waiting->parts_.reset();
    all_waitings.clear();
    Interruption::forget();
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return child;
}

ChildEnd await_child(pid_t child, bool is_group) {
  using Clock = std::chrono::steady_clock;
  Waiting waiting;
  ChildEnd end;
  Clock::time_point kill_at{};
  const pid_t signalled = is_group ? -child : child;
  for (;;) {
    const pid_t ended = ::waitpid(child, &end.status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) return end;
    if (Interruption::came() && !end.is_interrupted) {
      end.is_interrupted = true;
      ::kill(signalled, SIGTERM);
      kill_at = Clock::now() + std::chrono::milliseconds(kKillAfterMs);
    }
    if (!end.is_interrupted) {
      waiting.wait({}, -1);
    } else if (const auto left = std::chrono::ceil<std::chrono::milliseconds>(kill_at - Clock::now()); left.count() > 0) {
      waiting.wait({}, static_cast<int>(left.count()));
    } else {
      ::kill(signalled, SIGKILL);
      waiting.wait({}, kKillAfterMs);
    }
  }
}

}  // namespace verbatim::supervisor
