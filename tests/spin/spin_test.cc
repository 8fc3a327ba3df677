// Spins on memory: proofs, refusals with their reasons, and that the canonical state does not depend on where
// in the loop the analysis starts.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "sim/supervisor/spin/spin_prover.h"
#include "tests/spin/loops.h"
#include "tests/spin/self_memory.h"

namespace verbatim::spin {
namespace {

std::uint64_t own_fs_base() {
  std::uint64_t base;
  asm("mov %%fs:0, %0" : "=r"(base));  // the thread control block points to itself (TLS ABI, variant II)
  return base;
}

bool covers(const std::vector<ByteRun>& runs, std::uint64_t from, std::size_t length) {
  return std::any_of(runs.begin(), runs.end(), [&](const ByteRun& run) {
    return run.address <= from && from + length <= run.address + run.bytes.size();
  });
}

// The program's memory after some instructions; the interpreter's stores override it.
class PatchedMemory : public SelfMemory {
 public:
  bool read(std::uint64_t from, void* to, std::size_t n) override {
    if (!SelfMemory::read(from, to, n)) return false;
    for (const ByteRun& patch : patches) {
      for (std::size_t i = 0; i < patch.bytes.size(); ++i) {
        const std::uint64_t at = patch.address + i - from;
        if (at < n) static_cast<std::uint8_t*>(to)[at] = patch.bytes[i];
      }
    }
    return true;
  }
  std::vector<ByteRun> patches;
};

// Memory after the thread has been moved to the canonical state; bytes that the proof does not write are
// compared as the program would see them.
std::uint64_t value_at(CodeMemory& memory, const SpinProof& proof, std::uint64_t at) {
  for (const ByteRun& run : proof.to_write) {
    if (at - run.address < run.bytes.size()) return run.bytes[at - run.address];
  }
  std::uint8_t byte = 0;
  EXPECT_TRUE(memory.read(at, &byte, 1));
  return byte;
}

// Proves the loop from its start, and then from the states after each of its first `phases` instructions.
SpinProof expect_spin(const Registers& start, unsigned phases = 60) {
  SelfMemory memory;
  SpinProver prover;
  const SpinProof first = prover.prove_spin(start, memory, {});
  EXPECT_TRUE(first.proven) << first.refusal.describe();
  if (!first.proven) return first;
  InterpretedThread thread(memory, start);
  for (unsigned phase = 1; phase <= phases; ++phase) {
    EXPECT_TRUE(thread.interpreter.step());
    Registers now = thread.interpreter.state.registers;
    PatchedMemory later;
    later.patches = thread.view.changes();
    const SpinProof again = prover.prove_spin(now, later, {}, &thread.interpreter.state.vectors);
    EXPECT_TRUE(again.proven) << again.refusal.describe();
    EXPECT_EQ(again.canonical, first.canonical) << "phase " << phase;
    EXPECT_EQ(again.cycle_length, first.cycle_length);
    EXPECT_EQ(again.reads, first.reads) << "phase " << phase;
    EXPECT_EQ(again.writes, first.writes) << "phase " << phase;
    for (const ByteRun& run : first.to_write) {
      for (std::size_t i = 0; i < run.bytes.size(); ++i) {
        EXPECT_EQ(value_at(later, again, run.address + i), run.bytes[i]) << "phase " << phase;
      }
    }
  }
  return first;
}

SpinProof prove(const Registers& start, Limits limits = {}) {
  SelfMemory memory;
  SpinProver prover;
  return prover.prove_spin(start, memory, limits);
}

struct Spin : testing::Test {
  LoopState state{};
  TestStack stack;
};

// The same test for the loops of both optimisation levels.
#define BOTH(test, ...)       \
  TEST_F(Spin, test##_o0) {   \
    using namespace loops_o0; \
    __VA_ARGS__               \
  }                           \
  TEST_F(Spin, test##_o2) {   \
    using namespace loops_o2; \
    __VA_ARGS__               \
  }

BOTH(flag_is_proven_and_depends_on_the_flag, {
  const SpinProof proof = expect_spin(stack.call(flag_spin, address(&state)));
  EXPECT_TRUE(covers(proof.reads, address(&state.flag), 1));
  EXPECT_FALSE(covers(proof.reads, address(&state.state), 1));
  EXPECT_TRUE(proof.writes.empty());
})

BOTH(two_locations_of_perftest_are_proven, {
  const SpinProof proof = expect_spin(stack.call(two_locations, address(&state), 0x105));
  EXPECT_TRUE(covers(proof.reads, address(&state.flag), 1));
  EXPECT_TRUE(covers(proof.reads, address(&state.state), 4));
})

BOTH(two_locations_of_perftest_end_when_the_state_says_so, {
  state.state = 3;
  EXPECT_EQ(prove(stack.call(two_locations, address(&state), 5)).refusal.reason, Reason::kUnreadable);
})

BOTH(pause_is_proven, { expect_spin(stack.call(pause_spin, address(&state))); })

BOTH(call_is_proven_because_its_pushes_are_silent, {
  const SpinProof proof = expect_spin(stack.call(call_spin, address(&state)));
  EXPECT_FALSE(proof.writes.empty());
})

BOTH(xchg_lock_is_proven_and_depends_on_the_lock, {
  state.lock = 1;
  const SpinProof proof = expect_spin(stack.call(xchg_lock, address(&state)));
  EXPECT_TRUE(covers(proof.reads, address(&state.lock), 4));
  EXPECT_TRUE(covers(proof.writes, address(&state.lock), 4));
  EXPECT_EQ(state.lock, 1);
})

BOTH(xchg_lock_that_is_free_is_taken, {
  const SpinProof proof = prove(stack.call(xchg_lock, address(&state)));
  EXPECT_EQ(proof.refusal.reason, Reason::kUnreadable);
  EXPECT_EQ(proof.refusal.rip, TestStack::kNowhere);
  EXPECT_EQ(state.lock, 0) << "the program's memory was changed";
})

BOTH(cmpxchg_lock_is_proven_and_depends_on_the_lock, {
  state.lock = 1;
  const SpinProof proof = expect_spin(stack.call(cmpxchg_lock, address(&state)));
  EXPECT_TRUE(covers(proof.reads, address(&state.lock), 4));
})

BOTH(vector_comparison_is_proven, {
  const SpinProof proof = expect_spin(stack.call(vector_spin, address(&state)));
  EXPECT_TRUE(covers(proof.reads, address(&state.block), 16));
})

BOTH(toggle_has_one_canonical_state_of_two_that_differ_in_memory, {
  const SpinProof even = expect_spin(stack.call(toggling_spin, address(&state)), 120);
  SelfMemory memory;
  EXPECT_EQ(value_at(memory, even, address(&state.toggle)), 0u);
  state.toggle = 1;
  const SpinProof odd = prove(stack.call(toggling_spin, address(&state)));
  ASSERT_TRUE(odd.proven);
  EXPECT_EQ(odd.canonical, even.canonical);
  EXPECT_EQ(value_at(memory, odd, address(&state.toggle)), 0u);
})

BOTH(counter_that_runs_out_is_not_proven, {
  EXPECT_EQ(prove(stack.call(counted, address(&state), 50)).refusal.reason, Reason::kUnreadable);
  EXPECT_EQ(prove(stack.call(counted, address(&state), 1'000'000'000)).refusal.reason, Reason::kNoRecurrence);
})

BOTH(counter_in_a_register_is_not_proven, {
  EXPECT_EQ(prove(stack.call(register_counter, address(&state))).refusal.reason, Reason::kNoRecurrence);
})

BOTH(counter_in_memory_is_not_proven, {
  EXPECT_EQ(prove(stack.call(memory_counter, address(&state))).refusal.reason, Reason::kNoRecurrence);
  EXPECT_EQ(state.counter, 0);
})

BOTH(copy_is_not_proven, {
  std::vector<char> from(100'000, 'a');
  std::vector<char> to(100'000);
  const SpinProof proof = prove(stack.call(copy, address(to.data()), address(from.data()), 100'000));
  EXPECT_EQ(proof.refusal.reason, Reason::kNoRecurrence);
  EXPECT_EQ(to[0], 0);
})

BOTH(copy_of_much_ends_at_the_limit_of_pages, {
  std::vector<char> from(100'000, 'a');
  std::vector<char> to(100'000);
  Limits limits;
  limits.pages = 4;
  limits.steps = 1'000'000;
  EXPECT_EQ(prove(stack.call(copy, address(to.data()), address(from.data()), 100'000), limits).refusal.reason,
            Reason::kTooMuchMemory);
})

BOTH(clock_read_is_refused, {
  const SpinProof proof = prove(stack.call(clock_spin, address(&state)));
  EXPECT_EQ(proof.refusal.reason, Reason::kClockRead);
  EXPECT_NE(proof.refusal.describe().find("time stamp counter or a clock (rdtsc) at 0x"), std::string::npos)
      << proof.refusal.describe();
})

BOTH(system_call_is_refused,
     { EXPECT_EQ(prove(stack.call(yield_spin, address(&state))).refusal.reason, Reason::kSystemCall); })

BOTH(cpuid_is_refused,
     { EXPECT_EQ(prove(stack.call(cpuid_spin, address(&state))).refusal.reason, Reason::kCpuid); })

BOTH(floating_point_is_refused_by_name, {
  const SpinProof proof = prove(stack.call(float_spin, address(&state)));
  EXPECT_EQ(proof.refusal.reason, Reason::kUnsupported);
  EXPECT_EQ(proof.refusal.mnemonic, "mulsd");
})

BOTH(thread_local_variable_is_read_through_fs, {
  own = 0;
  Registers start = stack.call(thread_local_spin);
  start.fs_base = own_fs_base();
  const SpinProof proof = expect_spin(start);
  EXPECT_TRUE(covers(proof.reads, address(&own), 4));
})

BOTH(library_is_not_entered, {
  Limits limits;
  const MemoryRange ranges[] = {{address(reinterpret_cast<void*>(flag_spin)), 1}};
  limits.libraries = ranges;
  EXPECT_EQ(prove(stack.call(flag_spin, address(&state)), limits).refusal.reason, Reason::kLibraryCall);
})

TEST_F(Spin, pthread_spin_lock_is_proven_and_depends_on_the_lock) {
  pthread_spinlock_t lock;
  pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
  pthread_spin_lock(&lock);
  const SpinProof proof = expect_spin(stack.call(pthread_spin_lock, address(&lock)), 30);
  EXPECT_TRUE(covers(proof.reads, address(&lock), 4));
}

// A spin in code that an earlier analysis has decoded, but that has changed since.
TEST_F(Spin, code_that_changed_is_decoded_anew) {
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  const std::uint8_t spin[] = {0xf3, 0x90, 0xeb, 0xfc};   // pause; jmp -4
  const std::uint8_t count[] = {0xff, 0xc0, 0xeb, 0xfc};  // inc eax; jmp -4
  std::memcpy(page, spin, sizeof spin);
  SelfMemory memory;
  SpinProver prover;
  Registers start;
  start.rip = address(page);
  EXPECT_TRUE(prover.prove_spin(start, memory, {}).proven);
  std::memcpy(page, count, sizeof count);
  EXPECT_EQ(prover.prove_spin(start, memory, {}).refusal.reason, Reason::kNoRecurrence);
  // Code declared unchanged is not read again until it is invalidated.
  std::memcpy(page, spin, sizeof spin);
  EXPECT_TRUE(prover.prove_spin(start, memory, {}).proven);
  memory.fixed_code = true;
  std::memcpy(page, count, sizeof count);
  EXPECT_TRUE(prover.prove_spin(start, memory, {}).proven);
  prover.invalidate();
  EXPECT_FALSE(prover.prove_spin(start, memory, {}).proven);
  munmap(page, 4096);
}

TEST_F(Spin, code_that_writes_itself_is_refused) {
  alignas(4096) static std::uint8_t page[4096];
  const std::uint8_t code[] = {0x88, 0x05, 0x10, 0, 0, 0, 0xeb, 0xf8};  // mov [rip+16], al; jmp -8
  std::memcpy(page, code, sizeof code);
  Registers start;
  start.rip = address(page);
  EXPECT_EQ(prove(start).refusal.reason, Reason::kWritesCode);
}

TEST_F(Spin, code_that_was_written_before_it_is_reached_is_refused) {
  alignas(4096) static std::uint8_t pages[8192];
  // mov byte [rip + x], 0xeb (at the start of the second page); then a jump there, to a one-byte NOP and a
  // spin.
  const std::uint8_t first[] = {0xc6, 0x05, 0xf9, 0x0f, 0, 0, 0xeb, 0xe9, 0xf4, 0x0f, 0, 0};
  const std::uint8_t second[] = {0x90, 0xeb, 0xfd};
  std::memcpy(pages, first, sizeof first);
  std::memcpy(pages + 4096, second, sizeof second);
  Registers start;
  start.rip = address(pages + 7);
  EXPECT_TRUE(prove(start).proven) << "without the store";
  start.rip = address(pages);
  EXPECT_EQ(prove(start).refusal.reason, Reason::kWritesCode);
}

TEST_F(Spin, code_that_was_missing_is_looked_for_again) {
  void* const pages = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  std::memcpy(static_cast<char*>(pages) + 4095, "\xeb\xfe", 2);  // jmp to itself, across the pages
  SelfMemory memory;
  memory.fixed_code = true;
  SpinProver prover;
  Registers start;
  start.rip = address(pages) + 4095;
  for (const std::size_t hidden : {std::size_t{4096}, std::size_t{8192}}) {
    // Hides the second page, then both.
    ASSERT_EQ(mprotect(static_cast<char*>(pages) + 8192 - hidden, hidden, PROT_NONE), 0);
    prover.invalidate();
    EXPECT_EQ(prover.prove_spin(start, memory, {}).refusal.reason, Reason::kUnreadable);
    ASSERT_EQ(mprotect(pages, 8192, PROT_READ | PROT_WRITE), 0);
    EXPECT_TRUE(prover.prove_spin(start, memory, {}).proven);
  }
  munmap(pages, 8192);
}

// A second analysis of known code is only faster.
TEST_F(Spin, second_analysis_gives_the_same) {
  SelfMemory memory;
  SpinProver prover;
  const Registers start = stack.call(loops_o0::two_locations, address(&state), 5);
  const SpinProof cold = prover.prove_spin(start, memory, {});
  const SpinProof warm = prover.prove_spin(start, memory, {});
  EXPECT_EQ(cold.canonical, warm.canonical);
  EXPECT_EQ(cold.steps, warm.steps);
  EXPECT_EQ(cold.reads, warm.reads);
  EXPECT_EQ(cold.to_write, warm.to_write);
}

TEST_F(Spin, context_keeps_every_register) {
  gregset_t context{};
  for (int i = 0; i < NGREG; ++i) context[i] = 0x1000 + i;
  context[REG_EFL] = 0x246 | kDirectionFlag;
  Registers registers = from_context(context, 77);
  EXPECT_EQ(registers.gpr[kRbx], static_cast<std::uint64_t>(context[REG_RBX]));
  EXPECT_EQ(registers.flags, std::uint64_t{kZf | kPf | kDirectionFlag});
  gregset_t back{};
  back[REG_EFL] = 0x202 | kDirectionFlag | kCf;
  to_context(registers, back);
  EXPECT_EQ(back[REG_EFL], 0x246 | kDirectionFlag);
  for (const int index : {REG_R8, REG_R15, REG_RDI, REG_RAX, REG_RSP, REG_RIP})
    EXPECT_EQ(back[index], context[index]);
}

#undef BOTH

}  // namespace
}  // namespace verbatim::spin
