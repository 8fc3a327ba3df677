#include "verbs_shim/runtime/program_memory.h"

#include "verbs_shim/runtime/runtime.h"

extern "C" {
__attribute__((visibility("hidden"))) bool verbatim_copy(void* to, const void* from, std::size_t size);
__attribute__((visibility("hidden"))) extern const char verbatim_copy_moves[], verbatim_copy_failed[];
}

// One instruction may fault, and the handler knows which.
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
  .popsection
)");

namespace verbatim::shim {

bool copy_bytes(void* to, const void* from, std::size_t size) { return verbatim_copy(to, from, size); }

bool copy_program_bytes(void* to, const void* from, std::size_t size) { return copy_bytes(to, from, size); }

bool is_failed_copy(std::uint64_t rip, std::uint64_t* goes_on) {
  *goes_on = reinterpret_cast<std::uint64_t>(verbatim_copy_failed);
  return rip == reinterpret_cast<std::uint64_t>(verbatim_copy_moves);
}

}  // namespace verbatim::shim
