// The simulator waits for a program until it has a request, ends, or is stuck. A child of the test is the
// program.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>

#include "sim/supervisor/scheduling/token.h"

namespace verbatim::supervisor {
namespace {

using Result = TokenWait::Result;
using protocol::Baton;
using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr std::int64_t kPokePeriodUs = 1000, kLongMs = 60'000;

void wake_sleeper(std::atomic<Baton>& word) { syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0); }

void make_request(ProcessRegion& region) {
  if (protocol::hand_over(region.header().message)) wake_sleeper(region.header().message);
}

std::int64_t cpu_us() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000 + time.tv_nsec / 1000;
}

void compute(std::int64_t us) {
  for (const std::int64_t end = cpu_us() + us; cpu_us() < end;) {
  }
}

// Number of pokes, in memory shared with the child.
std::atomic<int>* pokes = nullptr;

class TokenWaitTest : public testing::Test {
 protected:
  TokenWaitTest() {
    if (pokes == nullptr) {
      pokes = static_cast<std::atomic<int>*>(
          mmap(nullptr, sizeof *pokes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    }
    *pokes = 0;
  }
  ~TokenWaitTest() override {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }

  template <class Program>
  void start(Program program) {
    child_ = fork();
    if (child_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(protocol::kPokeSignal, [](int) { ++*pokes; });
    program();
    while (true) pause();
  }
  Result wait(TokenWait& token, bool may_poke = false, const std::function<bool()>& while_held = {}) {
    token.handed_over(1);
    return token.wait(region_, child_, child_, may_poke, while_held);
  }

  ProcessRegion region_;
  pid_t child_ = 0;
};

TEST_F(TokenWaitTest, a_request_is_taken) {
  TokenWait token(kLongMs, kPokePeriodUs);
  start([this] { make_request(region_); });
  EXPECT_EQ(wait(token), Result::kMessage);
  EXPECT_NE(region_.header().message.load(), Baton::kHandedOver);
  EXPECT_FALSE(token.interrupted());
}

TEST_F(TokenWaitTest, a_process_that_ends_has_died_and_is_not_reaped) {
  TokenWait token(kLongMs, kPokePeriodUs);
  start([] { _exit(3); });
  EXPECT_EQ(wait(token), Result::kDied);
  int status = 0;
  EXPECT_EQ(waitpid(child_, &status, WNOHANG), child_);
  EXPECT_EQ(WEXITSTATUS(status), 3);
  child_ = 0;
}

TEST_F(TokenWaitTest, a_process_that_sleeps_in_the_kernel_is_stuck_after_the_limit) {
  TokenWait token(100, kPokePeriodUs);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  start([&ends] {
    char byte;
    if (read(ends[0], &byte, 1) != 1) _exit(1);
  });
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(wait(token, true), Result::kStuck);
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_GT(took, milliseconds(100));
  EXPECT_LT(took, milliseconds(4000)) << "the limit for sleeping processes is not the larger one";
  EXPECT_THAT(token.stuck_doing(), HasSubstr("sleeps in the kernel in read(0x"));
  EXPECT_EQ(*pokes, 0) << "it does not compute";
  close(ends[0]);
  close(ends[1]);
}

TEST_F(TokenWaitTest, a_process_that_computes_is_stuck_after_the_limit) {
  TokenWait token(300, kPokePeriodUs);
  start([] {
    volatile int turns = 0;
    while (true) turns = turns + 1;
  });
  EXPECT_EQ(wait(token), Result::kStuck);
  EXPECT_THAT(token.stuck_doing(), HasSubstr("has been computing for 0 s without a call"));
  EXPECT_EQ(*pokes, 0) << "pokes are not allowed";
}

TEST_F(TokenWaitTest, the_silence_begins_when_the_token_is_handed_over) {
  TokenWait token(500, kPokePeriodUs);
  start([] {
    volatile int turns = 0;
    while (true) turns = turns + 1;
  });
  token.handed_over(1);
  const auto late = std::chrono::steady_clock::now() + milliseconds(700);
  while (std::chrono::steady_clock::now() < late) usleep(10'000);
  // One interval without a check counts as 200 ms at most.
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(token.wait(region_, child_, child_, false, {}), Result::kStuck);
  EXPECT_GT(std::chrono::steady_clock::now() - began, milliseconds(250));
}

TEST_F(TokenWaitTest, work_of_the_kernel_is_distinguished) {
  TokenWait token(1000, kPokePeriodUs);
  start([] {
    constexpr std::size_t kBytes = 4 << 20;
    while (true) {
      void* const at =
          mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
      munmap(at, kBytes);
    }
  });
  EXPECT_EQ(wait(token), Result::kStuck);
  clockid_t clock;
  timespec used{};
  ASSERT_EQ(clock_getcpuclockid(child_, &clock), 0);
  clock_gettime(clock, &used);
  if (used.tv_sec == 0 && used.tv_nsec < 600'000'000) GTEST_SKIP() << "the machine is too busy";
  EXPECT_THAT(token.stuck_doing(), HasSubstr("much of it in the kernel"));
}

TEST_F(TokenWaitTest, calls_that_take_no_virtual_time_are_counted) {
  TokenWait token(300, kPokePeriodUs);
  region_.header().last_call = SYS_getppid;
  region_.header().calls = 5;
  start([this] {
    while (true) region_.header().calls = region_.header().calls + 1;
  });
  EXPECT_EQ(wait(token), Result::kStuck);
  EXPECT_THAT(token.stuck_doing(),
              HasSubstr("system calls in 0 s, none of which takes virtual time (the last is getppid)"));
}

TEST_F(TokenWaitTest, a_computing_thread_is_poked_at_growing_intervals) {
  TokenWait token(kLongMs, kPokePeriodUs);
  start([this] {
    compute(400'000);
    make_request(region_);
  });
  EXPECT_EQ(wait(token, true), Result::kMessage);
  EXPECT_GE(*pokes, 4);
  EXPECT_LE(*pokes, 50) << "at most one in 10 ms of processor time, and five before";
}

TEST_F(TokenWaitTest, a_backoff_postpones_the_first_poke) {
  TokenWait token(kLongMs, kPokePeriodUs);
  start([this] {
    compute(9'000);
    make_request(region_);
  });
  token.handed_over(64);
  EXPECT_EQ(token.wait(region_, child_, child_, true, {}), Result::kMessage);
  EXPECT_EQ(*pokes, 0) << "the first poke takes 10 ms of processor time";
}

// On a loaded machine a program may be silent because it does not run.
TEST_F(TokenWaitTest, a_thread_that_gets_no_processor_is_not_poked) {
  const auto use_first_processor = [] {
    cpu_set_t allowed, one;
    sched_getaffinity(0, sizeof allowed, &allowed);
    int first = 0;
    while (!CPU_ISSET(first, &allowed)) ++first;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    sched_setaffinity(0, sizeof one, &one);
  };
  const pid_t busy = fork();
  if (busy == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    use_first_processor();
    compute(std::int64_t{60'000'000});
    _exit(0);
  }
  TokenWait token(400, 20'000);
  start([&] {
    use_first_processor();
    const sched_param none{};
    sched_setscheduler(0, SCHED_IDLE, &none);
    volatile int turns = 0;
    while (true) turns = turns + 1;
  });
  EXPECT_EQ(wait(token, true), Result::kStuck);
  EXPECT_EQ(*pokes, 0);
  kill(busy, SIGKILL);
  waitpid(busy, nullptr, 0);
}

TEST_F(TokenWaitTest, time_under_a_debugger_does_not_count) {
  TokenWait token(150, kPokePeriodUs);
  start([this] {
    raise(SIGSTOP);
    make_request(region_);
  });
  int looks = 0;
  const auto while_held = [&] {
    if (++looks == 15) kill(child_, SIGCONT);
    return false;
  };
  EXPECT_EQ(wait(token, false, while_held), Result::kMessage);
  EXPECT_GE(looks, 15);
}

TEST_F(TokenWaitTest, a_debugger_can_end_the_run) {
  TokenWait token(kLongMs, kPokePeriodUs);
  start([] { raise(SIGSTOP); });
  int looks = 0;
  EXPECT_EQ(wait(token, false, [&looks] { return ++looks == 3; }), Result::kInterrupted);
  EXPECT_EQ(looks, 3);
}

TEST_F(TokenWaitTest, a_signal_of_the_user_ends_the_wait) {
  TokenWait token(kLongMs, kPokePeriodUs);
  start([] {});
  raise(SIGTERM);
  EXPECT_EQ(wait(token), Result::kInterrupted);
  EXPECT_TRUE(token.interrupted());
}

TEST_F(TokenWaitTest, a_sleeping_thread_is_woken_by_the_token_and_the_holder_before_it_stops_polling) {
  TokenWait token(kLongMs, kPokePeriodUs);
  auto& go = region_.slot(1).go;
  go = Baton::kAsleep;
  start([&] {
    while (go.load() == Baton::kAsleep)
      syscall(SYS_futex, &go, FUTEX_WAIT, Baton::kAsleep, nullptr, nullptr, 0);
    go = Baton::kNothing;
    make_request(region_);
  });
  token.give(region_, 1, &region_.slot(2));
  EXPECT_EQ(wait(token), Result::kMessage);
  EXPECT_EQ(region_.slot(2).go.load(), Baton::kGoToSleep);
  EXPECT_EQ(go.load(), Baton::kNothing);
}

// A program may overwrite the word of a sleeping thread, which is then taken for a running one.
TEST_F(TokenWaitTest, a_thread_that_has_not_taken_the_token_is_woken_again) {
  TokenWait token(5000, kPokePeriodUs);
  ProcessRegion other;
  for (ProcessRegion* const given : {&other, &region_})
    token.give(*given, given == &region_ ? 1 : 0, nullptr);
  auto& go = region_.slot(1).go;
  start([&] {
    syscall(SYS_futex, &go, FUTEX_WAIT, Baton::kHandedOver, nullptr, nullptr, 0);
    make_request(region_);
  });
  EXPECT_EQ(wait(token), Result::kMessage);
}

}  // namespace
}  // namespace verbatim::supervisor
