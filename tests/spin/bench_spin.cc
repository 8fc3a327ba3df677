// Duration of an analysis: nanoseconds per instruction, microseconds for perftest's loop.
#include <benchmark/benchmark.h>

#include "sim/supervisor/spin/kept_proofs.h"
#include "sim/supervisor/spin/spin_prover.h"
#include "tests/spin/loops.h"
#include "tests/spin/self_memory.h"

namespace verbatim::spin {
namespace {

constexpr std::uint64_t kPoll = 0x7fff'1000;

void instruction(benchmark::State& bench) {
  LoopState state{};
  TestStack stack;
  SelfMemory memory;
  SpinProver prover;
  Limits limits;
  limits.steps = 1'000'000;
  std::int64_t steps = 0;
  for (auto _ : bench) {
    steps += prover.prove_spin(stack.call(loops_o2::memory_counter, address(&state)), memory, limits).steps;
  }
  bench.counters["ns_per_instruction"] = benchmark::Counter(
      static_cast<double>(steps) * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(instruction)->Unit(benchmark::kMillisecond);

void perftest_loop(benchmark::State& bench, bool cold) {
  LoopState state{};
  TestStack stack;
  SelfMemory memory;
  memory.fixed_code = true;
  SpinProver prover;
  for (auto _ : bench) {
    if (cold) prover.invalidate();
    const SpinProof proof =
        prover.prove_spin(stack.call(loops_o2::two_locations, address(&state), 5), memory, {});
    if (!proof.proven) bench.SkipWithError("not proven");
  }
}
BENCHMARK_CAPTURE(perftest_loop, cold, true)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(perftest_loop, cached, false)->Unit(benchmark::kMicrosecond);

void poll_loop(benchmark::State& bench, bool cold, bool only_recheck) {
  struct {
    TestStack stack;
    LoopState state{};
  } program;
  auto& [stack, state] = program;
  state.poll = reinterpret_cast<int (*)(void*, int, void*)>(kPoll);
  SelfMemory memory;
  memory.fixed_code = true;
  SpinProver prover;
  const auto is_poll = [](std::uint64_t rip) {
    return rip == kPoll ? std::optional(PollEntry{}) : std::nullopt;
  };
  // The registers at the first poll, found by executing the loop's beginning.
  InterpretedThread thread(memory, stack.call(loops_o2::poll_with_flag, address(&state)));
  const Registers& now = thread.interpreter.state.registers;
  while (now.rip != kPoll) {
    if (!thread.interpreter.step()) return bench.SkipWithError("stopped");
  }
  thread.write_changes();
  const Registers entry = now;
  const PollLoopProof proof = prover.prove_poll_loop(entry, is_poll, memory, {});
  for (auto _ : bench) {
    if (cold) prover.invalidate();
    if (only_recheck ? !still_holds(proof, entry, memory)
                     : !prover.prove_poll_loop(entry, is_poll, memory, {}).proven) {
      bench.SkipWithError("not proven");
    }
  }
}
BENCHMARK_CAPTURE(poll_loop, cold, true, false)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(poll_loop, cached, false, false)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(poll_loop, recheck, false, true)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace verbatim::spin

BENCHMARK_MAIN();
