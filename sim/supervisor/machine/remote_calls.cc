#include "sim/supervisor/machine/remote_calls.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>

#include "sim/supervisor/machine/child_status.h"

namespace verbatim::supervisor {

namespace {

// Makes up to 64 calls in one loop, because each ptrace stop costs two context switches. Bit 0 of the result
// is the last call: set if its result was not the expected one.
std::optional<std::uint64_t> make_some(pid_t pid, ProcessMemory& memory, std::uint64_t at, std::span<const RemoteCall> calls) {
  // rbx: table, r12: number of entries left, rbp: result bits.
  static constexpr std::uint8_t kLoop[] = {
      0x48, 0x8b, 0x03,        // mov rax, [rbx]
      0x48, 0x8b, 0x7b, 0x08,  // mov rdi, [rbx + 8]
      0x48, 0x8b, 0x73, 0x10,  // mov rsi, [rbx + 16]
      0x48, 0x8b, 0x53, 0x18,  // mov rdx, [rbx + 24]
      0x4c, 0x8b, 0x53, 0x20,  // mov r10, [rbx + 32]
      0x4c, 0x8b, 0x43, 0x28,  // mov r8, [rbx + 40]
      0x4c, 0x8b, 0x4b, 0x30,  // mov r9, [rbx + 48]
      0x0f, 0x05,              // syscall
      0x48, 0x3b, 0x43, 0x38,  // cmp rax, [rbx + 56]
      0x0f, 0x95, 0xc0,        // setne al
      0x0f, 0xb6, 0xc0,        // movzx eax, al
      0x48, 0x8d, 0x2c, 0x68,  // lea rbp, [rax + rbp * 2]
      0x48, 0x83, 0xc3, 0x40,  // add rbx, 64
      0x49, 0xff, 0xcc,        // dec r12
      0x75, 0xcc,              // jnz to the first
      0xcc};                   // int3
  static_assert(sizeof(RemoteCall) == 64 && sizeof kLoop == 53);
  constexpr std::size_t kTable = 64;
  user_regs_struct saved;
  if (ptrace(PTRACE_GETREGS, pid, nullptr, &saved) != 0) return std::nullopt;
  std::vector<std::byte> code(kTable + calls.size_bytes()), original(code.size());
  std::memcpy(code.data(), kLoop, sizeof kLoop);
  std::memcpy(code.data() + kTable, calls.data(), calls.size_bytes());
  user_regs_struct registers = saved;
  registers.orig_rax = ~0ull;
  registers.rip = at;
  registers.rbx = at + kTable, registers.rbp = 0, registers.r12 = calls.size();
  int status = 0;
  const bool made = memory.read(at, original) && memory.write_code(at, code) &&
                    ptrace(PTRACE_SETREGS, pid, nullptr, &registers) == 0 &&
                    ptrace(PTRACE_CONT, pid, nullptr, nullptr) == 0 && WIFSTOPPED(status = await_status(pid)) &&
                    WSTOPSIG(status) == SIGTRAP &&
                    ptrace(PTRACE_GETREGS, pid, nullptr, &registers) == 0 && registers.r12 == 0;
  const bool restored = memory.write_code(at, original) && ptrace(PTRACE_SETREGS, pid, nullptr, &saved) == 0;
  if (!made || !restored) return std::nullopt;
  return registers.rbp;
}

}  // namespace

std::optional<std::vector<bool>> make_calls(pid_t pid, ProcessMemory& memory, std::uint64_t at,
                                            std::span<const RemoteCall> calls) {
  constexpr std::size_t kMost = 64;  // bits of the result
  std::vector<bool> answers;
  for (std::size_t done = 0; done < calls.size();) {
    const std::size_t n = std::min(kMost, calls.size() - done);
    const std::optional<std::uint64_t> failed = make_some(pid, memory, at, calls.subspan(done, n));
    if (!failed) return std::nullopt;
    for (std::size_t i = 0; i < n; ++i) answers.push_back((*failed >> (n - 1 - i) & 1) == 0);
    done += n;
  }
  return answers;
}

}  // namespace verbatim::supervisor
