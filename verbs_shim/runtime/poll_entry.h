// Entry code of the calls by which a loop waits: polls of a completion queue, sched_yield(), and clock reads.
#pragma once

#include <stddef.h>

#include "verbs_shim/protocol/region.h"

// Body of the naked function `entry`, which programs call and which calls `target` (a string). It first
// stores the caller's registers in the thread's slot, from which the supervisor predicts the loop when the
// poll returns nothing. The callee-saved registers are also in its frame (protocol::kPollFrame): when
// iterations of a loop are skipped, the supervisor writes the values there that the registers have after
// these iterations.
#define POLL_ENTRY(entry, target)                                                                               \
  asm volatile(                                                                                                 \
      "movq verbatim_thread_slot@gottpoff(%%rip), %%r11\n"                                                      \
      "movq %%fs:(%%r11), %%r11\n"                                                                              \
      "testq %%r11, %%r11\n"                                                                                    \
      "jz 1f\n"                                                                                                 \
      "movq %%rcx, %c0+8(%%r11)\n"                                                                              \
      "movq %%rdx, %c0+16(%%r11)\n"                                                                             \
      "movq %%rbx, %c0+24(%%r11)\n"                                                                             \
      "movq %%rsp, %c0+32(%%r11)\n"                                                                             \
      "movq %%rbp, %c0+40(%%r11)\n"                                                                             \
      "movq %%rsi, %c0+48(%%r11)\n"                                                                             \
      "movq %%rdi, %c0+56(%%r11)\n"                                                                             \
      "movq %%r12, %c0+96(%%r11)\n"                                                                             \
      "movq %%r13, %c0+104(%%r11)\n"                                                                            \
      "movq %%r14, %c0+112(%%r11)\n"                                                                            \
      "movq %%r15, %c0+120(%%r11)\n"                                                                            \
      "leaq %c1(%%rip), %%rax\n"                                                                                \
      "movq %%rax, %c0+128(%%r11)\n"                                                                            \
      "movq %%fs:0, %%rax\n"                                                                                    \
      "movq %%rax, %c0+136(%%r11)\n"                                                                            \
      "1: pushq %%rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %%rbx, 0\n"                                    \
      "pushq %%rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %%rbp, 0\n"                                       \
      "pushq %%r12\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %%r12, 0\n"                                       \
      "pushq %%r13\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %%r13, 0\n"                                       \
      "pushq %%r14\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %%r14, 0\n"                                       \
      "pushq %%r15\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %%r15, 0\n"                                       \
      "subq $8, %%rsp\n.cfi_adjust_cfa_offset 8\n"                                                              \
      "call " target "\n"                                                                                       \
      "addq $8, %%rsp\n.cfi_adjust_cfa_offset -8\n"                                                             \
      "popq %%r15\n.cfi_adjust_cfa_offset -8\n.cfi_restore %%r15\n"                                             \
      "popq %%r14\n.cfi_adjust_cfa_offset -8\n.cfi_restore %%r14\n"                                             \
      "popq %%r13\n.cfi_adjust_cfa_offset -8\n.cfi_restore %%r13\n"                                             \
      "popq %%r12\n.cfi_adjust_cfa_offset -8\n.cfi_restore %%r12\n"                                             \
      "popq %%rbp\n.cfi_adjust_cfa_offset -8\n.cfi_restore %%rbp\n"                                             \
      "popq %%rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore %%rbx\n"                                             \
      "ret\n"                                                                                                   \
      :                                                                                                         \
      : "i"(offsetof(::verbatim::protocol::ThreadSlot, poll_registers)), "i"(entry))
