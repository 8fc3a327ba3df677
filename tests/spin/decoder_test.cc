// The operands that an instruction reads are complete: the interpreter executes it only if all are known.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/supervisor/spin/instruction.h"
#include "sim/supervisor/spin/registers.h"

namespace verbatim::spin {
namespace {

using Bytes = std::vector<std::uint8_t>;

Instruction decoded(const Bytes& bytes) {
  return decode(0x1000, bytes.data(), static_cast<unsigned>(bytes.size()));
}

constexpr std::uint64_t whole(unsigned index) { return known_bits(index, 8); }

struct Reads {
  std::string text;
  Bytes bytes;
  std::uint64_t needs;
};

TEST(Decoder, registers_that_an_instruction_reads) {
  const Reads cases[] = {
      {"mulx %rsi,%rax,%rbx", {0xc4, 0xe2, 0xfb, 0xf6, 0xde}, whole(kRsi) | whole(kRdx)},
      {"mulx (%rdi,%r8,2),%rax,%rbx",
       {0xc4, 0xa2, 0xfb, 0xf6, 0x1c, 0x47},
       whole(kRdi) | whole(kR8) | whole(kRdx)},
      {"mul %rcx", {0x48, 0xf7, 0xe1}, whole(kRax) | whole(kRcx)},
      {"imul %ecx", {0xf7, 0xe9}, known_bits(kRax, 4) | known_bits(kRcx, 4)},
      {"div %rcx", {0x48, 0xf7, 0xf1}, whole(kRax) | whole(kRdx) | whole(kRcx)},
      {"idiv %ecx", {0xf7, 0xf9}, known_bits(kRax, 4) | known_bits(kRdx, 4) | known_bits(kRcx, 4)},
      {"div %cl", {0xf6, 0xf1}, known_bits(kRax, 2) | known_bits(kRcx, 1)},
      {"rep stos %rax,(%rdi)", {0xf3, 0x48, 0xab}, whole(kRdi) | whole(kRax) | whole(kRcx)},
      {"stos %al,(%rdi)", {0xaa}, whole(kRdi) | known_bits(kRax, 1)},
      {"rep movsb", {0xf3, 0xa4}, whole(kRdi) | whole(kRsi) | whole(kRcx)},
      {"movsq", {0x48, 0xa5}, whole(kRdi) | whole(kRsi)},
      {"cltq", {0x48, 0x98}, known_bits(kRax, 4)},
      {"cwtl", {0x98}, known_bits(kRax, 2)},
      {"cqto", {0x48, 0x99}, whole(kRax)},
      {"cltd", {0x99}, known_bits(kRax, 4)},
      {"cmpxchg %rsi,(%rdi)", {0x48, 0x0f, 0xb1, 0x37}, whole(kRax) | whole(kRsi) | whole(kRdi)},
      {"leave", {0xc9}, whole(kRbp)},
      {"push %rcx", {0x51}, whole(kRcx) | whole(kRsp)},
      {"pop %rcx", {0x59}, whole(kRsp)},
      {"ret", {0xc3}, whole(kRsp)},
      {"call *%rcx", {0xff, 0xd1}, whole(kRcx) | whole(kRsp)},
      {"xor %ecx,%ecx", {0x31, 0xc9}, 0},
      {"sub %rcx,%rcx", {0x48, 0x29, 0xc9}, 0},
      {"sbb %ecx,%ecx", {0x19, 0xc9}, 0},
      {"or $-1,%ecx", {0x83, 0xc9, 0xff}, 0},
      {"orl $-1,(%rdi)", {0x83, 0x0f, 0xff}, whole(kRdi)},
      {"or $1,%ecx", {0x83, 0xc9, 0x01}, known_bits(kRcx, 4)},
      {"lea 8(%rdi,%rsi,4),%rax", {0x48, 0x8d, 0x44, 0xb7, 0x08}, whole(kRdi) | whole(kRsi)},
      {"mov (%rdi),%eax", {0x8b, 0x07}, whole(kRdi)},
      {"mov %rsi,(%rdi)", {0x48, 0x89, 0x37}, whole(kRsi) | whole(kRdi)},
      {"mov %sil,%al", {0x40, 0x88, 0xf0}, known_bits(kRsi, 1)},
      {"add %ecx,%edx", {0x01, 0xca}, known_bits(kRcx, 4) | known_bits(kRdx, 4)},
      {"movzbl %cl,%eax", {0x0f, 0xb6, 0xc1}, known_bits(kRcx, 1)},
      {"shlx %rcx,%rsi,%rax", {0xc4, 0xe2, 0xf1, 0xf7, 0xc6}, whole(kRcx) | whole(kRsi)},
      {"xadd %ecx,(%rdi)", {0x0f, 0xc1, 0x0f}, known_bits(kRcx, 4) | whole(kRdi)},
      {"bt %ecx,%edx", {0x0f, 0xa3, 0xca}, known_bits(kRcx, 4) | known_bits(kRdx, 4)},
      {"pinsrd $1,%eax,%xmm3", {0x66, 0x0f, 0x3a, 0x22, 0xd8, 0x01}, known_bits(kRax, 4)},
      {"movdqa (%rdi),%xmm3", {0x66, 0x0f, 0x6f, 0x1f}, whole(kRdi)},
  };
  for (const Reads& one : cases) {
    const Instruction in = decoded(one.bytes);
    EXPECT_NE(in.op, Op::kRefused) << one.text;
    EXPECT_EQ(in.needs, one.needs) << one.text;
  }
}

// Bit n: the lower 16 bytes of register n. Bit 16 + n: the upper ones.
TEST(Decoder, vector_registers_that_an_instruction_reads) {
  constexpr std::uint32_t kUpper = 1u << 16;
  const Reads cases[] = {
      {"palignr $4,%xmm1,%xmm2", {0x66, 0x0f, 0x3a, 0x0f, 0xd1, 0x04}, 1u << 1 | 1u << 2},
      {"pslldq $3,%xmm5", {0x66, 0x0f, 0x73, 0xfd, 0x03}, 1u << 5},
      {"vpsrldq $3,%ymm5,%ymm6", {0xc5, 0xcd, 0x73, 0xdd, 0x03}, (1 | kUpper) << 5},
      {"vpsrldq $3,%xmm5,%xmm6", {0xc5, 0xc9, 0x73, 0xdd, 0x03}, 1u << 5},
      {"pslld $3,%xmm5", {0x66, 0x0f, 0x72, 0xf5, 0x03}, 1u << 5},
      {"vpsrlq $3,%ymm5,%ymm6", {0xc5, 0xcd, 0x73, 0xd5, 0x03}, (1 | kUpper) << 5},
      {"vextracti128 $1,%ymm5,%xmm6", {0xc4, 0xe3, 0x7d, 0x39, 0xee, 0x01}, (1 | kUpper) << 5},
      {"pextrd $1,%xmm3,%eax", {0x66, 0x0f, 0x3a, 0x16, 0xd8, 0x01}, 1u << 3},
      {"pinsrd $1,%eax,%xmm3", {0x66, 0x0f, 0x3a, 0x22, 0xd8, 0x01}, 1u << 3},
      {"vpbroadcastd %xmm3,%ymm4", {0xc4, 0xe2, 0x7d, 0x58, 0xe3}, 1u << 3},
      {"vmovddup %ymm3,%ymm4", {0xc5, 0xff, 0x12, 0xe3}, (1 | kUpper) << 3},
      {"vmovddup %xmm3,%xmm4", {0xc5, 0xfb, 0x12, 0xe3}, 1u << 3},
      {"pshufd $1,%xmm3,%xmm4", {0x66, 0x0f, 0x70, 0xe3, 0x01}, 1u << 3},
      {"vpshufd $1,%ymm3,%ymm4", {0xc5, 0xfd, 0x70, 0xe3, 0x01}, (1 | kUpper) << 3},
      {"pmovmskb %xmm3,%eax", {0x66, 0x0f, 0xd7, 0xc3}, 1u << 3},
      {"vpmovmskb %ymm3,%eax", {0xc5, 0xfd, 0xd7, 0xc3}, (1 | kUpper) << 3},
      {"ptest %xmm3,%xmm4", {0x66, 0x0f, 0x38, 0x17, 0xe3}, 1u << 3 | 1u << 4},
      {"vptest %ymm3,%ymm4", {0xc4, 0xe2, 0x7d, 0x17, 0xe3}, (1 | kUpper) << 3 | (1 | kUpper) << 4},
      {"pxor %xmm3,%xmm3", {0x66, 0x0f, 0xef, 0xdb}, 0},
      {"pcmpeqd %xmm3,%xmm3", {0x66, 0x0f, 0x76, 0xdb}, 0},
      {"pxor %xmm3,%xmm4", {0x66, 0x0f, 0xef, 0xe3}, 1u << 3 | 1u << 4},
      {"vpaddd %ymm3,%ymm4,%ymm5", {0xc5, 0xdd, 0xfe, 0xeb}, (1 | kUpper) << 3 | (1 | kUpper) << 4},
      {"movdqa %xmm3,(%rdi)", {0x66, 0x0f, 0x7f, 0x1f}, 1u << 3},
      {"punpckldq %xmm3,%xmm4", {0x66, 0x0f, 0x62, 0xe3}, 1u << 3 | 1u << 4},
  };
  for (const Reads& one : cases) {
    const Instruction in = decoded(one.bytes);
    EXPECT_NE(in.op, Op::kRefused) << one.text;
    EXPECT_EQ(in.needs_vectors, one.needs) << one.text;
  }
}

TEST(Decoder, bytes_that_are_missing_and_bytes_that_are_no_instruction_are_distinguished) {
  EXPECT_EQ(decoded({}).refusal, Reason::kUnreadable);
  EXPECT_EQ(decoded({0x8b}).refusal, Reason::kUnreadable) << "mov without its operands";
  EXPECT_EQ(decoded({0x06}).refusal, Reason::kUndecodable) << "push %es exists in 32-bit code only";
  EXPECT_EQ(decoded({0x06, 0x90}).refusal, Reason::kUndecodable);
}

}  // namespace
}  // namespace verbatim::spin
