// Code of the gate. It is a page of the library's file, therefore the same in all processes.
#include "verbs_shim/runtime/gate.h"

asm(R"(
  .pushsection .text.verbatim_gate, "ax", @progbits
  .balign 4096
  .hidden verbatim_gate
  .globl verbatim_gate
  .type verbatim_gate, @function
verbatim_gate:
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
  mov %r8, %r10
  mov %r9, %r8
  mov 8(%rsp), %r9
  syscall
  ret
  .org 64, 0xcc
  mov $15, %eax        # rt_sigreturn: restorer()
  syscall
  .org 128, 0xcc
  mov $56, %eax        # clone: clone_gate()
  mov %rcx, %r10
  syscall
  test %rax, %rax
  jz 1f
  ret
1:
  pop %rdi
  xor %ebp, %ebp
  call *%r9
  .org 4096, 0xcc
  .size verbatim_gate, . - verbatim_gate
  .popsection
)");

namespace verbatim::shim {

static_assert(kRestorerOffset == 64 && kCloneOffset == 128);

}  // namespace verbatim::shim
