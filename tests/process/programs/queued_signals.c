// Real-time signals are queued with their values and delivered lowest number first; ordinary ones are pending
// once.
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

static char story[256];
static void on_signal(int signal, siginfo_t* info, void* context) {
  (void)context;
  char part[32];
  snprintf(part, sizeof part, " %s%d=%d", signal >= SIGRTMIN ? "rt" : "",
           signal >= SIGRTMIN ? signal - SIGRTMIN : signal,
           info->si_code == SI_QUEUE ? info->si_value.sival_int : -1);
  strcat(story, part);
}

static void on_operation(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  printf("SI_ASYNCIO %d, its pointer %d\n", info->si_code == SI_ASYNCIO, info->si_value.sival_ptr == story);
}

static void* receiver(void* argument) {
  sigset_t set;
  sigfillset(&set);
  siginfo_t info;
  EXPECT(sigwaitinfo(&set, &info) == SIGRTMIN + 4);
  printf("to a thread: %d, SI_QUEUE %d, from me %d\n", info.si_value.sival_int, info.si_code == SI_QUEUE,
         info.si_pid == getpid() && info.si_uid == getuid());
  return argument;
}

int main(void) {
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
  sigset_t set, old;
  sigemptyset(&set);
  for (int i = 0; i < 4; ++i) sigaddset(&set, SIGRTMIN + i);
  sigaddset(&set, SIGUSR1);
  sigfillset(&action.sa_mask);  // one handler after the other
  for (int i = 0; i < 4; ++i) EXPECT(sigaction(SIGRTMIN + i, &action, NULL) == 0);
  EXPECT(sigaction(SIGUSR1, &action, NULL) == 0 && sigprocmask(SIG_BLOCK, &set, &old) == 0);
  const pid_t parent = getpid(), child = fork();
  if (child == 0) {
    for (int i = 3; i >= 0; --i) {
      for (int k = 0; k < 2; ++k)
        EXPECT(sigqueue(parent, SIGRTMIN + i, (union sigval){.sival_int = i * 10 + k}) == 0);
    }
    EXPECT(sigqueue(parent, SIGUSR1, (union sigval){.sival_int = 1}) == 0);
    EXPECT(sigqueue(parent, SIGUSR1, (union sigval){.sival_int = 2}) == 0);
    EXPECT(sigqueue(parent, 0, (union sigval){.sival_int = 0}) == 0);
    EXPECT(sigqueue(999999, SIGUSR1, (union sigval){.sival_int = 0}) == -1 && errno == ESRCH);
    _exit(0);
  }
  EXPECT(waitpid(child, NULL, 0) == child && story[0] == 0);
  EXPECT(sigprocmask(SIG_SETMASK, &old, NULL) == 0);
  printf("handled:%s\n", story);

  // The threads of aio_write(3) send a signal like this one.
  const struct sigaction of_operation = {.sa_sigaction = on_operation, .sa_flags = SA_SIGINFO};
  EXPECT(sigaction(SIGUSR2, &of_operation, NULL) == 0);
  siginfo_t done = {.si_code = SI_ASYNCIO, .si_pid = getpid(), .si_uid = getuid(), .si_value.sival_ptr = story};
  EXPECT(syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR2, &done) == 0);

  sigfillset(&set);
  EXPECT(pthread_sigmask(SIG_SETMASK, &set, NULL) == 0);
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, receiver, NULL) == 0);
  EXPECT(pthread_sigqueue(thread, SIGRTMIN + 4, (union sigval){.sival_int = 44}) == 0);
  EXPECT(pthread_join(thread, NULL) == 0);
  return 0;
}
