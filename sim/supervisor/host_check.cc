// What a run needs of the machine or container, tried out one by one.
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "sim/supervisor/supervisor.h"
#include "verbs_shim/protocol/layout.h"

namespace verbatim::supervisor {

namespace {

// Runs `attempt` in a child; its return value (0 or an errno) becomes ours. 255 marks a death.
template <class Attempt>
int in_child(Attempt attempt) {
  const pid_t pid = fork();
  if (pid == 0) _exit(attempt());
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return errno;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

int try_trace() {
  const pid_t pid = fork();
  if (pid == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(errno);
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  const int result = WIFSTOPPED(status) ? 0 : WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
  kill(pid, SIGKILL);
  waitpid(pid, &status, 0);
  return result;
}

int try_reach_memory() {
  static volatile int word = 42;
  const pid_t pid = fork();
  if (pid == 0) {
    pause();
    _exit(0);
  }
  int copy = 0;
  const iovec local{&copy, sizeof copy};
  const iovec remote{const_cast<int*>(&word), sizeof copy};
  const bool ok = process_vm_readv(pid, &local, 1, &remote, 1, 0) == sizeof copy && copy == 42;
  const int error = errno;
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  return ok ? 0 : error;
}

int try_filter() {
  sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{1, allow};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ? 0 : errno;
}

}  // namespace

std::vector<std::string> Supervisor::check_host() {
  std::vector<std::string> missing;
  const auto require = [&](int error, const std::string& what, const std::string& advice) {
    if (error == 0) return;
    const std::string why = error == 255 ? "the attempt was killed" : std::strerror(error);
    missing.push_back(what + " is refused (" + why + "); " + advice);
  };
  require(in_child([] { return personality(ADDR_NO_RANDOMIZE) == -1 ? errno : 0; }),
          "switching address-space randomisation off (personality)",
          "in a container allow it with a seccomp profile that permits personality, or --privileged");
  require(try_trace(), "tracing an own child (ptrace)",
          "in a container add the capability SYS_PTRACE or a seccomp profile that permits ptrace");
  require(try_reach_memory(), "reading a child's memory (process_vm_readv)",
          "set kernel.yama.ptrace_scope to 0 or 1, and permit process_vm_readv in the container's seccomp profile");
  require(in_child(try_filter), "filtering system calls (seccomp)",
          "the kernel needs CONFIG_SECCOMP_FILTER, and the container must permit the seccomp call");
  require(in_child([] { return prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0 ? 0 : errno; }),
          "trapping the time stamp counter (PR_SET_TSC)", "run on x86-64 Linux itself, not under emulation");
  const int memory = memfd_create("verbatim-check", MFD_CLOEXEC);
  require(memory >= 0 && ftruncate(memory, static_cast<off_t>(protocol::kRegionSize)) == 0 ? 0 : errno,
          "making shared memory (memfd_create)", "raise the limit on file size (ulimit -f)");
  if (memory >= 0) close(memory);
  rlimit descriptors{};
  getrlimit(RLIMIT_NOFILE, &descriptors);
  if (descriptors.rlim_max < protocol::kFdLimit) {
    missing.push_back("the hard limit on open files is " + std::to_string(descriptors.rlim_max) +
                      "; programs need " + std::to_string(protocol::kFdLimit) + " (ulimit -Hn)");
  }
  return missing;
}

}  // namespace verbatim::supervisor
