#include "tests/spin/native_code.h"

#include <sys/mman.h>

#include <cstddef>
#include <cstring>

#include "sim/core/check.h"

namespace verbatim::spin {

// The assembly below depends on the layout.
struct NativeSlot {
  std::uint64_t gpr[16];
  std::uint64_t flags;
  std::uint64_t entry;
  std::uint64_t saved_rsp;
  std::uint64_t use_vectors;
  std::uint64_t scratch[16];  // a stack for one word, the flags
  alignas(32) std::uint64_t lane[16][4];
};
static_assert(offsetof(NativeSlot, flags) == 128 && offsetof(NativeSlot, entry) == 136 &&
              offsetof(NativeSlot, saved_rsp) == 144 && offsetof(NativeSlot, use_vectors) == 152 &&
              offsetof(NativeSlot, scratch) == 160 && offsetof(NativeSlot, lane) == 288);

extern "C" {
__attribute__((visibility("hidden"), used)) NativeSlot native_slot;
void native_enter();
void native_leave();
}

asm(R"(
.text
.macro each_vector op:vararg
  .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    \op \n
  .endr
.endm
.macro load_vector n
  vmovups native_slot+288+32*\n(%rip), %ymm\n
.endm
.macro store_vector n
  vmovups %ymm\n, native_slot+288+32*\n(%rip)
.endm
.globl native_enter
.hidden native_enter
native_enter:
  push %rbx
  push %rbp
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, native_slot+144(%rip)
  cmpq $0, native_slot+152(%rip)
  je 1f
  each_vector load_vector
1:
  lea native_slot+128(%rip), %rsp
  popfq
  mov native_slot+0(%rip), %rax
  mov native_slot+8(%rip), %rcx
  mov native_slot+16(%rip), %rdx
  mov native_slot+24(%rip), %rbx
  mov native_slot+32(%rip), %rsp
  mov native_slot+40(%rip), %rbp
  mov native_slot+48(%rip), %rsi
  mov native_slot+56(%rip), %rdi
  mov native_slot+64(%rip), %r8
  mov native_slot+72(%rip), %r9
  mov native_slot+80(%rip), %r10
  mov native_slot+88(%rip), %r11
  mov native_slot+96(%rip), %r12
  mov native_slot+104(%rip), %r13
  mov native_slot+112(%rip), %r14
  mov native_slot+120(%rip), %r15
  jmp *native_slot+136(%rip)
.globl native_leave
.hidden native_leave
native_leave:
  mov %rax, native_slot+0(%rip)
  mov %rcx, native_slot+8(%rip)
  mov %rdx, native_slot+16(%rip)
  mov %rbx, native_slot+24(%rip)
  mov %rsp, native_slot+32(%rip)
  mov %rbp, native_slot+40(%rip)
  mov %rsi, native_slot+48(%rip)
  mov %rdi, native_slot+56(%rip)
  mov %r8, native_slot+64(%rip)
  mov %r9, native_slot+72(%rip)
  mov %r10, native_slot+80(%rip)
  mov %r11, native_slot+88(%rip)
  mov %r12, native_slot+96(%rip)
  mov %r13, native_slot+104(%rip)
  mov %r14, native_slot+112(%rip)
  mov %r15, native_slot+120(%rip)
  lea native_slot+288(%rip), %rsp
  pushfq
  pop native_slot+128(%rip)
  cmpq $0, native_slot+152(%rip)
  je 1f
  each_vector store_vector
  vzeroupper
1:
  mov native_slot+144(%rip), %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbp
  pop %rbx
  cld
  ret
)");

constexpr std::size_t kSize = 4096;

NativeCode::NativeCode() {
  void* const page =
      mmap(nullptr, kSize, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED);
  page_ = static_cast<std::uint8_t*>(page);
}

NativeCode::~NativeCode() { munmap(page_, kSize); }

void NativeCode::place(std::span<const std::uint8_t> code) {
  CHECK(code.size() + 14 <= kSize);
  std::memcpy(page_, code.data(), code.size());
  const std::uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0};  // jmp [rip]
  std::memcpy(page_ + code.size(), jump, sizeof jump);
  const auto target = reinterpret_cast<std::uint64_t>(&native_leave);
  std::memcpy(page_ + code.size() + sizeof jump, &target, sizeof target);
}

void NativeCode::run(Registers& registers, VectorRegisters& vectors) {
  for (int i = 0; i < 16; ++i) {
    native_slot.gpr[i] = registers.gpr[i];
    for (int j = 0; j < 4; ++j) native_slot.lane[i][j] = vectors.lane[i][j];
  }
  native_slot.flags = (registers.flags & kArithmeticFlags) | 0x202;
  native_slot.entry = address();
  native_slot.use_vectors = has_avx2();
  native_enter();
  for (int i = 0; i < 16; ++i) {
    registers.gpr[i] = native_slot.gpr[i];
    for (int j = 0; j < 4; ++j) vectors.lane[i][j] = native_slot.lane[i][j];
  }
  registers.flags = native_slot.flags & kArithmeticFlags;
}

}  // namespace verbatim::spin
