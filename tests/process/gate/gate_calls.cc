// A program that knows the simulator and enters the kernel through its gate. "call NAME": with a call that
// the shim never makes from there. "simulator": searches the simulator's memory and files. No argument: with
// calls that the shim makes.
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "verbs_shim/protocol/region.h"

namespace {

using namespace verbatim::protocol;

long through_gate(long number, long a0 = 0, long a1 = 0, long a2 = 0, long a3 = 0) {
  using Gate = long (*)(long, long, long, long, long, long, long);
  const auto& header = *reinterpret_cast<RegionHeader*>(kRegionAddress);
  return reinterpret_cast<Gate>(header.gate)(number, a0, a1, a2, a3, 0, 0);
}

struct Call {
  const char* name;
  long number, a0, a1, a2;
};
constexpr Call kCalls[] = {
    {"socket", SYS_socket, 2, 1, 0},
    {"connect", SYS_connect, 0, 0, 0},
    {"ptrace", SYS_ptrace, PTRACE_TRACEME, 0, 0},
    {"kill", SYS_kill, 0, 0, 0},
    {"keyctl", SYS_keyctl, 0, 0, 0},
    {"execve", SYS_execve, 0, 0, 0},
    {"process_vm_writev", SYS_process_vm_writev, 1, 0, 0},
    {"io_uring_setup", SYS_io_uring_setup, 1, 0, 0},
    {"pidfd_open", SYS_pidfd_open, 1, 0, 0},
    {"fork", SYS_fork, 0, 0, 0},
    {"number 511", 511, 0, 0, 0},
    {"x32", 0x4000'0000 | SYS_getpid, 0, 0, 0},
    {"negative", -2, 0, 0, 0},
    {"clone of a child of its own", SYS_clone, SIGCHLD, 0, 0},
    {"clone with a namespace", SYS_clone, CLONE_PARENT | CLONE_NEWUSER, 0, 0},
    {"owner of a file's signals", SYS_fcntl, 1, F_SETOWN, 1},
    {"typed characters", SYS_ioctl, 1, TIOCSTI, 0},
    {"subreaper", SYS_prctl, PR_SET_CHILD_SUBREAPER, 1, 0},
};

}  // namespace

int main(int argc, char** argv) {
  std::printf("begins\n");
  std::fflush(stdout);
  if (argc > 2) {
    for (const Call& call : kCalls) {
      if (std::strcmp(argv[2], call.name) == 0) std::printf("goes on: %ld\n", through_gate(call.number, call.a0, call.a1, call.a2));
    }
    return 0;
  }
  if (argc > 1) {
    for (const char* const what : {"mem", "maps", "fd/0", "environ"}) {
      char path[64];
      std::snprintf(path, sizeof path, "/proc/%ld/%s", through_gate(SYS_getppid), what);
      const long opened = through_gate(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDONLY);
      std::printf("%s: %s\n", what, opened >= 0 ? "open" : strerrorname_np(static_cast<int>(-opened)));
    }
    return 0;
  }
  const int file = open("/proc/self/exe", O_RDONLY);
  const long closed = through_gate(SYS_close, 1000);
  std::printf("a closed descriptor: %s\n", closed == -EBADF ? "EBADF" : "another answer");
  char name[17] = {};
  std::printf("a name: %ld\n", through_gate(SYS_prctl, PR_GET_NAME, reinterpret_cast<long>(name)));
  int word = 0;
  std::printf("nobody to wake: %ld\n", through_gate(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAKE, 1));
  std::printf("flags: %ld\n", through_gate(SYS_fcntl, file, F_GETFD));
  return 0;
}
