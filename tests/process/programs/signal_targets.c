// Targets of kill, sigqueue, tkill and tgkill: a thread's id means its process, and which errors precede
// which.
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

enum { kNobody = 4194304 };
static int ready[2], done[2];
static volatile sig_atomic_t count, value;

static void on_signal(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  ++count;
  value = info->si_value.sival_int;
}

static void* wait_in_thread(void* tid) {
  sigset_t all;
  sigfillset(&all);
  EXPECT(pthread_sigmask(SIG_BLOCK, &all, NULL) == 0);
  *(pid_t*)tid = gettid();
  char byte = 0;
  EXPECT(write(ready[1], &byte, 1) == 1 && read(done[0], &byte, 1) == 1);
  return NULL;
}

static void errors(void) {
  const pid_t self = getpid();
  EXPECT(kill(self, 65) == -1 && errno == EINVAL && kill(self, -1) == -1 && errno == EINVAL);
  EXPECT(kill(0, 65) == -1 && errno == EINVAL);
  EXPECT(kill(kNobody, 65) == -1 && errno == ESRCH);
  EXPECT(syscall(SYS_tkill, -1, SIGUSR1) == -1 && errno == EINVAL);
  EXPECT(syscall(SYS_tkill, 0, SIGUSR1) == -1 && errno == EINVAL);
  EXPECT(syscall(SYS_tkill, self, 65) == -1 && errno == EINVAL);
  EXPECT(syscall(SYS_tkill, kNobody, SIGUSR1) == -1 && errno == ESRCH);
  EXPECT(syscall(SYS_tgkill, -1, self, SIGUSR1) == -1 && errno == EINVAL);
  EXPECT(syscall(SYS_tgkill, self, -1, SIGUSR1) == -1 && errno == EINVAL);
  EXPECT(syscall(SYS_tgkill, self, 0, SIGUSR1) == -1 && errno == EINVAL);
  EXPECT(syscall(SYS_tgkill, self, kNobody, SIGUSR1) == -1 && errno == ESRCH);
  EXPECT(syscall(SYS_tgkill, kNobody, self, SIGUSR1) == -1 && errno == ESRCH);
  EXPECT(sigqueue(kNobody, 65, (union sigval){.sival_int = 1}) == -1 && errno == ESRCH);
  EXPECT(sigqueue(self, 65, (union sigval){.sival_int = 1}) == -1 && errno == EINVAL);
  siginfo_t info = {.si_code = SI_QUEUE};
  EXPECT(syscall(SYS_rt_tgsigqueueinfo, self, -1, SIGUSR1, &info) == -1 && errno == EINVAL);
  EXPECT(syscall(SYS_rt_tgsigqueueinfo, self, kNobody, SIGUSR1, &info) == -1 && errno == ESRCH);
}

int main(void) {
  EXPECT(pipe(ready) == 0 && pipe(done) == 0);
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
  EXPECT(sigaction(SIGUSR1, &action, NULL) == 0);
  pthread_t thread;
  pid_t tid = 0;
  char byte = 0;
  EXPECT(pthread_create(&thread, NULL, wait_in_thread, &tid) == 0 && read(ready[0], &byte, 1) == 1);
  errors();

  // The thread masks the signal: it is for the process, and the first thread handles it.
  EXPECT(kill(tid, 0) == 0 && count == 0);
  EXPECT(kill(tid, SIGUSR1) == 0 && count == 1);
  EXPECT(sigqueue(tid, SIGUSR1, (union sigval){.sival_int = 77}) == 0 && count == 2 && value == 77);

  struct rlimit none, before;
  EXPECT(getrlimit(RLIMIT_SIGPENDING, &before) == 0);
  none = before;
  none.rlim_cur = 0;
  EXPECT(setrlimit(RLIMIT_SIGPENDING, &none) == 0);
  EXPECT(syscall(SYS_tgkill, getpid(), tid, SIGRTMIN) == -1 && errno == EAGAIN);
  EXPECT(sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 1}) == -1 && errno == EAGAIN);
  EXPECT(syscall(SYS_tgkill, getpid(), tid, SIGUSR1) == 0);  // a standard signal needs no room
  EXPECT(setrlimit(RLIMIT_SIGPENDING, &before) == 0);
  EXPECT(write(done[1], &byte, 1) == 1 && pthread_join(thread, NULL) == 0 && count == 2);
  EXPECT(syscall(SYS_tgkill, getpid(), tid, SIGUSR1) == -1 && errno == ESRCH);
  return 0;
}
