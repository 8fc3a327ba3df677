#include "verbs_shim/runtime/program_memory.h"

#include "verbs_shim/runtime/runtime.h"

extern "C" {
__attribute__((visibility("hidden"))) bool verbatim_copy(void* to, const void* from, std::size_t size);
__attribute__((visibility("hidden"))) extern const char verbatim_copy_moves[], verbatim_copy_failed[];
__attribute__((visibility("hidden"))) bool verbatim_copy_lines(void* to, const verbatim::protocol::PageLines* pages,
                                                              std::uint64_t count);
__attribute__((visibility("hidden"))) extern const char verbatim_line_loads[], verbatim_line_loads_end[];
}

// Only the instructions between the labels may fault; the fault handler compares their addresses.
asm(R"(
  .pushsection .text
  .hidden verbatim_copy
  .globl verbatim_copy
  .type verbatim_copy, @function
verbatim_copy:
  mov %rdx, %rcx
  .hidden verbatim_copy_moves
  .globl verbatim_copy_moves
verbatim_copy_moves:
  rep movsb
  mov $1, %eax
  ret
  .hidden verbatim_copy_failed
  .globl verbatim_copy_failed
verbatim_copy_failed:
  xor %eax, %eax
  ret
  .size verbatim_copy, . - verbatim_copy

  .hidden verbatim_copy_lines
  .globl verbatim_copy_lines
  .type verbatim_copy_lines, @function
verbatim_copy_lines:  # rdi: to, rsi: pages, rdx: how many
1:
  test %rdx, %rdx
  jz 4f
  mov (%rsi), %r8
  shl $12, %r8
  mov 8(%rsi), %r9
2:
  bsf %r9, %r10
  jz 3f
  lea -1(%r9), %r11
  and %r11, %r9
  shl $6, %r10
  add %r8, %r10
  .hidden verbatim_line_loads
  .globl verbatim_line_loads
verbatim_line_loads:
  mov (%r10), %rax
  mov 8(%r10), %rcx
  mov %rax, (%rdi)
  mov %rcx, 8(%rdi)
  mov 16(%r10), %rax
  mov 24(%r10), %rcx
  mov %rax, 16(%rdi)
  mov %rcx, 24(%rdi)
  mov 32(%r10), %rax
  mov 40(%r10), %rcx
  mov %rax, 32(%rdi)
  mov %rcx, 40(%rdi)
  mov 48(%r10), %rax
  mov 56(%r10), %rcx
  mov %rax, 48(%rdi)
  mov %rcx, 56(%rdi)
  .hidden verbatim_line_loads_end
  .globl verbatim_line_loads_end
verbatim_line_loads_end:
  add $64, %rdi
  jmp 2b
3:
  add $16, %rsi
  dec %rdx
  jmp 1b
4:
  mov $1, %eax
  ret
  .size verbatim_copy_lines, . - verbatim_copy_lines
  .popsection
)");

namespace verbatim::shim {

bool copy_bytes(void* to, const void* from, std::size_t size) { return verbatim_copy(to, from, size); }

bool copy_program_bytes(void* to, const void* from, std::size_t size) { return copy_bytes(to, from, size); }

bool copy_lines(void* to, const protocol::PageLines* pages, std::uint64_t count) {
  return verbatim_copy_lines(to, pages, count);
}

// Both copies have the same failure exit, because neither keeps anything on the stack.
bool is_failed_copy(std::uint64_t rip, std::uint64_t* goes_on) {
  *goes_on = reinterpret_cast<std::uint64_t>(verbatim_copy_failed);
  return rip == reinterpret_cast<std::uint64_t>(verbatim_copy_moves) ||
         (rip >= reinterpret_cast<std::uint64_t>(verbatim_line_loads) &&
          rip < reinterpret_cast<std::uint64_t>(verbatim_line_loads_end));
}

}  // namespace verbatim::shim
