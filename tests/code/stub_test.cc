// Stubs, executed: what they answer, and that they change nothing else.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "sim/supervisor/code/processor.h"
#include "sim/supervisor/code/stub.h"

namespace verbatim::code {
namespace {

constexpr std::uint64_t kFunction = 0x1000'0000;         // of a function under test
constexpr std::uint64_t kItsArea = kFunction + (1 << 20);   // its patch area
constexpr std::uint64_t kRoom = kItsArea + 4096 + 64;

// Everything that a piece of code may change, and its flags. Offsets are used by run().
struct State {
  std::uint64_t gpr[16];  // rax, rcx, rdx, rbx, (rsp), rbp, rsi, rdi, r8 … r15
  std::uint64_t flags;
};

// Loads the state, calls `code`, and stores the state. The stack pointer stays our own.
extern "C" void run_with_state(State* state, std::uint64_t code);
asm(R"(
  .text
  .globl run_with_state
run_with_state:
  push %rbx
  push %rbp
  push %r12
  push %r13
  push %r14
  push %r15
  push %rdi
  push %rsi
  pushq 128(%rdi)
  mov 0(%rdi), %rax
  mov 8(%rdi), %rcx
  mov 16(%rdi), %rdx
  mov 24(%rdi), %rbx
  mov 40(%rdi), %rbp
  mov 48(%rdi), %rsi
  mov 64(%rdi), %r8
  mov 72(%rdi), %r9
  mov 80(%rdi), %r10
  mov 88(%rdi), %r11
  mov 96(%rdi), %r12
  mov 104(%rdi), %r13
  mov 112(%rdi), %r14
  mov 120(%rdi), %r15
  mov 56(%rdi), %rdi
  popfq
  call *(%rsp)
  pushfq
  push %rdi
  mov 24(%rsp), %rdi
  mov %rax, 0(%rdi)
  mov %rcx, 8(%rdi)
  mov %rdx, 16(%rdi)
  mov %rbx, 24(%rdi)
  mov %rbp, 40(%rdi)
  mov %rsi, 48(%rdi)
  mov %r8, 64(%rdi)
  mov %r9, 72(%rdi)
  mov %r10, 80(%rdi)
  mov %r11, 88(%rdi)
  mov %r12, 96(%rdi)
  mov %r13, 104(%rdi)
  mov %r14, 112(%rdi)
  mov %r15, 120(%rdi)
  pop %rax
  mov %rax, 56(%rdi)
  pop %rax
  mov %rax, 128(%rdi)
  pop %rsi
  pop %rdi
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbp
  pop %rbx
  cld
  ret
)");

class StubTest : public testing::Test {
 protected:
  StubTest() : table_(cpuid_table(InstructionSet::kX86_64V2, 2'000'000'000)) {
    map(kFunction, 4096);
    map(kItsArea, 8192);
    map(protocol::kPatchDataAddress, sizeof(protocol::PatchData));
    std::memcpy(reinterpret_cast<void*>(protocol::kPatchDataAddress), table_.data(),
                table_.size() * sizeof table_[0]);
  }
  ~StubTest() override {
    munmap(reinterpret_cast<void*>(kFunction), 4096);
    munmap(reinterpret_cast<void*>(kItsArea), 8192);
    munmap(reinterpret_cast<void*>(protocol::kPatchDataAddress), sizeof(protocol::PatchData));
  }
  static void map(std::uint64_t at, std::size_t size) {
    ASSERT_EQ(mmap(reinterpret_cast<void*>(at), size, PROT_READ | PROT_WRITE | PROT_EXEC,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
              reinterpret_cast<void*>(at));
  }
  static void put(std::uint64_t at, const std::vector<std::uint8_t>& bytes) {
    std::memcpy(reinterpret_cast<void*>(at), bytes.data(), bytes.size());
  }
  // Puts the code there and replaces the one site in it.
  Stub install(const std::vector<std::uint8_t>& code) {
    put(kFunction, code);
    const SearchResult found = search_memory(kFunction, std::as_bytes(std::span(code)));
    EXPECT_EQ(found.sites.size(), 1u);
    EXPECT_NE(found.sites.at(0).jump_length, 0u);
    const auto stub = make_stub(found.sites[0], kItsArea, kRoom);
    EXPECT_TRUE(stub);
    put(kRoom, stub->bytes);
    put(found.sites[0].address, make_jump(found.sites[0].address, found.sites[0].jump_length, kRoom));
    return *stub;
  }
  static State numbered() {
    State state{};
    for (unsigned i = 0; i < 16; ++i) state.gpr[i] = 0x1111'2222'0000'0000 + i;
    return state;
  }

  std::vector<protocol::CpuidEntry> table_;
};

constexpr std::uint64_t kArithmetic = 0x8d5;

TEST_F(StubTest, cpuid_answers_from_the_table_and_keeps_flags_and_other_registers) {
  install({0x0f, 0xa2, 0x49, 0x89, 0xc0, 0xc3});  // cpuid; mov %rax, %r8; ret
  for (const auto& [leaf, subleaf] : {std::pair{0u, 0u}, {1u, 77u}, {4u, 2u}, {4u, 9u}, {0xbu, 1u}, {0x8000'0002u, 5u},
                                      {0x1234u, 0u}}) {
    for (std::uint64_t bits = 0; bits < 64; ++bits) {
      std::uint64_t flags = 2;
      for (unsigned i = 0, bit = 0; bit < 12; ++bit) {
        if ((kArithmetic >> bit & 1) == 0) continue;
        flags |= (bits >> i & 1) << bit;
        ++i;
      }
      State state = numbered();
      state.gpr[0] = leaf;
      state.gpr[1] = subleaf;
      state.flags = flags;
      const State before = state;
      run_with_state(&state, kFunction);
      const auto expected =
          std::find_if(table_.begin(), table_.end(), [leaf = leaf, subleaf = subleaf](const auto& entry) {
            return (entry.flags & protocol::kLastCpuidEntry) != 0 ||
                   (entry.leaf == leaf && ((entry.flags & protocol::kAnySubleaf) != 0 || entry.subleaf == subleaf));
          });
      EXPECT_EQ(state.gpr[0], expected->eax);
      EXPECT_EQ(state.gpr[1], expected->ecx);
      EXPECT_EQ(state.gpr[2], expected->edx);
      EXPECT_EQ(state.gpr[3], expected->ebx);
      EXPECT_EQ(state.gpr[8], expected->eax) << "what the jump took the place of";
      EXPECT_EQ(state.flags & kArithmetic, before.flags & kArithmetic);
      for (const unsigned i : {5u, 6u, 7u, 9u, 10u, 11u, 12u, 13u, 14u, 15u}) EXPECT_EQ(state.gpr[i], before.gpr[i]) << i;
    }
  }
}

// An entry as the shim's: on the area's stack, with the instruction above the return address. It answers 0x55 and
// reports what it was called for and where the stack was.
extern "C" {
std::uint64_t seen_instruction, seen_stack;
void test_entry();
}
asm(R"(
  .text
  .globl test_entry
test_entry:
  mov 8(%rsp), %rax
  mov %rax, seen_instruction(%rip)
  mov %rsp, seen_stack(%rip)
  mov $0x55, %eax
  ret
)");

TEST_F(StubTest, others_call_the_shim_on_the_stack_of_the_area) {
  // lea -8(%rsp), %rbx; movq $0x77, (%rbx); rdtsc; mov %eax, 0x100(%rip); mov (%rbx), %rcx; ret
  const Stub stub = install({0x48, 0x8d, 0x5c, 0x24, 0xf8, 0x48, 0xc7, 0x03, 0x77, 0, 0, 0, 0x0f, 0x31, 0x89, 0x05, 0, 1, 0, 0,
                             0x48, 0x8b, 0x0b, 0xc3});
  EXPECT_TRUE(stub.trap);
  protocol::PatchAreaHeader header{0, reinterpret_cast<std::uint64_t>(&test_entry), 0};
  std::memcpy(reinterpret_cast<void*>(kItsArea), &header, sizeof header);
  State state = numbered();
  state.flags = 2;
  run_with_state(&state, kFunction);
  EXPECT_EQ(protocol::PatchedInstruction::of(static_cast<std::uint32_t>(seen_instruction)).kind,
            protocol::DecidedInstruction::kRdtsc);
  EXPECT_TRUE(seen_stack > kItsArea && seen_stack < kItsArea + 4096);
  EXPECT_EQ(state.gpr[0], 0x55u);
  EXPECT_EQ(state.gpr[1], 0x77u) << "what lies below the program's stack pointer is not touched";
  // The moved instruction wrote to where it would have from its own place.
  std::uint32_t written;
  std::memcpy(&written, reinterpret_cast<void*>(kFunction + 20 + 0x100), sizeof written);
  EXPECT_EQ(written, 0x55u);
}

TEST_F(StubTest, before_the_shim_is_there_counters_read_zero) {
  install({0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0xc3});
  put(kItsArea + 4096, make_early_entries());
  protocol::PatchAreaHeader header{0, kItsArea + 4096, 0};
  std::memcpy(reinterpret_cast<void*>(kItsArea), &header, sizeof header);
  State state = numbered();
  state.flags = 2 | kArithmetic;
  run_with_state(&state, kFunction);
  EXPECT_EQ(state.gpr[0], 0u);
  EXPECT_EQ(state.gpr[2], 0u);
}

// Entries as the shim's: one answers 0x55 behind the call, the other lets the stub make it. They have the flags to keep.
extern "C" {
void answering_entry();
void leaving_entry();
}
asm(R"(
  .text
  .globl answering_entry
answering_entry:
  mov $0x55, %eax
  lea 2(%r11), %rcx
  jmp *%rcx
  .globl leaving_entry
leaving_entry:
  jmp *%r11
)");

TEST_F(StubTest, a_system_call_is_answered_or_made_and_leaves_its_place_in_rcx) {
  // mov $39, %eax; syscall / syscall; cmp $-4095, %rax
  const std::vector<std::uint8_t> loaded = {0xb8, 39, 0, 0, 0, 0x0f, 0x05};
  const std::vector<std::uint8_t> compared = {0x0f, 0x05, 0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff};
  for (const CallSite& site : {CallSite{kFunction, 0, loaded, CallSite::kBehindLoad}, CallSite{kFunction, 0, compared, 0}}) {
    for (const bool answers : {true, false}) {
      std::vector<std::uint8_t> code = site.bytes;
      code.push_back(0xc3);
      put(kFunction, code);
      const auto stub = make_call_stub(site, kItsArea, kRoom);
      ASSERT_TRUE(stub);
      put(kRoom, *stub);
      put(kFunction, make_jump(kFunction, site.bytes.size(), kRoom));
      const auto entry = reinterpret_cast<std::uint64_t>(answers ? &answering_entry : &leaving_entry);
      const protocol::PatchAreaHeader header{0, 0, entry};
      std::memcpy(reinterpret_cast<void*>(kItsArea), &header, sizeof header);
      State state = numbered();
      state.gpr[0] = 39;  // getpid
      state.flags = 2 | kArithmetic;
      const State before = state;
      run_with_state(&state, kFunction);
      EXPECT_EQ(state.gpr[0], answers ? 0x55u : static_cast<std::uint64_t>(getpid()));
      EXPECT_EQ(state.gpr[1], site.next());
      for (const unsigned i : {2u, 3u, 5u, 6u, 7u, 8u, 9u, 10u, 12u, 13u, 14u, 15u}) EXPECT_EQ(state.gpr[i], before.gpr[i]) << i;
      // The comparison has been made: the result is below all errors.
      EXPECT_EQ(state.flags & kArithmetic & 1, 1u);
      EXPECT_EQ((state.flags & kArithmetic) == kArithmetic, site.call_at != 0);
    }
  }
  const CallSite far{kFunction, 0, loaded, CallSite::kBehindLoad};
  EXPECT_FALSE(make_call_stub(far, kItsArea + (1ull << 32), kItsArea + (1ull << 32) + 4096));
}

TEST_F(StubTest, before_the_shim_is_there_system_calls_are_made) {
  const CallSite site{kFunction, 0, {0xb8, 39, 0, 0, 0, 0x0f, 0x05}, CallSite::kBehindLoad};
  put(kFunction + 7, {0xc3});
  put(kRoom, *make_call_stub(site, kItsArea, kRoom));
  put(kFunction, make_jump(kFunction, 7, kRoom));
  put(kItsArea + 4096, make_early_entries());
  const protocol::PatchAreaHeader header{0, kItsArea + 4096, kItsArea + 4096 + kEarlyCallEntry};
  std::memcpy(reinterpret_cast<void*>(kItsArea), &header, sizeof header);
  State state = numbered();
  state.flags = 2;
  run_with_state(&state, kFunction);
  EXPECT_EQ(state.gpr[0], static_cast<std::uint64_t>(getpid()));
}

// The loader's mmap call, with its arguments in rdi, rsi, rdx, r10, r8 and r9.
TEST_F(StubTest, a_file_that_the_loader_reads_in_whole_gets_a_place_and_nothing_else_does) {
  put(kRoom, make_whole_file_stub(kRoom, kFunction));
  put(kFunction, {0xc3});
  const auto asked_for = [](std::uint64_t address, std::uint64_t protection, std::uint64_t flags, std::uint64_t offset) {
    State state = numbered();
    state.gpr[7] = address, state.gpr[2] = protection, state.gpr[10] = flags, state.gpr[9] = offset;
    State before = state;
    run_with_state(&state, kRoom);
    EXPECT_EQ(state.gpr[0], 9u);
    const std::uint64_t found = state.gpr[7];
    before.gpr[0] = state.gpr[0] = before.gpr[7] = state.gpr[7] = 0;
    EXPECT_TRUE(std::ranges::equal(before.gpr, state.gpr));
    return found;
  };
  EXPECT_EQ(asked_for(0, PROT_READ, MAP_PRIVATE, 0), protocol::kLoaderFilesAddress);
  EXPECT_EQ(asked_for(0x1000, PROT_READ, MAP_PRIVATE, 0), 0x1000u);
  EXPECT_EQ(asked_for(0, PROT_READ | PROT_EXEC, MAP_PRIVATE, 0), 0u);
  EXPECT_EQ(asked_for(0, PROT_READ, MAP_PRIVATE | MAP_DENYWRITE, 0), 0u);
  EXPECT_EQ(asked_for(0, PROT_READ, MAP_PRIVATE, 0x1000), 0u);
}

TEST_F(StubTest, out_of_reach_there_is_no_stub) {
  put(kFunction, {0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0xc3});
  const std::span code(reinterpret_cast<const std::uint8_t*>(kFunction), 7);
  const Site site = search_memory(kFunction, std::as_bytes(code)).sites.at(0);
  EXPECT_TRUE(make_stub(site, kItsArea, kItsArea + 4096));
  EXPECT_FALSE(make_stub(site, kItsArea + (1ull << 32), kItsArea + (1ull << 32) + 4096));
}

}  // namespace
}  // namespace verbatim::code
