#include "verbs_shim/runtime/gate.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace verbatim::shim {

namespace {
// mov rax,rdi; mov rdi,rsi; mov rsi,rdx; mov rdx,rcx; mov r10,r8; mov r8,r9; mov r9,[rsp+8]; syscall; ret
constexpr unsigned char kGateCode[] = {0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48, 0x89, 0xd6, 0x48, 0x89, 0xca, 0x4d,
                                       0x89, 0xc2, 0x4d, 0x89, 0xc8, 0x4c, 0x8b, 0x4c, 0x24, 0x08, 0x0f, 0x05, 0xc3};
// mov eax,15 (rt_sigreturn); syscall
constexpr unsigned char kRestorerCode[] = {0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
// mov eax,56 (clone); mov r10,rcx; syscall; test rax,rax; jz child; ret; child: pop rdi; xor ebp,ebp; call r9
constexpr unsigned char kCloneCode[] = {0xb8, 0x38, 0x00, 0x00, 0x00, 0x49, 0x89, 0xca, 0x0f, 0x05, 0x48,
                                        0x85, 0xc0, 0x74, 0x01, 0xc3, 0x5f, 0x31, 0xed, 0x41, 0xff, 0xd1};
static_assert(sizeof kGateCode <= kRestorerOffset && kRestorerOffset + sizeof kRestorerCode <= kCloneOffset);
}  // namespace

bool map_gate() {
  const long page = raw_system_call(SYS_mmap, protocol::kGateAddress, 4096, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (page != static_cast<long>(protocol::kGateAddress)) return false;
  memcpy(reinterpret_cast<void*>(protocol::kGateAddress), kGateCode, sizeof kGateCode);
  memcpy(reinterpret_cast<void*>(restorer()), kRestorerCode, sizeof kRestorerCode);
  memcpy(reinterpret_cast<void*>(protocol::kGateAddress + kCloneOffset), kCloneCode, sizeof kCloneCode);
  return raw_system_call(SYS_mprotect, protocol::kGateAddress, 4096, PROT_READ | PROT_EXEC) == 0;
}

}  // namespace verbatim::shim
