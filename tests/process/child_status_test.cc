// A program's end is reported even if signals arrive during the wait.
#include "sim/supervisor/machine/child_status.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace verbatim::supervisor {
namespace {

TEST(ChildStatus, signals_do_not_end_the_wait) {
  struct sigaction action {}, before;
  action.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGALRM, &action, &before), 0);  // without SA_RESTART
  const pid_t child = fork();
  if (child == 0) {
    usleep(50'000);
    _exit(7);
  }
  const itimerval often{{0, 1000}, {0, 1000}}, never{};
  setitimer(ITIMER_REAL, &often, nullptr);
  const int status = await_status(child);
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(ChildStatus, who_is_no_child_counts_as_killed) {
  const int status = await_status(getpid());
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

}  // namespace
}  // namespace verbatim::supervisor
