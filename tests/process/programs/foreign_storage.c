// Threads whose base of fs is not the C library's: made without one of their own, so that they share their maker's, or with
// memory of a language's own there, set by arch_prctl or by clone, as the runtime of Go has it. They live by system calls alone.
#include <asm/prctl.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../expect.h"

enum { kThreadFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_SYSVSEM | CLONE_THREAD };

static long call(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

// A thread's data at its base: Go's m, whose last word before the base is its g.
struct machine {
  uint64_t before[7];
  uint64_t current;
  uint64_t base[64];
};

struct thread {
  struct machine* machine;  // NULL: it keeps what it has
  void (*run)(struct thread*);
  int sets_base_itself;
  atomic_int state, ended;
  int number, tid;
};

// Prints a line without the C library.
static void say(const char* text, long value) {
  char line[128];
  int size = 0;
  while (text[size] != 0) {
    line[size] = text[size];
    ++size;
  }
  line[size++] = ' ';
  char digits[24];
  int count = 0;
  if (value < 0) line[size++] = '-';
  unsigned long rest = value < 0 ? -(unsigned long)value : (unsigned long)value;
  do {
    digits[count++] = (char)('0' + rest % 10);
  } while ((rest /= 10) != 0);
  while (count > 0) line[size++] = digits[--count];
  line[size++] = '\n';
  call(SYS_write, 1, (long)line, size, 0, 0, 0);
}

static void must(int holds, int line) {
  if (holds) return;
  say("does not hold: line", line);
  call(SYS_exit_group, 1, 0, 0, 0, 0, 0);
}
#define MUST(condition) must(condition, __LINE__)

// Words that only grow: who is slow may find the next value already.
static void wait_until(atomic_int* word, int value) {
  for (int now; (now = atomic_load(word)) < value;) call(SYS_futex, (long)word, FUTEX_WAIT, now, 0, 0, 0);
}
static void set(atomic_int* word, int value) {
  atomic_store(word, value);
  call(SYS_futex, (long)word, FUTEX_WAKE, INT_MAX, 0, 0, 0);
}

static uint64_t current(void) {
  uint64_t word;
  asm volatile("mov %%fs:-8, %0" : "=r"(word));
  return word;
}

__attribute__((used)) static void begin(struct thread* thread) {
  if (thread->sets_base_itself) {
    thread->machine->current = 0;
    MUST(call(SYS_arch_prctl, ARCH_SET_FS, (long)thread->machine->base, 0, 0, 0, 0) == 0);
  }
  if (thread->machine != NULL) asm volatile("mov %0, %%fs:-8" : : "r"((uint64_t)thread) : "memory");
  thread->tid = (int)call(SYS_gettid, 0, 0, 0, 0, 0, 0);
  thread->run(thread);
  if (thread->machine != NULL) MUST(current() == (uint64_t)thread);
  call(SYS_exit, 0, 0, 0, 0, 0, 0);
}

static char stacks[8][64 * 1024] __attribute__((aligned(16)));
static int stacks_taken;

// `flags` beyond those of every thread. Its stack begins with the argument.
static long start(struct thread* thread, long flags) {
  void** top = (void**)(stacks[stacks_taken++ % 8] + sizeof stacks[0]) - 2;
  *top = thread;
  atomic_store(&thread->ended, 1);
  long result;
  register long r10 asm("r10") = (long)&thread->ended;
  register long r8 asm("r8") = thread->machine != NULL ? (long)thread->machine->base : 0;
  asm volatile(
      "syscall\n"
      "test %%rax, %%rax\n"
      "jnz 1f\n"
      "xor %%ebp, %%ebp\n"
      "pop %%rdi\n"
      "push %%rax\n"
      "push %%rax\n"
      "and $-16, %%rsp\n"
      "call begin\n"
      "1:"
      : "=a"(result)
      : "a"(SYS_clone), "D"(kThreadFlags | CLONE_CHILD_CLEARTID | flags), "S"(top), "d"(0l), "r"(r10), "r"(r8)
      : "rcx", "r11", "memory");
  MUST(result > 0);
  return result;
}

static atomic_int handled;
static atomic_long handled_by;
static void on_signal(int signal) {
  (void)signal;
  atomic_store(&handled_by, call(SYS_gettid, 0, 0, 0, 0, 0, 0));
  set(&handled, atomic_load(&handled) + 1);
}

static int64_t time_now(void) {
  struct timespec time;
  MUST(call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&time, 0, 0, 0, 0) == 0);
  return time.tv_sec * 1000000000l + time.tv_nsec;
}

static void pause_ms(long ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  call(SYS_nanosleep, (long)&time, 0, 0, 0, 0, 0);
}

static void work(struct thread* thread) {
  for (int turn = 1; turn <= 3; ++turn) {
    wait_until(&thread->state, 2 * turn - 1);
    MUST(call(SYS_gettid, 0, 0, 0, 0, 0, 0) == thread->tid);
    const int64_t before = time_now();
    uint32_t low, high;
    asm volatile("rdtsc" : "=a"(low), "=d"(high));
    pause_ms(5);
    const uint64_t counted = (uint64_t)high << 32 | low;
    asm volatile("rdtsc" : "=a"(low), "=d"(high));
    MUST(time_now() - before >= 5000000 && ((uint64_t)high << 32 | low) > counted);
    set(&thread->state, 2 * turn);
  }
  wait_until(&thread->state, 7);
  while (atomic_load(&thread->state) != 8) asm volatile("pause");
}

static void drive(struct thread* thread, const char* name) {
  for (int turn = 1; turn <= 3; ++turn) {
    const int64_t before = time_now();
    set(&thread->state, 2 * turn - 1);
    wait_until(&thread->state, 2 * turn);
    MUST(time_now() - before >= 5000000);
  }
  // It has a signal handled while it sleeps.
  const int seen = atomic_load(&handled);
  MUST(call(SYS_tgkill, call(SYS_getpid, 0, 0, 0, 0, 0, 0), thread->tid, SIGUSR1, 0, 0, 0) == 0);
  wait_until(&handled, seen + 1);
  MUST(atomic_load(&handled_by) == thread->tid);
  set(&thread->state, 7);
  pause_ms(2);
  set(&thread->state, 8);
  for (int word; (word = atomic_load(&thread->ended)) != 0;) call(SYS_futex, (long)&thread->ended, FUTEX_WAIT, word, 0, 0, 0);
  say(name, thread->number);
}

static __thread int own_word = 5;
static void* beside(void* argument) {
  own_word = 6;
  EXPECT(errno == 0 && close(-1) == -1 && errno == EBADF && own_word == 6);
  sleep_ms(3);
  EXPECT(errno == EBADF && own_word == 6);
  return argument;
}

// Threads that share their creator's base; the creator continues as before, and so do others.
static void shared_bases(void) {
  struct thread thread = {.run = work, .number = 1};
  errno = ENOTTY;
  start(&thread, 0);
  pthread_t other;
  EXPECT(pthread_create(&other, NULL, beside, &thread) == 0);
  drive(&thread, "shares its maker's base");
  EXPECT(errno == ENOTTY && own_word == 5 && now_ns() > 0);
  void* result;
  EXPECT(pthread_join(other, &result) == 0 && result == &thread);
  struct thread second = {.run = work, .number = 2}, third = {.run = work, .number = 3};
  start(&second, 0);
  start(&third, 0);
  drive(&second, "two of them");
  drive(&third, "two of them");
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  EXPECT(sigprocmask(SIG_BLOCK, &set, &old) == 0 && raise(SIGUSR1) == 0 && sigpending(&set) == 0);
  const int seen = atomic_load(&handled);
  EXPECT(sigismember(&set, SIGUSR1) == 1 && sigprocmask(SIG_SETMASK, &old, NULL) == 0 && atomic_load(&handled) == seen + 1);
  EXPECT(errno == ENOTTY);
}

// As a program of Go begins: nothing of the C library's is used from here on.
static struct machine machines[4];
static void own_bases(void) {
  for (unsigned i = 0; i < 4; ++i) {
    for (unsigned k = 0; k < 7; ++k) machines[i].before[k] = 0x1111111111111111;
    for (unsigned k = 0; k < 64; ++k) machines[i].base[k] = 0x2222222222222222;
  }
  MUST(call(SYS_arch_prctl, ARCH_SET_FS, -1l, 0, 0, 0, 0) == -EPERM);
  MUST(call(SYS_arch_prctl, ARCH_SET_FS, (long)machines[0].base, 0, 0, 0, 0) == 0);
  asm volatile("movq $0x123, %%fs:-8" : : : "memory");
  MUST(machines[0].current == 0x123);
  long base = 0;
  MUST(call(SYS_arch_prctl, ARCH_GET_FS, (long)&base, 0, 0, 0, 0) == 0 && base == (long)machines[0].base);
  struct thread old = {.machine = &machines[1], .run = work, .sets_base_itself = 1, .number = 4};
  struct thread young = {.machine = &machines[2], .run = work, .number = 5};
  start(&old, 0);
  start(&young, CLONE_SETTLS);
  drive(&old, "sets its base itself");
  drive(&young, "gets its base by clone");
  const long child = call(SYS_fork, 0, 0, 0, 0, 0, 0);
  if (child == 0) {
    MUST(current() == 0x123);
    struct thread last = {.machine = &machines[3], .run = work, .number = 6};
    start(&last, CLONE_SETTLS);
    drive(&last, "in a copy of the process");
    call(SYS_exit_group, 7, 0, 0, 0, 0, 0);
  }
  int status = 0;
  MUST(call(SYS_wait4, child, (long)&status, 0, 0, 0, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
  MUST(current() == 0x123);
  // Nobody has written around the words that the threads have there.
  for (unsigned i = 0; i < 4; ++i) {
    for (unsigned k = 0; k < 7; ++k) MUST(machines[i].before[k] == 0x1111111111111111);
    for (unsigned k = 0; k < 64; ++k) MUST(machines[i].base[k] == 0x2222222222222222);
  }
  say("own bases", 0);
  call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  EXPECT(sigaction(SIGUSR1, &action, NULL) == 0);
  pid_t child = fork();
  if (child == 0) own_bases();
  int status;
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  shared_bases();
  child = fork();
  if (child == 0) own_bases();
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return 0;
}
