// Some calls for --calls. The argument says how the program ends: "exit", "hang" (it waits for ever),
// "signal" (a signal handler makes a call during another call), "execute" (it executes true(1)).
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void on_alarm(int signal) {
  (void)signal;
  syscall(SYS_getppid);
}

int main(int argc, char** argv) {
  const char* const end = argc > 1 ? argv[1] : "exit";
  syscall(SYS_openat, AT_FDCWD, "/no/such\n\"file\"", O_RDWR | O_CREAT | O_CLOEXEC, 0640);
  // Unmapped addresses.
  syscall(SYS_openat, AT_FDCWD, (char*)16, O_RDONLY);
  syscall(SYS_write, 1, (char*)0x123456789000, 5);
  syscall(SYS_read, 0, (char*)-1, 5);
  syscall(SYS_bind, 0, (char*)32, 16);
  syscall(SYS_poll, (char*)48, 3, 0);
  syscall(SYS_epoll_ctl, 9, 1, 8, (char*)64);
  syscall(SYS_execve, (char*)80, (char*)96, 0);
  // A string that ends at the end of mapped memory.
  char* const pages = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(pages + 4096, 4096);
  memset(pages, 'a', 4096);
  syscall(SYS_access, pages + 4090, R_OK);
  int both[2];
  socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, both);
  char bytes[64];
  recv(both[0], bytes, sizeof bytes, 0);
  write(both[1], "0123456789012345678901234567890123456789\n", 41);
  read(both[0], bytes, 3);
  const struct timespec time = {0, 1500};
  nanosleep(&time, 0);
  for (int i = 0; i < 1000; ++i) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
  }
  if (strcmp(end, "hang") == 0) pause();
  if (strcmp(end, "signal") == 0) {
    signal(SIGALRM, on_alarm);
    alarm(1);
    pause();
  }
  if (strcmp(end, "execute") == 0) execl("/bin/true", "true", "--of", (char*)0);
  return 7;
}
