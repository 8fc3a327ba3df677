#include "sim/supervisor/thread_times.h"

#include <fmt/format.h>
#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "sim/supervisor/machine/code_place.h"
#include "sim/supervisor/run_report.h"
#include "sim/supervisor/scheduling/processor_time.h"
#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

namespace {

constexpr double kLongPolling = 0.1;  // seconds
// without a call: longer than a hand-over takes on a busy machine
constexpr std::chrono::milliseconds kLongComputing{2};

}  // namespace

WaitingTime& ThreadTimes::of(Thread& thread) {
  return times_.of(thread.tid(), [&] {
    return fmt::format("{}, thread {}", report_.title(thread.process()), thread.tid());
  });
}

std::chrono::nanoseconds ThreadTimes::token_returned(Thread& thread, bool is_holder, bool polls) {
  const auto now = Clock::now();
  const std::chrono::duration<double> passed = now - std::exchange(returned_, now);
  const Clock::duration since_given = now - given_;
  if (!is_holder) return since_given;
  if (!polls) {
    if (since_given > kLongComputing) add_computing(thread, since_given);
    return since_given;
  }
  if (std::exchange(last_poller_, &thread) != &thread) return since_given;
  WaitingTime& time = of(thread);
  time.polling_seconds += passed.count();
  // The lookup of a source line takes milliseconds: it is done only for threads that are reported.
  if (time.polling_seconds < kLongPolling) return since_given;
  if (const auto poll = polls_to_place_.extract(thread.tid()); !poll.empty())
    time.place = place_of_call(thread.process().native_pid(), poll.mapped());
  return since_given;
}

void ThreadTimes::note_computing(Thread& thread, std::uint64_t context) {
  add_computing(thread, Clock::now() - given_);
  const std::uint64_t saved = context + offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP]);
  std::uint64_t code = 0;
  if (thread.process().memory().read_present(saved, std::as_writable_bytes(std::span(&code, 1))) ==
      sizeof code)
    computing_[thread.tid()].at = code;
}

// A thread also returns late if other programs use the processor: at most the time that its process has used counts.
// The lookup of a source line takes milliseconds: it is done after 1, 2, 4, 8 … seconds.
void ThreadTimes::add_computing(Thread& thread, std::chrono::duration<double> passed) {
  const pid_t process = thread.process().native_pid();
  if (const auto used = processor_time(process)) {
    const std::chrono::duration<double> since_read = *used - std::exchange(used_[process], *used);
    passed = std::min(passed, since_read);
  }
  Computing& computing = computing_[thread.tid()];
  const double before = std::exchange(computing.seconds, computing.seconds + passed.count());
  if (computing.seconds < 1) return;  // too short to report
  WaitingTime& time = of(thread);
  time.computing_seconds = computing.seconds;
  if (computing.at != 0 && std::ilogb(before) != std::ilogb(computing.seconds))
    time.computing_place = place_of_call(thread.process().native_pid(), computing.at + 1);
}

void ThreadTimes::note_refusal(Thread& thread, const std::string& why) {
  WaitingTime& time = of(thread);
  if (time.refusal == why) return;
  time.refusal = why;
  // The return address is on the stack.
  constexpr unsigned kStackRegister = 4;
  std::uint64_t address = 0;
  const auto bytes = std::as_writable_bytes(std::span(&address, 1));
  const std::uint64_t stack = thread.process().region().slot(thread.slot()).poll_registers[kStackRegister];
  if (!thread.process().memory().read(stack, bytes)) return;
  time.place = place_in_files(thread.process().native_pid(), address);
  polls_to_place_[thread.tid()] = address;
}

}  // namespace verbatim::supervisor
