// The seccomp filter of simulated processes, interpreted as the kernel would: calls permitted from the gate,
// calls permitted from elsewhere, and the number of instructions.
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "verbs_shim/protocol/gate_calls.h"
#include "verbs_shim/protocol/passing_calls.h"
#include "verbs_shim/runtime/runtime.h"

namespace verbatim::shim {

bool install_filter();

namespace {
std::uint32_t checks_of_process = 0;
std::vector<sock_filter> installed;
}  // namespace

// Replaces the shim's function.
std::uint32_t checks() { return checks_of_process; }

}  // namespace verbatim::shim

extern "C" __attribute__((visibility("hidden"), used)) long keep_filter(long number, long, long, const sock_fprog* program) {
  if (number == SYS_seccomp) verbatim::shim::installed.assign(program->filter, program->filter + program->len);
  return 0;
}

// Replaces the shim's gate, which would install the filter.
asm(R"(
  .pushsection .text
  .balign 4096
  .globl verbatim_gate
  .hidden verbatim_gate
verbatim_gate:
  jmp keep_filter
  .org 4096 + verbatim_gate, 0xcc
  .popsection
)");
extern "C" __attribute__((visibility("hidden"))) const unsigned char verbatim_gate[];

namespace verbatim {
namespace {

using protocol::CallClass;

struct Call {
  std::uint32_t number;
  std::uint64_t address = 0x5555'5555'5000;
  std::array<std::uint64_t, 6> arguments{};
  std::uint32_t architecture = AUDIT_ARCH_X86_64;
};

struct Answer {
  std::uint32_t action;
  int instructions;
};

std::uint64_t in_gate() { return reinterpret_cast<std::uint64_t>(verbatim_gate) + 24; }

// The instructions used by the filter: BPF_LD from the description of the call, jumps, and BPF_RET.
Answer follow(const std::vector<sock_filter>& filter, const Call& call) {
  seccomp_data data{static_cast<int>(call.number), call.architecture, call.address, {}};
  std::ranges::copy(call.arguments, data.args);
  std::uint32_t value = 0;
  int instructions = 0;
  for (std::size_t at = 0; at < filter.size();) {
    const sock_filter& one = filter[at++];
    ++instructions;
    switch (one.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&value, reinterpret_cast<const std::byte*>(&data) + one.k, sizeof value);
        break;
      case BPF_RET | BPF_K:
        return {one.k, instructions};
      case BPF_JMP | BPF_JA:
        at += one.k;
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        at += value == one.k ? one.jt : one.jf;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        at += value >= one.k ? one.jt : one.jf;
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        at += (value & one.k) != 0 ? one.jt : one.jf;
        break;
      default:
        ADD_FAILURE() << "instruction " << one.code;
        return {0, instructions};
    }
  }
  ADD_FAILURE() << "the filter's end was reached";
  return {0, instructions};
}

std::vector<sock_filter> filter_of(std::uint32_t checks) {
  shim::checks_of_process = checks;
  EXPECT_TRUE(shim::install_filter());
  return shim::installed;
}

bool passes(const std::vector<sock_filter>& filter, const Call& call) {
  const std::uint32_t action = follow(filter, call).action;
  EXPECT_TRUE(action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_TRAP) << call.number;
  return action == SECCOMP_RET_ALLOW;
}

TEST(Filter, lets_the_gates_calls_pass_and_no_others) {
  for (const bool lets_unknown_calls : {false, true}) {
    const auto filter = filter_of(lets_unknown_calls ? protocol::kLetsUnknownCalls : 0);
    for (std::uint32_t number = 0; number < 600; ++number) {
      Call call{number, in_gate()};
      const protocol::GateCall* const row = protocol::gate_call(number);
      if (row != nullptr && row->rule != protocol::GateRule::kAny) {
        call.arguments[static_cast<std::size_t>(row->argument)] = row->values[0];
      }
      EXPECT_EQ(passes(filter, call), protocol::gate_allows(number, lets_unknown_calls)) << number;
      EXPECT_FALSE(passes(filter, {0x4000'0000 | number, in_gate()})) << number;
      for (const std::uint32_t architecture : {std::uint32_t{AUDIT_ARCH_I386}, std::uint32_t{AUDIT_ARCH_AARCH64}}) {
        EXPECT_FALSE(passes(filter, {number, in_gate(), {}, architecture})) << number;
      }
    }
    EXPECT_FALSE(passes(filter, {~0u, in_gate()}));
  }
}

TEST(Filter, lets_the_gates_calls_pass_with_the_values_of_the_table) {
  const auto filter = filter_of(0);
  for (const protocol::GateCall& row : protocol::kGateCalls) {
    if (row.rule == protocol::GateRule::kAny) continue;
    Call call{row.number, in_gate()};
    auto& argument = call.arguments[static_cast<std::size_t>(row.argument)];
    if (row.rule == protocol::GateRule::kHasBits) {
      EXPECT_FALSE(passes(filter, call)) << row.number;
      for (std::uint64_t bit = 1; bit <= 1u << 31; bit *= 2) {
        argument = bit;
        EXPECT_EQ(passes(filter, call), (bit & row.values[0]) != 0) << row.number << ": " << bit;
        argument = row.values[0] | bit;
        EXPECT_EQ(passes(filter, call), (bit & row.values[1]) == 0) << row.number << ": " << bit;
      }
      continue;
    }
    for (std::uint32_t value = 0; value < 0x6000; ++value) {
      argument = value;
      const auto* const end = row.values + row.count;
      EXPECT_EQ(passes(filter, call), std::find(row.values, end, value) != end) << row.number << ": " << value;
    }
  }
}

// The gate is one page; addresses just before or behind it do not belong to it.
TEST(Filter, knows_the_gate_by_its_page) {
  const auto filter = filter_of(0);
  const auto gate = reinterpret_cast<std::uint64_t>(verbatim_gate);
  const auto passes_at = [&](std::uint64_t address) { return passes(filter, {SYS_futex, address}); };
  EXPECT_TRUE(passes_at(gate));
  EXPECT_TRUE(passes_at(gate + 4095));
  EXPECT_FALSE(passes_at(gate - 1));
  EXPECT_FALSE(passes_at(gate + 4096));
  EXPECT_FALSE(passes_at(gate + (1ull << 32)));
}

TEST(Filter, lets_a_program_pass_with_what_the_tables_say) {
  const auto filter = filter_of(0);
  int most = 0;
  for (std::uint32_t number = 0; number < 600; ++number) {
    const CallClass call_class = protocol::system_call(number).call_class;
    Call call{number};
    if (const auto* row = protocol::passing_call(number); row != nullptr && row->argument >= 0) {
      call.arguments[static_cast<std::size_t>(row->argument)] = row->values[0];
    }
    const Answer answer = follow(filter, call);
    const bool is_let_through = call_class == CallClass::kPassing || call_class == CallClass::kByArgument ||
                                call_class == CallClass::kByProtection;
    EXPECT_EQ(answer.action == SECCOMP_RET_ALLOW, is_let_through) << number;
    if (is_let_through) most = std::max(most, answer.instructions);
  }
  // The instructions run for every call of that kind.
  EXPECT_LE(most, 32);
  EXPECT_LE(std::bit_width(filter.size()), 10);
}

}  // namespace
}  // namespace verbatim
