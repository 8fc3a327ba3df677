// Lengths and operands of instructions that access shared memory.
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/supervisor/code/access_search.h"

extern "C" {
extern const char __ehdr_start;
extern const char accesses_global, accesses_locked, accesses_exchanged, accesses_own, accesses_local, accesses_read_only;
extern const char accesses_array, accesses_byte, accesses_called, accesses_frame, accesses_other_frame;
extern const char accesses_taken, accesses_of_library, accesses_of_own, accesses_of_another;
int accesses_counter = 0;
extern const int accesses_constant = 1;
}

asm(R"(
  .text
  .type accesses_function, @function
accesses_function:
  .cfi_startproc
  .globl accesses_global, accesses_locked, accesses_exchanged, accesses_own, accesses_local, accesses_read_only, accesses_array
  .globl accesses_byte, accesses_called
accesses_global:    addl $1, accesses_counter(%rip)
accesses_locked:    lock addl $1, accesses_counter(%rip)
accesses_exchanged: xchg %eax, (%rdi)
accesses_own:       mov 8(%rsp), %rax
accesses_local:     mov %fs:0, %rax
accesses_read_only: mov accesses_constant(%rip), %eax
accesses_array:     mov -16(%r12,%rsi,4), %r9
accesses_byte:      incb 3(%rbp)
accesses_called:    call *8(%rax)
  ret
  .cfi_endproc
  .size accesses_function, . - accesses_function
  .type accesses_framed, @function
accesses_framed:
  .cfi_startproc
  .globl accesses_frame, accesses_other_frame, accesses_taken, accesses_of_library, accesses_of_own, accesses_of_another
  push %rbp
  mov %rsp, %rbp
accesses_frame:       mov %eax, -68(%rbp)
accesses_other_frame: mov %eax, (%rcx)
  lea -64(%rbp), %rdi
accesses_taken:       mov %eax, -56(%rbp)
accesses_of_library:  call memcpy@plt
accesses_of_own:      call accesses_function
accesses_of_another:  call abort@plt
  pop %rbp
  ret
  .cfi_endproc
  .size accesses_framed, . - accesses_framed
)");

namespace verbatim::code {
namespace {

using protocol::AccessPlace;

class Accesses : public ::testing::Test {
 protected:
  Accesses() {
    std::ifstream stream("/proc/self/exe", std::ios::binary);
    file_.assign(std::istreambuf_iterator<char>(stream), {});
    const auto bytes = std::as_bytes(std::span(file_));
    const auto image = ElfImage::read(bytes);
    EXPECT_TRUE(image);
    if (image) found_ = search_accesses(*image, bytes);
  }

  std::optional<AccessPlace> at(const char& place) const {
    const auto address = static_cast<std::uint64_t>(&place - &__ehdr_start);
    for (const AccessSite& site : found_) {
      if (site.place.address % 0x400000 == address) return site.place;
    }
    return std::nullopt;
  }

  std::vector<char> file_;
  std::vector<AccessSite> found_;
};

TEST_F(Accesses, what_others_may_touch_is_found_with_its_address) {
  const auto global = at(accesses_global);
  ASSERT_TRUE(global);
  EXPECT_EQ(global->base, AccessPlace::kNextInstruction);
  EXPECT_EQ(&accesses_global + global->length + global->displacement, reinterpret_cast<const char*>(&accesses_counter));
  EXPECT_EQ(global->original, static_cast<std::uint8_t>(accesses_global));
  const auto array = at(accesses_array);
  ASSERT_TRUE(array);
  EXPECT_EQ(array->base, 12);
  EXPECT_EQ(array->index, 6);
  EXPECT_EQ(array->scale, 4);
  EXPECT_EQ(array->displacement, -16);
  EXPECT_EQ(array->length, 5);
  const auto byte = at(accesses_byte);
  ASSERT_TRUE(byte);
  EXPECT_EQ(byte->base, 5);
  EXPECT_EQ(byte->index, AccessPlace::kNoRegister);
  EXPECT_TRUE(at(accesses_other_frame));
}

TEST_F(Accesses, others_come_between_reading_and_writing_where_nothing_locks) {
  EXPECT_EQ(at(accesses_global)->divided, 4);
  EXPECT_EQ(at(accesses_byte)->divided, 1);
  EXPECT_EQ(at(accesses_array)->divided, 0);
  ASSERT_TRUE(at(accesses_locked) && at(accesses_exchanged));
  EXPECT_EQ(at(accesses_locked)->divided, 0);
  EXPECT_EQ(at(accesses_exchanged)->divided, 0);
}

TEST_F(Accesses, what_only_stores_may_wait_in_the_store_buffer) {
  EXPECT_TRUE(at(accesses_other_frame)->only_stores);
  EXPECT_FALSE(at(accesses_global)->only_stores);
  EXPECT_FALSE(at(accesses_exchanged)->only_stores);
  EXPECT_FALSE(at(accesses_array)->only_stores);
  EXPECT_FALSE(at(accesses_of_library)->only_stores);
}

TEST(StoresWait, while_the_program_computes_and_not_behind_fences_and_locks) {
  const auto length = [](std::initializer_list<unsigned char> code) {
    return length_if_stores_wait(std::as_bytes(std::span(code)));
  };
  EXPECT_EQ(length({0x8b, 0x07}), 2u);                    // mov (%rdi), %eax
  EXPECT_EQ(length({0x74, 0x10}), 2u);                    // je
  EXPECT_EQ(length({0xe8, 0, 0, 0, 0}), 5u);              // call
  EXPECT_EQ(length({0x0f, 0xae, 0xf0}), 0u);              // mfence
  EXPECT_EQ(length({0xf0, 0x83, 0x0c, 0x24, 0x00}), 0u);  // lock orl $0, (%rsp)
  EXPECT_EQ(length({0x87, 0x07}), 0u);                    // xchg %eax, (%rdi)
  EXPECT_EQ(length({0x0f, 0x05}), 0u);                    // syscall
  EXPECT_EQ(length({0x0f, 0xa2}), 0u);                    // cpuid
  EXPECT_EQ(length({0x0f, 0x31}), 0u);                    // rdtsc
  EXPECT_EQ(length({0xf4}), 0u);                          // hlt
  EXPECT_EQ(length({0x06}), 0u);                          // none
}

TEST_F(Accesses, what_others_may_get_the_address_of_is_found) {
  EXPECT_TRUE(at(accesses_taken));
  ASSERT_TRUE(at(accesses_of_library));
  EXPECT_EQ(at(accesses_of_library)->size, 0);
  EXPECT_TRUE(at(accesses_of_library)->copies);
  EXPECT_FALSE(at(accesses_taken)->copies);
  EXPECT_FALSE(at(accesses_of_own));
  EXPECT_FALSE(at(accesses_of_another));
}

TEST_F(Accesses, what_is_the_threads_own_or_never_changes_is_none) {
  EXPECT_FALSE(at(accesses_own));
  EXPECT_FALSE(at(accesses_local));
  EXPECT_FALSE(at(accesses_read_only));
  EXPECT_FALSE(at(accesses_called));
  EXPECT_FALSE(at(accesses_frame));
}

}  // namespace
}  // namespace verbatim::code
