#include "sim/supervisor/machine/foreign_descriptors.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/supervisor/machine/child_status.h"
#include "sim/supervisor/machine/input_stream.h"
#include "sim/supervisor/machine/process_memory.h"
#include "verbs_shim/protocol/layout.h"

namespace verbatim::supervisor {

namespace {

constexpr int kCallStop = SIGTRAP | 0x80;
// This part of the gate's page contains only filler.
constexpr std::uint64_t kGateCode = 64, kRoomInGate = 2048;

struct DescriptorMessage {
  msghdr header{};
  iovec part{};
  char byte = 0;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};

  // Message as it will be stored at `address` in the program.
  DescriptorMessage(std::uint64_t address, int fd) {
    const auto there = [&](std::size_t offset) { return reinterpret_cast<char*>(address + offset); };
    part = {there(offsetof(DescriptorMessage, byte)), 1};
    header.msg_iov = reinterpret_cast<iovec*>(there(offsetof(DescriptorMessage, part)));
    header.msg_iovlen = 1;
    header.msg_control = there(offsetof(DescriptorMessage, control));
    header.msg_controllen = control.size();
    cmsghdr rights{};
    rights.cmsg_level = SOL_SOCKET;
    rights.cmsg_type = SCM_RIGHTS;
    rights.cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(control.data(), &rights, sizeof rights);
    std::memcpy(control.data() + CMSG_LEN(0), &fd, sizeof fd);
  }
};

// Restarts an interrupted system call as the kernel would.
void restart_call(user_regs_struct& registers) {
  constexpr long kRestartSys = -512, kRestartNoIntr = -513, kRestartNoHand = -514, kRestartBlock = -516;
  const auto result = static_cast<long>(registers.rax);
  if (static_cast<long>(registers.orig_rax) < 0) return;
  if (result != kRestartSys && result != kRestartNoIntr && result != kRestartNoHand && result != kRestartBlock) return;
  registers.rax = result == kRestartBlock ? SYS_restart_syscall : registers.orig_rax;
  registers.rip -= 2;
  registers.orig_rax = ~0ull;
}

// Keeps a thread stopped by ptrace during the object's lifetime.
class Stopped {
 public:
  explicit Stopped(pid_t tid) : tid_(tid) {
    if (ptrace(PTRACE_SEIZE, tid, nullptr, PTRACE_O_TRACESYSGOOD) != 0) return;
    is_seized_ = true;
    if (ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr) != 0) return;
    // Signals that arrive first are delivered.
    for (int status = await_status(tid); WIFSTOPPED(status); status = await_status(tid)) {
      if (status >> 16 == PTRACE_EVENT_STOP) {
        is_stopped_ = ptrace(PTRACE_GETREGS, tid, nullptr, &saved_) == 0;
        restart_call(saved_);
        return;
      }
      ptrace(PTRACE_CONT, tid, nullptr, WSTOPSIG(status));
    }
  }
  ~Stopped() {
    if (!is_seized_) return;
    if (is_stopped_) ptrace(PTRACE_SETREGS, tid_, nullptr, &saved_);
    ptrace(PTRACE_DETACH, tid_, nullptr, signal_);
  }
  Stopped(const Stopped&) = delete;
  Stopped& operator=(const Stopped&) = delete;

  explicit operator bool() const { return is_stopped_; }

  // Executes a system call at `instruction`; nullopt: the thread has ended.
  std::optional<long> call(std::uint64_t instruction, long number, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    user_regs_struct registers = saved_;
    registers.rip = instruction;
    registers.rax = static_cast<unsigned long long>(number), registers.orig_rax = ~0ull;
    registers.rdi = a, registers.rsi = b, registers.rdx = c;
    if (ptrace(PTRACE_SETREGS, tid_, nullptr, &registers) != 0) return std::nullopt;
    for (int calls = 0; calls < 2;) {  // entry and exit
      if (ptrace(PTRACE_SYSCALL, tid_, nullptr, nullptr) != 0) return std::nullopt;
      const int status = await_status(tid_);
      if (!WIFSTOPPED(status)) {
        is_stopped_ = is_seized_ = false;
        return std::nullopt;
      }
      if (WSTOPSIG(status) == kCallStop) ++calls;
      else if (status >> 16 == 0) signal_ = WSTOPSIG(status);  // delivered at PTRACE_DETACH
    }
    if (ptrace(PTRACE_GETREGS, tid_, nullptr, &registers) != 0) return std::nullopt;
    return static_cast<long>(registers.rax);
  }

 private:
  pid_t tid_;
  bool is_seized_ = false, is_stopped_ = false;
  int signal_ = 0;
  user_regs_struct saved_{};
};

}  // namespace

bool has_descriptor(pid_t tid, int fd) {
  constexpr int kFile = 0;  // KCMP_FILE of linux/kcmp.h
  // Compares the descriptor with itself: much quicker than a look at /proc, which makes an inode. Containers may refuse it.
  if (syscall(SYS_kcmp, tid, tid, kFile, static_cast<long>(fd), static_cast<long>(fd)) == 0) return true;
  if (errno == EBADF) return false;
  struct stat status;
  return lstat(("/proc/" + std::to_string(tid) + "/fd/" + std::to_string(fd)).c_str(), &status) == 0;
}

bool only_names_file(pid_t tid, int fd) {
  InputStream info("/proc/" + std::to_string(tid) + "/fdinfo/" + std::to_string(fd));
  constexpr std::string_view kFlags = "flags:";
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with(kFlags)) return (std::stoull(line.substr(kFlags.size()), nullptr, 8) & O_PATH) != 0;
  }
  return false;
}

int copy_descriptor(pid_t pid, int fd) {
  const int process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (process < 0) return -1;
  const int copy = static_cast<int>(syscall(SYS_pidfd_getfd, process, fd, 0));
  const int error = errno;
  close(process);
  errno = error;
  return copy;
}

int send_descriptor(const ParkedThread& thread, int socket, int fd) {
  if (thread.gate < protocol::kRuntimeImage || thread.gate >= protocol::kVerbsImage) return EPERM;
  Stopped stopped(thread.native_tid);
  if (!stopped) return EPERM;
  ProcessMemory memory(thread.native_tid);
  constexpr std::array kSystemCall = {std::byte{0x0f}, std::byte{0x05}};
  std::array<std::byte, kGateCode> code;
  if (!memory.read(thread.gate, code)) return EPERM;
  const auto instruction = std::search(code.begin(), code.end(), kSystemCall.begin(), kSystemCall.end());
  if (instruction == code.end()) return EPERM;
  const std::uint64_t at = thread.gate + kRoomInGate;
  const DescriptorMessage message(at, fd);
  std::array<std::byte, sizeof message> before;
  if (!memory.read(at, before) || !memory.write_code(at, std::as_bytes(std::span(&message, 1)))) return EPERM;
  const auto sent = stopped.call(thread.gate + static_cast<std::uint64_t>(instruction - code.begin()), SYS_sendmsg,
                                 static_cast<std::uint64_t>(socket), at, MSG_DONTWAIT | MSG_NOSIGNAL);
  memory.write_code(at, before);
  return !sent ? ESRCH : *sent < 0 ? static_cast<int>(-*sent) : 0;
}

}  // namespace verbatim::supervisor
