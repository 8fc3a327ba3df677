// Code that the program writes while it runs: in memory that is writable and executable, in shared memory, on
// the stack, and over functions of libraries.
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../expect.h"

enum { kPage = 4096, kAll = PROT_READ | PROT_WRITE | PROT_EXEC };

typedef long (*Function)(void);

static unsigned char* map(size_t pages, int protection) {
  unsigned char* const memory = mmap(NULL, pages * kPage, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(memory != MAP_FAILED);
  return memory;
}

// mov $value, %eax; ret
static void write_constant(unsigned char* at, uint32_t value) {
  at[0] = 0xb8;
  memcpy(at + 1, &value, sizeof value);
  at[5] = 0xc3;
}
static long run(const void* code) { return ((Function)(uintptr_t)code)(); }

static void rewritten(void) {
  unsigned char* const code = map(1, kAll);
  long sum = 0;
  for (uint32_t i = 0; i < 200; ++i) {
    write_constant(code + i * 8, i);
    sum += run(code + i * 8) + run(code);
  }
  EXPECT(sum == 199 * 200 / 2);
  munmap(code, kPage);
}

// Instructions that write to their own page, and to the instruction behind them.
static void writes_to_itself(void) {
  unsigned char* const code = map(1, kAll);
  static const unsigned char kCount[] = {0xff, 0x05, 0x3a, 0, 0, 0,  // incl 0x3a(%rip)
                                         0x8b, 0x05, 0x34, 0, 0, 0,  // mov 0x34(%rip), %eax
                                         0xc3};
  memcpy(code, kCount, sizeof kCount);
  // Long enough for the simulator to look whether the program waits, while it is at the first byte after unmapped memory.
  for (long i = 1; i <= 2000; ++i) EXPECT(run(code) == i);
  static const unsigned char kModify[] = {0xc6, 0x05, 0x01, 0, 0, 0, 0x2a,  // movb $42, 1(%rip)
                                          0xb8, 0x01, 0,    0, 0,           // mov $1, %eax
                                          0xc3};
  memcpy(code + 128, kModify, sizeof kModify);
  EXPECT(run(code + 128) == 42);
  munmap(code, kPage);
}

static void calls(void) {
  unsigned char* const code = map(1, kAll);
  static const unsigned char kGetPid[] = {0xb8, SYS_getpid, 0, 0, 0, 0x0f, 0x05, 0xc3};
  memcpy(code, kGetPid, sizeof kGetPid);
  for (int i = 0; i < 20; ++i) EXPECT(run(code) == getpid());
  munmap(code, kPage);
}

// The kernel and the simulator write to pages that have been executed.
static void read_from_files(void) {
  unsigned char* const code = map(3, kAll);
  unsigned char bytes[2 * kPage];
  memset(bytes, 0x90, sizeof bytes);
  write_constant(bytes + sizeof bytes - 6, 7);
  char name[] = "/tmp/changing_code.XXXXXX";
  const int file = mkstemp(name);
  EXPECT(write(file, bytes, sizeof bytes) == sizeof bytes);
  for (int i = 0; i < 3; ++i) {
    write_constant(code, 1);
    write_constant(code + kPage, 2);
    EXPECT(run(code) == 1 && run(code + kPage) == 2);
    EXPECT(pread(file, code, sizeof bytes, 0) == sizeof bytes);
    EXPECT(run(code) == 7);
    EXPECT(run(code + kPage) == 7);
    struct iovec parts[2] = {{code + kPage, 8}, {code, 8}};
    EXPECT(preadv(file, parts, 2, sizeof bytes - 6) == 6);
    EXPECT(run(code + kPage) == 7);
  }
  unlink(name);
  close(file);
  int ends[2];
  EXPECT(pipe(ends) == 0);
  write_constant(code, 3);
  EXPECT(run(code) == 3);
  write_constant(bytes, 4);
  EXPECT(write(ends[1], bytes, 6) == 6);
  EXPECT(read(ends[0], code, 6) == 6);
  EXPECT(run(code) == 4);
  close(ends[0]);
  close(ends[1]);
  munmap(code, 3 * kPage);
}

static void across_pages(void) {
  unsigned char* const code = map(2, kAll);
  for (uint32_t i = 0; i < 6; ++i) {
    unsigned char* const at = code + kPage - 6 + i;
    for (uint32_t value = 0; value < 3; ++value) {
      write_constant(at, value);
      EXPECT(run(at) == (long)value);
    }
  }
  munmap(code, 2 * kPage);
}

static void count_lines(const unsigned char* from, size_t size, const char* rights, int expected) {
  FILE* const maps = fopen("/proc/self/maps", "r");
  char line[512], found[5];
  int lines = 0;
  while (fgets(line, sizeof line, maps) != NULL) {
    unsigned long low, high;
    EXPECT(sscanf(line, "%lx-%lx %4s", &low, &high, found) == 3);
    if (low >= (uintptr_t)from + size || high <= (uintptr_t)from) continue;
    ++lines;
    EXPECT(strcmp(found, rights) == 0);
  }
  fclose(maps);
  EXPECT(lines == expected);
}

static void seen_in_proc(void) {
  unsigned char* const code = map(6, PROT_NONE) + kPage;
  EXPECT(mprotect(code, 4 * kPage, kAll) == 0);
  write_constant(code + kPage, 5);
  EXPECT(run(code + kPage) == 5);
  count_lines(code, 4 * kPage, "rwxp", 1);
  EXPECT(mprotect(code, 4 * kPage, PROT_READ | PROT_EXEC) == 0);
  EXPECT(run(code + kPage) == 5);
  count_lines(code, 4 * kPage, "r-xp", 1);
  munmap(code - kPage, 6 * kPage);
}

static sigjmp_buf after_fault;
static volatile uintptr_t fault_address;
static void on_fault(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  fault_address = (uintptr_t)info->si_addr;
  siglongjmp(after_fault, 1);
}
static int faults_on_write(unsigned char* at) {
  if (sigsetjmp(after_fault, 1) == 0) {
    *(volatile unsigned char*)at = 0xc3;
    return 0;
  }
  return fault_address == (uintptr_t)at;
}
static int faults_on_run(unsigned char* at) {
  if (sigsetjmp(after_fault, 1) == 0) {
    run(at);
    return 0;
  }
  return fault_address == (uintptr_t)at;
}

// Genuine faults reach the program's handler, and no others do.
static void real_faults(void) {
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  struct sigaction before;
  sigaction(SIGSEGV, &action, &before);
  unsigned char* code = map(2, kAll);
  write_constant(code, 1);
  EXPECT(!faults_on_run(code) && !faults_on_write(code + 100) && !faults_on_run(code));
  EXPECT(mprotect(code, kPage, PROT_READ | PROT_EXEC) == 0);
  EXPECT(faults_on_write(code) && !faults_on_run(code) && !faults_on_write(code + kPage));
  EXPECT(mprotect(code, kPage, PROT_READ | PROT_WRITE) == 0);
  EXPECT(faults_on_run(code) && !faults_on_write(code + 100));
  EXPECT(mprotect(code, kPage, kAll) == 0);
  EXPECT(!faults_on_run(code) && !faults_on_write(code + 100));
  EXPECT(mprotect(code, kPage, PROT_NONE) == 0);
  EXPECT(faults_on_run(code) && faults_on_write(code));
  EXPECT(munmap(code, kPage) == 0);
  EXPECT(faults_on_run(code));
  unsigned char* const again = mmap(code, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  EXPECT(again == code && faults_on_write(code) && faults_on_run(code));
  munmap(code, 2 * kPage);
  sigaction(SIGSEGV, &before, NULL);
}

static void moved(void) {
  unsigned char* code = map(2, kAll);
  write_constant(code + 8, 11);
  EXPECT(run(code + 8) == 11);
  unsigned char* const to = map(2, PROT_NONE);
  unsigned char* const there = mremap(code, 2 * kPage, 2 * kPage, MREMAP_MAYMOVE | MREMAP_FIXED, to);
  EXPECT(there == to && run(there + 8) == 11);
  write_constant(there + 8, 12);
  EXPECT(run(there + 8) == 12);
  EXPECT(madvise(there, kPage, MADV_DONTNEED) == 0 && there[8] == 0);
  write_constant(there, 13);
  EXPECT(run(there) == 13);
  munmap(there, 2 * kPage);
}

static void copied(void) {
  unsigned char* const code = map(1, kAll);
  write_constant(code, 21);
  EXPECT(run(code) == 21);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    EXPECT(run(code) == 21);
    write_constant(code, 22);
    count_lines(code, kPage, "rwxp", 1);
    _exit(run(code) == 22 ? 0 : 1);
  }
  int status;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  EXPECT(run(code) == 21);
  munmap(code, kPage);
}

static volatile int handled;
static void on_user_signal(int signal) { handled += signal == SIGUSR1; }

// Bytes that could be an instruction whose result depends on the machine, beside code and in it.
static void doubtful_bytes(void) {
  unsigned char* const code = map(1, kAll);
  static const unsigned char kData[] = {0x0f, 0x31, 0x0f, 0xa2, 0x48, 0x0f, 0xc7, 0xf0};
  memcpy(code, kData, sizeof kData);
  static const unsigned char kLoop[] = {0xb9, 0x0f, 0x31, 0x00, 0x00,     // mov $0x310f, %ecx
                                        0x81, 0xe1, 0xff, 0,    0,    0,  // and $0xff, %ecx
                                        0x31, 0xc0,                       // xor %eax, %eax
                                        0x01, 0xc8,                       // add %ecx, %eax
                                        0xff, 0xc9,                       // dec %ecx
                                        0x75, 0xfa,                       // jnz to the addition
                                        0xc3};
  memcpy(code + 64, kLoop, sizeof kLoop);
  EXPECT(run(code + 64) == 15 * 16 / 2);
  static const unsigned char kFlags[] = {0x9c, 0x58, 0x9c, 0x5a, 0x09, 0xd0, 0xc3};  // pushf twice, into eax
  memcpy(code + 128, kFlags, sizeof kFlags);
  EXPECT((run(code + 128) & 0x100) == 0);
  struct sigaction action = {.sa_handler = on_user_signal};
  sigaction(SIGUSR1, &action, NULL);
  unsigned char raises[] = {0xbf, 0,    0,        0, 0, 0xbe, SIGUSR1, 0,    0,
                            0,    0xb8, SYS_kill, 0, 0, 0,    0x0f,    0x05, 0xc3};
  const uint32_t pid = (uint32_t)getpid();
  memcpy(raises + 1, &pid, sizeof pid);
  memcpy(code + 256, raises, sizeof raises);
  for (int i = 1; i <= 3; ++i) EXPECT(run(code + 256) == 0 && handled == i);
  // Blocked SIGTRAP, and a breakpoint with a handler.
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  EXPECT(run(code + 64) == 15 * 16 / 2);
  sigprocmask(SIG_UNBLOCK, &all, NULL);
  handled = 0;
  code[512] = 0xcc, code[513] = 0xc3;
  action.sa_handler = on_user_signal;
  sigaction(SIGTRAP, &action, NULL);
  run(code + 512);
  EXPECT(handled == 0);
  struct sigaction seen;
  sigaction(SIGTRAP, NULL, &seen);
  EXPECT(seen.sa_handler == on_user_signal);
  munmap(code, kPage);
}

// One file mapped twice: for writing and for execution.
static void two_views(void) {
  const int file = (int)syscall(SYS_memfd_create, "code", 0u);
  EXPECT(file >= 0 && ftruncate(file, kPage) == 0);
  unsigned char* const written = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  unsigned char* const executed = mmap(NULL, kPage, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
  unsigned char* const later = mmap(NULL, kPage, PROT_READ, MAP_SHARED, file, 0);
  EXPECT(written != MAP_FAILED && executed != MAP_FAILED &&
         mprotect(later, kPage, PROT_READ | PROT_EXEC) == 0);
  for (uint32_t i = 0; i < 10; ++i) {
    write_constant(written, i);
    EXPECT(run(executed) == (long)i && run(later) == (long)i);
  }
  count_lines(executed, kPage, "r-xs", 1);
  munmap(written, kPage);
  munmap(executed, kPage);
  munmap(later, kPage);
  close(file);
}

static void another_process_writes(void) {
  unsigned char* const code = mmap(NULL, kPage, kAll, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  EXPECT(code != MAP_FAILED);
  write_constant(code, 1);
  EXPECT(run(code) == 1);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    write_constant(code, 2);
    _exit(0);
  }
  int status;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  EXPECT(run(code) == 2);
  munmap(code, kPage);
}

static __attribute__((noinline)) long victim(long value) {
  __asm__ volatile("" : "+r"(value));
  return value + 1;
}
static long hook(long value) { return value + 100; }

// As UCX and other libraries intercept functions: a jump over the first instructions.
static void patch(void* function, const void* target, unsigned char* saved, int end_protection) {
  unsigned char jump[13] = {0x49,
                            0xbb, [10] = 0x41, [11] = 0xff, [12] = 0xe3};  // mov $target, %r11; jmp *%r11
  memcpy(jump + 2, &target, sizeof target);
  unsigned char* const page = (unsigned char*)((uintptr_t)function & ~(uintptr_t)(kPage - 1));
  EXPECT(mprotect(page, 2 * kPage, kAll) == 0);
  if (target == NULL) {
    memcpy(function, saved, sizeof jump);
  } else {
    memcpy(saved, function, sizeof jump);
    memcpy(function, jump, sizeof jump);
  }
  EXPECT(mprotect(page, 2 * kPage, end_protection) == 0);
}

static int wrapped_mask(int mask) { return mask + 1; }

static void patched_functions(void) {
  unsigned char saved[13];
  long (*volatile call)(long) = victim;
  for (int end = 0; end < 2; ++end) {
    const int protection = end == 0 ? PROT_READ | PROT_EXEC : kAll;
    EXPECT(call(1) == 2);
    patch((void*)(uintptr_t)victim, (void*)(uintptr_t)hook, saved, protection);
    EXPECT(call(1) == 101);
    patch((void*)(uintptr_t)victim, NULL, saved, protection);
    EXPECT(call(1) == 2);
  }
  // The page of a function beside which the C library's mprotect and munmap may be.
  int (*volatile size)(void) = getpagesize;
  (void)wrapped_mask;
  patch((void*)(uintptr_t)munmap, NULL, memcpy(saved, (void*)(uintptr_t)munmap, sizeof saved),
        PROT_READ | PROT_EXEC);
  unsigned char* const room = map(1, PROT_READ);
  EXPECT(size() == kPage && munmap(room, kPage) == 0);
}

// A virtual machine finds out what a processor has with its AC flag set: unaligned accesses fault meanwhile.
static void alignment_checked(void) {
  static const unsigned char kCode[] = {0x53,                                        // push %rbx
                                        0x9c, 0x81, 0x0c, 0x24, 0, 0, 4, 0, 0x9d,    // set AC
                                        0x31, 0xc0, 0x0f, 0xa2,                      // cpuid
                                        0x9c, 0x81, 0x24, 0x24, 0xff, 0xff, 0xfb, 0xff, 0x9d,  // clear AC
                                        0x5b, 0xb8, 9, 0, 0, 0, 0xc3};               // mov $9, %eax; ret
  unsigned char* const code = map(1, kAll);
  memcpy(code, kCode, sizeof kCode);
  for (int i = 0; i < 3; ++i) EXPECT(run(code) == 9);
  munmap(code, kPage);
}

static void* on_own_stack(void* argument) {
  const long* const result = argument;
  return (void*)(uintptr_t)(run(result) == 31);
}

static void in_a_thread(void) {
  unsigned char* const code = map(1, kAll);
  write_constant(code, 31);
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) EXPECT(pthread_create(&threads[i], NULL, on_own_stack, code) == 0);
  for (int i = 0; i < 4; ++i) {
    void* result;
    EXPECT(pthread_join(threads[i], &result) == 0 && result != NULL);
    write_constant(code + 16, (uint32_t)i);
    EXPECT(run(code + 16) == i);
  }
  munmap(code, kPage);
}

int main(void) {
  rewritten();
  writes_to_itself();
  calls();
  read_from_files();
  across_pages();
  seen_in_proc();
  real_faults();
  moved();
  copied();
  doubtful_bytes();
  two_views();
  another_process_writes();
  patched_functions();
  alignment_checked();
  in_a_thread();
  puts("changing code is right");
  return 0;
}
