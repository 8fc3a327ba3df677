// System calls that are made again and again from one place: what a call leaves in the registers, below the stack pointer and
// in vector registers, its errors, and where a signal's handler finds it.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/process/expect.h"

enum { kOften = 3000 };

struct state {
  uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15, flags, below, next;
  double vector[2];
};

// Loads all of `state`, makes the call behind "mov $number, %eax" (loaded) or before "cmp $-4095, %rax" (compared; the number
// is state's rax), and stores all but r14. 128 bytes below the stack pointer are the function's own.
void loaded_call(struct state* state);
void compared_call(struct state* state);
extern const char loaded_next[], compared_next[];
__asm__(
    ".text\n"
    ".macro load_state\n"
    "  push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
    "  push %rdi\n"
    "  sub $256, %rsp\n"
    "  movups 144(%rdi), %xmm7\n"
    "  pushq 120(%rdi)\n popfq\n"
    "  mov 0(%rdi), %rax\n mov 8(%rdi), %rbx\n mov 24(%rdi), %rdx\n mov 32(%rdi), %rsi\n mov 48(%rdi), %rbp\n"
    "  mov 56(%rdi), %r8\n mov 64(%rdi), %r9\n mov 72(%rdi), %r10\n mov 88(%rdi), %r12\n mov 96(%rdi), %r13\n"
    "  mov 112(%rdi), %r15\n mov 128(%rdi), %r14\n"
    "  mov %r14, -32(%rsp)\n mov %r14, -128(%rsp)\n"
    "  mov 40(%rdi), %rdi\n"
    ".endm\n"
    ".macro store_state\n"
    "  pushfq\n pop -24(%rsp)\n"
    "  mov %rdi, -16(%rsp)\n"
    "  mov 256(%rsp), %rdi\n"
    "  mov 128(%rdi), %r14\n"
    "  mov %rax, 0(%rdi)\n mov %rbx, 8(%rdi)\n mov %rcx, 16(%rdi)\n mov %rdx, 24(%rdi)\n mov %rsi, 32(%rdi)\n"
    "  mov %rbp, 48(%rdi)\n mov %r8, 56(%rdi)\n mov %r9, 64(%rdi)\n mov %r10, 72(%rdi)\n mov %r11, 80(%rdi)\n"
    "  mov %r12, 88(%rdi)\n mov %r13, 96(%rdi)\n mov %r15, 112(%rdi)\n"
    "  mov -16(%rsp), %rax\n mov %rax, 40(%rdi)\n mov -24(%rsp), %rax\n mov %rax, 120(%rdi)\n"
    "  mov -32(%rsp), %rax\n xor %rax, %r14\n mov -128(%rsp), %rax\n xor 128(%rdi), %rax\n or %r14, %rax\n"
    "  mov %rax, 128(%rdi)\n"
    "  movups %xmm7, 144(%rdi)\n"
    "  add $256, %rsp\n"
    "  pop %rdi\n"
    "  pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n"
    "  ret\n"
    ".endm\n"
    ".type loaded_call, @function\n"
    "loaded_call:\n"
    "  load_state\n"
    "  mov $39, %eax\n"  // getpid
    "  syscall\n"
    "loaded_next:\n"
    "  store_state\n"
    ".size loaded_call, . - loaded_call\n"
    ".type compared_call, @function\n"
    "compared_call:\n"
    "  load_state\n"
    "  syscall\n"
    "compared_next:\n"
    "  cmp $0xfffffffffffff001, %rax\n"
    "  store_state\n"
    ".size compared_call, . - compared_call\n");

static const uint64_t kCarry = 1, kArithmetic = 0x8d5, kAlwaysSet = 0x202;

static void fill(struct state* state, uint64_t number) {
  uint64_t* words = (uint64_t*)state;
  for (int i = 0; i < 15; ++i) words[i] = 0x1234567800000000u + (unsigned)i;
  state->rax = number;
  state->rdi = 1000000;  // no descriptor
  state->flags = kAlwaysSet | kArithmetic;
  state->below = 0x7777777777777777u;
  state->vector[0] = 1.5, state->vector[1] = -2.25;
}

static void check(const struct state* state, const char* next) {
  uint64_t expected[15];
  for (int i = 0; i < 15; ++i) expected[i] = 0x1234567800000000u + (unsigned)i;
  const uint64_t* words = (const uint64_t*)state;
  for (int i = 1; i < 15; ++i) {
    if (i == 2 || i == 5 || i == 10 || i == 13) continue;  // rcx, rdi, r11; r14 is the function's
    EXPECT(words[i] == expected[i]);
  }
  EXPECT(state->rdi == 1000000);
  EXPECT(state->rcx == (uint64_t)next);
  EXPECT((state->r11 & kArithmetic) == kArithmetic);
  EXPECT(state->below == 0);
  EXPECT(state->vector[0] == 1.5 && state->vector[1] == -2.25);
}

static void registers(void) {
  for (int i = 0; i < kOften; ++i) {
    struct state state;
    fill(&state, 0);
    loaded_call(&state);
    check(&state, loaded_next);
    EXPECT(state.rax == (uint64_t)getpid());
    EXPECT((state.flags & kArithmetic) == kArithmetic);
    fill(&state, SYS_getpid);
    compared_call(&state);
    check(&state, compared_next);
    EXPECT(state.rax == (uint64_t)getpid() && (state.flags & kCarry) != 0);
    fill(&state, SYS_lseek);
    compared_call(&state);
    check(&state, compared_next);
    EXPECT((int64_t)state.rax == -EBADF && (state.flags & kCarry) == 0);
    fill(&state, SYS_getuid);  // which is not answered in place
    compared_call(&state);
    check(&state, compared_next);
    EXPECT(state.rax == getuid());
  }
  printf("registers are kept\n");
}

static void errors(void) {
  char byte;
  int ends[2];
  void* volatile nowhere = (void*)8;
  EXPECT(pipe2(ends, O_NONBLOCK) == 0);
  for (int i = 0; i < kOften; ++i) {
    errno = 0;
    EXPECT(read(ends[0], &byte, 1) == -1 && errno == EAGAIN);
    EXPECT(write(ends[1], "x", 1) == 1 && read(ends[0], &byte, 1) == 1 && byte == 'x');
    EXPECT(read(ends[0], nowhere, 1) == -1 && errno == EAGAIN);
    EXPECT(write(ends[1], nowhere, 1) == -1 && errno == EFAULT);
    EXPECT(lseek(ends[0], 0, SEEK_SET) == -1 && errno == ESPIPE);
    EXPECT(close(1000) == -1 && errno == EBADF);
    errno = 77;
    EXPECT(syscall(SYS_gettid) == getpid() && errno == 77);
  }
  EXPECT(close(ends[0]) == 0 && close(ends[1]) == 0);
  printf("errors are told\n");
}

// Where a handler finds the call: in the code of libc or of the program, like anything else.
static volatile sig_atomic_t handled, found_in_read;
static sigset_t seen_mask;
static sigjmp_buf way_out;
static int leaves;

static void handler(int signal, siginfo_t* info, void* raw) {
  (void)signal;
  (void)info;
  // A signal after the read's return must not hide the read's error.
  const int error = errno;
  const ucontext_t* context = raw;
  const uintptr_t place = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
  found_in_read += place - (uintptr_t)&read < 512;
  char byte;
  for (int i = 0; i < 3; ++i) EXPECT(read(-1, &byte, 1) == -1 && errno == EBADF);
  EXPECT(sigprocmask(SIG_SETMASK, NULL, &seen_mask) == 0);
  handled++;
  errno = error;
  if (leaves) siglongjmp(way_out, 1);
}

// Periodic, because the first signal may arrive before the call that it should interrupt.
static void signal_every(long us) {
  const struct itimerval time = {{0, us}, {0, us}};
  EXPECT(setitimer(ITIMER_REAL, &time, NULL) == 0);
}
static void signal_once_in(long us) {
  const struct itimerval time = {{0, 0}, {0, us}};
  EXPECT(setitimer(ITIMER_REAL, &time, NULL) == 0);
}

static void signals(void) {
  int ends[2];
  char byte;
  sigset_t before, after;
  EXPECT(pipe(ends) == 0);
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  sigaddset(&action.sa_mask, SIGUSR2);
  EXPECT(sigaction(SIGALRM, &action, NULL) == 0);
  EXPECT(sigprocmask(SIG_SETMASK, NULL, &before) == 0);
  for (int i = 0; i < 200; ++i) {
    found_in_read = 0;
    errno = 0;
    signal_every(100);
    EXPECT(read(ends[0], &byte, 1) == -1 && errno == EINTR);
    signal_every(0);
    EXPECT(found_in_read >= 1);
    EXPECT(sigismember(&seen_mask, SIGUSR2) == 1 && sigismember(&seen_mask, SIGALRM) == 1);
    EXPECT(sigprocmask(SIG_SETMASK, NULL, &after) == 0 && memcmp(&before, &after, 8) == 0);
  }
  // Restarted: the read continues after a write.
  action.sa_flags |= SA_RESTART;
  EXPECT(sigaction(SIGALRM, &action, NULL) == 0);
  found_in_read = 0;
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
      usleep(1000);
      _exit(write(ends[1], "y", 1) == 1 ? 0 : 1);
    }
    signal_every(300);
    EXPECT(read(ends[0], &byte, 1) == 1 && byte == 'y');
    signal_every(0);
    EXPECT(waitpid(child, NULL, 0) == child);
  }
  EXPECT(found_in_read >= 1);
  // Left for good out of a read that the signal has interrupted.
  leaves = 1;
  volatile int left = 0;
  for (volatile int i = 0; i < 50; ++i) {
    if (sigsetjmp(way_out, 1) == 0) {
      signal_once_in(100);
      (void)!read(ends[0], &byte, 1);
      EXPECT(0);
    }
    ++left;
    EXPECT(sigprocmask(SIG_SETMASK, NULL, &after) == 0 && memcmp(&before, &after, 8) == 0);
  }
  leaves = 0;
  EXPECT(left == 50);
  // Let in by the mask: it is pending until then.
  action.sa_flags = SA_SIGINFO;
  EXPECT(sigaction(SIGUSR1, &action, NULL) == 0);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  for (int i = 0; i < 200; ++i) {
    const int already = handled;
    EXPECT(sigprocmask(SIG_BLOCK, &one, NULL) == 0 && raise(SIGUSR1) == 0 && handled == already);
    EXPECT(sigprocmask(SIG_UNBLOCK, &one, NULL) == 0 && handled == already + 1);
  }
  printf("signals come\n");
}

static void* cancelled_reader(void* raw) {
  const int* ends = raw;
  char byte;
  for (int i = 0; i < 100; ++i) EXPECT(write(ends[1], "z", 1) == 1 && read(ends[0], &byte, 1) == 1);
  while (1) (void)!read(ends[0], &byte, 1);
  return NULL;
}

static int cleaned;
static void clean_up(void* what) {
  (void)what;
  ++cleaned;
}
static void* cancelled(void* ends) {
  void* result;
  pthread_cleanup_push(clean_up, NULL);
  result = cancelled_reader(ends);
  pthread_cleanup_pop(0);
  return result;
}

static void threads(void) {
  for (int i = 0; i < 20; ++i) {
    int ends[2];
    pthread_t thread;
    void* result;
    EXPECT(pipe(ends) == 0);
    EXPECT(pthread_create(&thread, NULL, cancelled, ends) == 0);
    sleep_ms(1);
    EXPECT(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    EXPECT(close(ends[0]) == 0 && close(ends[1]) == 0);
  }
  EXPECT(cleaned == 20);
  printf("threads are cancelled in a call\n");
}

// Threads wait in calls that trapped; meanwhile others make the same calls so often that they are replaced.
static int wait_ends[2], poll_ends[2], signal_ends[2];
static volatile sig_atomic_t waiters_signalled, poll_is_interrupted;
static void count_signal(int signal) {
  (void)signal;
  waiters_signalled++;
}
static void* waits_in_read(void* unused) {
  char byte = 0;
  EXPECT(read(wait_ends[0], &byte, 1) == 1 && byte == 'w');
  return unused;
}
static void* waits_in_read_again(void* unused) {  // a signal finds it there, and it waits on
  char byte = 0;
  EXPECT(read(signal_ends[0], &byte, 1) == 1 && byte == 's');
  return unused;
}
static void* waits_in_poll(void* unused) {
  struct pollfd one = {poll_ends[0], POLLIN, 0};
  EXPECT(poll(&one, 1, -1) == 1 && one.revents == POLLIN);
  return unused;
}
static void* is_interrupted_in_poll(void* unused) {
  struct pollfd one = {wait_ends[0], POLLPRI, 0};
  EXPECT(poll(&one, 1, -1) == -1 && errno == EINTR);
  poll_is_interrupted = 1;
  return unused;
}

static void waiters(void) {
  void* (*const functions[])(void*) = {waits_in_poll, waits_in_read, waits_in_read_again, is_interrupted_in_poll};
  pthread_t all[4];
  struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
  EXPECT(pipe(wait_ends) == 0 && pipe(poll_ends) == 0 && pipe(signal_ends) == 0);
  EXPECT(sigaction(SIGUSR1, &action, NULL) == 0);
  for (int i = 0; i < 4; ++i) EXPECT(pthread_create(&all[i], NULL, functions[i], NULL) == 0);
  sleep_ms(10);
  int ends[2];
  char byte;
  EXPECT(pipe(ends) == 0);
  for (int i = 0; i < kOften; ++i) {
    struct pollfd one = {ends[0], POLLIN, 0};
    EXPECT(write(ends[1], "o", 1) == 1 && poll(&one, 1, 0) == 1 && read(ends[0], &byte, 1) == 1);
  }
  EXPECT(pthread_kill(all[2], SIGUSR1) == 0);
  for (; !poll_is_interrupted; sleep_ms(10)) EXPECT(pthread_kill(all[3], SIGUSR1) == 0);
  EXPECT(waiters_signalled >= 2);
  EXPECT(write(poll_ends[1], "p", 1) == 1 && pthread_join(all[0], NULL) == 0);
  EXPECT(write(wait_ends[1], "w", 1) == 1);
  EXPECT(write(signal_ends[1], "s", 1) == 1);
  for (int i = 1; i < 4; ++i) EXPECT(pthread_join(all[i], NULL) == 0);
  printf("threads wait in them\n");
}

int main(void) {
  waiters();
  registers();
  errors();
  signals();
  threads();
  return 0;
}
