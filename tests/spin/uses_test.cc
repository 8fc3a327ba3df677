// Uses of undefined bytes and reads of further bytes, in short pieces of code at which rbx points to the
// data.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "sim/supervisor/spin/spin_prover.h"
#include "tests/spin/self_memory.h"

namespace verbatim::spin::uses {
namespace {

alignas(4096) std::uint8_t data[64];
alignas(4096) std::uint8_t program[64];

struct Uses : testing::Test {
  Registers place(const std::vector<std::uint8_t>& bytes) {
    std::memset(program, 0x90, sizeof program);
    std::copy(bytes.begin(), bytes.end(), program);
    length = bytes.size();
    Registers start = stack.call(&stack);
    start.rip = address(program);
    start.gpr[kRbx] = address(data);
    return start;
  }
  // Offset of the instruction that reads a byte of the first two of the data, of which `known` are known.
  std::optional<std::uint64_t> read_by(const std::vector<std::uint8_t>& bytes, std::size_t known) {
    const Registers start = place(bytes);
    const std::vector<ByteRun> runs = {{address(data), ByteRun::Bytes(known, 0)}};
    const auto found =
        prover.find_read(start, {}, memory, {}, {address(program), length}, {address(data), 2}, runs);
    return found ? std::optional(*found - address(program)) : std::nullopt;
  }
  // Offset of the instruction that uses the 8 bytes of the data at 8.
  std::optional<std::uint64_t> used_by(const std::vector<std::uint8_t>& bytes) {
    const Registers start = place(bytes);
    const MemoryRange fields[] = {{address(data) + 32, 8}, {address(data) + 8, 8}};
    const auto found = prover.find_use(start, memory, {}, {address(program), length}, fields);
    if (!found) return std::nullopt;
    EXPECT_EQ(found->field, 1u);
    return found->rip - address(program);
  }

  std::size_t length = 0;
  TestStack stack;
  SelfMemory memory;
  SpinProver prover;
};

TEST_F(Uses, the_first_read_of_an_unknown_byte_is_found) {
  // mov al, [rbx]; mov [rbx + 1], al; lea rcx, [rbx + 1]; mov cl, [rbx + 1]
  const std::vector<std::uint8_t> code = {0x8a, 0x03, 0x88, 0x43, 1, 0x48, 0x8d, 0x4b, 1, 0x8a, 0x4b, 1};
  EXPECT_EQ(read_by(code, 1), 9u);
  EXPECT_EQ(read_by(code, 0), 0u);
  EXPECT_EQ(read_by(code, 2), std::nullopt);
}

TEST_F(Uses, an_instruction_that_changes_memory_reads_it) {
  EXPECT_EQ(read_by({0xfe, 0x43, 1}, 1), 0u);               // inc byte [rbx + 1]
  EXPECT_EQ(read_by({0xc6, 0x43, 1, 5}, 1), std::nullopt);  // mov byte [rbx + 1], 5
  // movzx eax, byte [rbx]; movzx eax, word [rbx]
  EXPECT_EQ(read_by({0x0f, 0xb6, 0x03, 0x0f, 0xb7, 0x03}, 1), 3u);
}

TEST_F(Uses, a_jump_by_the_field_is_a_use_and_a_copy_is_none) {
  EXPECT_EQ(used_by({0x48, 0x8b, 0x43, 8, 0x48, 0x89, 0x43, 16}),
            std::nullopt);  // mov rax, [rbx + 8]; mov [rbx + 16], rax
  // mov eax, [rbx + 8]; mov edx, eax; test edx, edx; je
  EXPECT_EQ(used_by({0x8b, 0x43, 8, 0x89, 0xc2, 0x85, 0xd2, 0x74, 0}), 7u);
  // mov rax, [rbx + 8]; lea rcx, [rax + 4]; test rcx, rcx; je
  EXPECT_EQ(used_by({0x48, 0x8b, 0x43, 8, 0x48, 0x8d, 0x48, 4, 0x48, 0x85, 0xc9, 0x74, 0}), 11u);
  // mov rax, [rbx + 8]; xor eax, eax; test eax, eax; je
  EXPECT_EQ(used_by({0x48, 0x8b, 0x43, 8, 0x31, 0xc0, 0x85, 0xc0, 0x74, 0}), std::nullopt);
}

// The call has destroyed these registers, and the branch is unknown.
TEST_F(Uses, nothing_is_known_of_what_a_call_destroys) {
  // test ecx, ecx; jne behind the use; mov eax, [rbx + 8]; test eax, eax; je
  EXPECT_EQ(used_by({0x85, 0xc9, 0x75, 7, 0x8b, 0x43, 8, 0x85, 0xc0, 0x74, 0}), std::nullopt);
  EXPECT_EQ(used_by({0x45, 0x85, 0xc0, 0x75, 7, 0x8b, 0x43, 8, 0x85, 0xc0, 0x74, 0}), std::nullopt) << "test r8d, r8d";
  EXPECT_EQ(used_by({0x85, 0xc0, 0x75, 7, 0x8b, 0x43, 8, 0x85, 0xc0, 0x74, 0}), 9u) << "test eax, eax: the result";
  EXPECT_EQ(used_by({0x45, 0x85, 0xe4, 0x75, 7, 0x8b, 0x43, 8, 0x85, 0xc0, 0x74, 0}), 10u) << "test r12d, r12d: it is kept";
}

TEST_F(Uses, an_address_from_the_field_is_a_use) {
  const std::uint64_t at = address(data);
  std::memcpy(data + 8, &at, 8);
  EXPECT_EQ(used_by({0x48, 0x8b, 0x43, 8, 0x8b, 0x08}), 4u);  // mov rax, [rbx + 8]; mov ecx, [rax]
}

TEST_F(Uses, a_field_that_is_not_selected_is_not_used) {
  // mov eax, [rbx + 8]; xor ecx, ecx; cmovCC ecx, eax; test ecx, ecx; je
  const auto selects = [&](std::uint8_t condition) {
    return used_by({0x8b, 0x43, 8, 0x31, 0xc9, 0x0f, condition, 0xc8, 0x85, 0xc9, 0x74, 0});
  };
  EXPECT_EQ(selects(0x45), std::nullopt) << "cmovne";
  EXPECT_EQ(selects(0x44), 10u) << "cmove";
}

}  // namespace
}  // namespace verbatim::spin::uses
