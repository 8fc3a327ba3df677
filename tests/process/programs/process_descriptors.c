// pidfd_open, pidfd_send_signal, waitid(P_PIDFD) and clone(CLONE_PIDFD): ends of children and grandchildren by poll
// and epoll, signals with and without siginfo, children nobody has waited for, errors.
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int open_process(pid_t pid, unsigned flags) { return (int)syscall(SYS_pidfd_open, pid, flags); }
static int signal_to(int process, int signal, siginfo_t* info, unsigned flags) {
  return (int)syscall(SYS_pidfd_send_signal, process, signal, info, flags);
}
static int wait_by(int process, siginfo_t* info, int options) {
  memset(info, 0, sizeof *info);
  return (int)syscall(SYS_waitid, P_PIDFD, process, info, options, NULL);
}
static int is_ready(int process, int ms) {
  struct pollfd asked = {process, POLLIN, 0};
  const int count = poll(&asked, 1, ms);
  EXPECT(count >= 0 && (count == 0 || asked.revents == POLLIN || asked.revents == (POLLIN | POLLHUP)));
  return count;
}

static pid_t child_that_waits(void) {
  const pid_t child = fork();
  EXPECT(child >= 0);
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (1) pause();
  }
  return child;
}

static void* waits(void* unused) {
  (void)unused;
  pause();
  return NULL;
}
static pid_t thread_id;
static void* tells_its_id(void* unused) {
  thread_id = (pid_t)syscall(SYS_gettid);
  return waits(unused);
}

static void errors(void) {
  EXPECT(open_process(getpid(), 1) == -1 && errno == EINVAL);
  EXPECT(open_process(0, 0) == -1 && errno == EINVAL);
  EXPECT(open_process(-1, 0) == -1 && errno == EINVAL);
  EXPECT(open_process(4194304, 0) == -1 && (errno == ESRCH || errno == EINVAL));
  pthread_t other;
  EXPECT(pthread_create(&other, NULL, tells_its_id, NULL) == 0);
  while (__atomic_load_n(&thread_id, __ATOMIC_SEQ_CST) == 0) sleep_ms(1);
  EXPECT(open_process(thread_id, 0) == -1 && (errno == EINVAL || errno == ENOENT));
  pthread_cancel(other);
  pthread_join(other, NULL);

  const int self = open_process(getpid(), 0);
  EXPECT(self >= 0 && fcntl(self, F_GETFD) == FD_CLOEXEC && (fcntl(self, F_GETFL) & O_NONBLOCK) == 0);
  char text[64];
  snprintf(text, sizeof text, "/proc/self/fd/%d", self);
  char link[64] = "";
  EXPECT(readlink(text, link, sizeof link - 1) > 0 && strcmp(link, "anon_inode:[pidfd]") == 0);
  EXPECT(read(self, text, 1) == -1 && errno == EINVAL);
  EXPECT(write(self, text, 1) == -1 && errno == EINVAL);
  EXPECT(is_ready(self, 0) == 0);
  EXPECT(signal_to(self, 0, NULL, 0) == 0);
  EXPECT(signal_to(self, 0, NULL, 0x100) == -1 && errno == EINVAL);
  EXPECT(signal_to(self, 65, NULL, 0) == -1 && errno == EINVAL);
  EXPECT(signal_to(-1, 0, NULL, 0) == -1 && errno == EBADF);
  const int folder = open("/proc/self", O_RDONLY | O_DIRECTORY), other_folder = open("/proc", O_RDONLY | O_DIRECTORY);
  EXPECT(signal_to(folder, 0, NULL, 0) == 0 && close(folder) == 0);
  EXPECT(signal_to(other_folder, 0, NULL, 0) == -1 && errno == EBADF && close(other_folder) == 0);
  int ends[2];
  EXPECT(pipe(ends) == 0);
  EXPECT(signal_to(ends[0], 0, NULL, 0) == -1 && errno == EBADF);
  siginfo_t info;
  EXPECT(wait_by(self, &info, WEXITED) == -1 && errno == ECHILD);
  EXPECT(wait_by(ends[0], &info, WEXITED) == -1 && errno == EBADF);
  EXPECT(wait_by(-1, &info, WEXITED) == -1 && errno == EINVAL);
  EXPECT(wait_by(999, &info, WEXITED) == -1 && errno == EBADF);
  EXPECT(close(ends[0]) == 0 && close(ends[1]) == 0 && close(self) == 0);
}

static volatile sig_atomic_t seen_value;
static void on_signal(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  seen_value = info->si_code == SI_QUEUE ? info->si_value.sival_int : info->si_code == SI_USER ? -2 : -3;
}

static void signals(void) {
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
  EXPECT(sigaction(SIGUSR1, &action, NULL) == 0);
  const int self = open_process(getpid(), 0);
  EXPECT(signal_to(self, SIGUSR1, NULL, 0) == 0 && seen_value == -2);
  siginfo_t info;
  memset(&info, 0, sizeof info);
  info.si_signo = SIGUSR1;
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_value.sival_int = 42;
  EXPECT(signal_to(self, SIGUSR1, &info, 0) == 0 && seen_value == 42);
  EXPECT(signal_to(self, SIGUSR2, &info, 0) == -1 && errno == EINVAL);
  EXPECT(signal_to(self, SIGUSR1, (siginfo_t*)8, 0) == -1 && errno == EFAULT);
  const pid_t child = child_that_waits();
  const int process = open_process(child, 0);
  info.si_code = SI_USER;  // of the kernel alone
  EXPECT(signal_to(process, SIGUSR1, &info, 0) == -1 && errno == EPERM);
  EXPECT(signal_to(process, SIGTERM, NULL, 0) == 0);
  EXPECT(is_ready(process, 10000) == 1);
  EXPECT(signal_to(process, SIGTERM, NULL, 0) == 0);  // its id is still in use
  EXPECT(open_process(child, 0) >= 0);
  EXPECT(wait_by(process, &info, WEXITED | WNOWAIT) == 0 && info.si_pid == child && info.si_code == CLD_KILLED);
  EXPECT(wait_by(process, &info, WEXITED) == 0 && info.si_pid == child && info.si_status == SIGTERM);
  EXPECT(wait_by(process, &info, WEXITED) == -1 && errno == ECHILD);
  EXPECT(signal_to(process, 0, NULL, 0) == -1 && errno == ESRCH);
  EXPECT(kill(child, 0) == -1 && errno == ESRCH);
  EXPECT(open_process(child, 0) == -1 && errno == ESRCH);
  EXPECT(is_ready(process, 0) == 1);
  EXPECT(close(process) == 0 && close(self) == 0);
}

static void nonblocking(void) {
  const pid_t child = child_that_waits();
  const int process = open_process(child, O_NONBLOCK);
  EXPECT(process >= 0 && (fcntl(process, F_GETFL) & O_NONBLOCK) != 0);
  siginfo_t info;
  EXPECT(wait_by(process, &info, WEXITED) == -1 && errno == EAGAIN);
  EXPECT(wait_by(process, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0);
  EXPECT(signal_to(process, SIGKILL, NULL, 0) == 0 && is_ready(process, 10000) == 1);
  EXPECT(wait_by(process, &info, WEXITED) == 0 && info.si_status == SIGKILL);
  EXPECT(close(process) == 0);
}

// A process that is no child: its end is seen, but cannot be waited for.
static void grandchild(void) {
  int ends[2];
  EXPECT(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      sleep_ms(30);
      _exit(3);
    }
    EXPECT(write(ends[1], &grandchild, sizeof grandchild) == sizeof grandchild);
    int status;
    EXPECT(waitpid(grandchild, &status, 0) == grandchild && WEXITSTATUS(status) == 3);
    sleep_ms(30);
    _exit(4);
  }
  pid_t far;
  EXPECT(read(ends[0], &far, sizeof far) == sizeof far);
  const int events = epoll_create1(0), near_end = open_process(child, 0), far_end = open_process(far, 0);
  EXPECT(events >= 0 && near_end >= 0 && far_end >= 0);
  struct epoll_event event = {.events = EPOLLIN, .data.u32 = 1};
  EXPECT(epoll_ctl(events, EPOLL_CTL_ADD, near_end, &event) == 0);
  event.data.u32 = 2;
  EXPECT(epoll_ctl(events, EPOLL_CTL_ADD, far_end, &event) == 0);
  siginfo_t info;
  EXPECT(wait_by(far_end, &info, WEXITED) == -1 && errno == ECHILD);
  EXPECT(epoll_wait(events, &event, 1, 10000) == 1 && event.data.u32 == 2);
  EXPECT(epoll_ctl(events, EPOLL_CTL_DEL, far_end, NULL) == 0);
  EXPECT(epoll_wait(events, &event, 1, 10000) == 1 && event.data.u32 == 1);
  EXPECT(wait_by(near_end, &info, WEXITED) == 0 && info.si_status == 4 && info.si_code == CLD_EXITED);
  EXPECT(close(events) == 0 && close(near_end) == 0 && close(far_end) == 0 && close(ends[0]) == 0 && close(ends[1]) == 0);
}

static int next_descriptor(void) {
  const int free = dup(0);
  EXPECT(free >= 0 && close(free) == 0);
  return free;
}

// Inline, because a child of CLONE_VFORK must not return from a function of its parent.
static inline __attribute__((always_inline)) long make_child(long flags, volatile int* process) {
  long result;
  register long unused4 __asm__("r10") = 0;
  register long unused5 __asm__("r8") = 0;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"((long)SYS_clone), "D"(flags), "S"(0l), "d"(process), "r"(unused4), "r"(unused5)
                   : "rcx", "r11", "memory");
  return result;
}

static void with_clone(void) {
  volatile int process = -1;
  const int next = next_descriptor();
  const long child = make_child(CLONE_PIDFD | SIGCHLD, &process);
  if (child == 0) _exit(fcntl(next, F_GETFD) == -1 ? 5 : 6);  // the parent alone has the descriptor
  EXPECT(child > 0 && process == next && fcntl(process, F_GETFD) == FD_CLOEXEC);
  siginfo_t info;
  EXPECT(wait_by(process, &info, WEXITED) == 0 && info.si_pid == child && info.si_status == 5);
  EXPECT(close(process) == 0);
  EXPECT(make_child(CLONE_PIDFD | CLONE_PARENT_SETTID | SIGCHLD, &process) == -EINVAL);
}

// As Go starts programs: the parent waits and shares its memory with the child until that executes a program.
static void with_vfork(void) {
  volatile int process = -1, written = 0;
  const int next = next_descriptor();
  const long child = make_child(CLONE_PIDFD | CLONE_VFORK | CLONE_VM | SIGCHLD, &process);
  if (child == 0) {
    written = 1;
    _exit(7);
  }
  EXPECT(child > 0 && process == next && written == 1);
  siginfo_t info;
  EXPECT(wait_by(process, &info, WEXITED) == 0 && info.si_pid == child && info.si_status == 7);
  EXPECT(close(process) == 0);
}

int main(void) {
  errors();
  signals();
  nonblocking();
  grandchild();
  with_clone();
  with_vfork();
  printf("process descriptors: ok\n");
  return 0;
}
