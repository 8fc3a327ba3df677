// Work requests that the processor pushes behind its doorbell (BlueFlame): when they are decoded, and which
// are not pushed.
#include <gtest/gtest.h>

#include "sim/host/dma_engine.h"
#include "tests/hca/driver.h"

namespace verbatim::test {
namespace {

constexpr std::uint32_t kMost = 256, kHeader = 36;

PairOptions pushing() {
  PairOptions options;
  options.world.profile.blueflame_bytes = kMost;
  options.world.profile.pcie.write_combining_delay = Duration{40'000};
  options.capabilities.max_inline_data = 512;
  return options;
}

SendRequest inline_write(const Pair& pair, std::uint32_t bytes) {
  return {.opcode = WqeOpcode::kRdmaWrite,
          .flags = protocol::kWqeSignaled | protocol::kWqeInline,
          .inline_data = std::vector<std::byte>(bytes, std::byte{0x5a}),
          .remote_va = Program::kBuffer,
          .rkey = pair.b.mr.rkey};
}

// From the doorbell of one request until it is decoded.
std::int64_t decoded_after(const PairOptions& options, std::uint32_t bytes, std::int64_t* posted = nullptr) {
  Pair pair(options);
  pair.world.run();
  const std::int64_t start = pair.world.now_ps();
  if (posted != nullptr) *posted = start;
  pair.a.program.post_send(pair.a.qp, inline_write(pair, bytes));
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 1u);
  return pair.world.trace.all(TraceEvent::kWqeFetched).at(0).time_ps - start;
}

// The pushed lines, rounded up to whole ones, one direction, the doorbell stage and the decode stage, from
// edge to edge.
std::int64_t pushed_formula(const PairOptions& options, std::int64_t start, std::uint32_t bytes) {
  const hca::HcaProfile& profile = options.world.profile;
  const std::uint32_t lines = (kHeader + bytes + 63) / 64;
  const Duration lane =
      host::tlp_byte_time(profile.pcie).time_for(lines * (64 + profile.pcie.write_header_bytes));
  const ClockDomain clock(profile.core_clock_hz);
  Instant at =
      instant_from_ps(start) + profile.pcie.write_combining_delay + lane + profile.pcie.one_way_latency;
  for (const hca::Stage& stage : {profile.doorbell, profile.wqe_decode})
    at = clock.edge(clock.next_edge_number(at) + stage.latency_cycles);
  return to_ps(at) - start;
}

TEST(PushTest, a_single_inline_request_is_decoded_without_a_fetch) {
  for (const std::uint32_t bytes : {0u, 8u, 28u, 29u, 92u, kMost - kHeader}) {
    std::int64_t start = 0;
    const std::int64_t took = decoded_after(pushing(), bytes, &start);
    EXPECT_EQ(took, pushed_formula(pushing(), start, bytes)) << bytes << " bytes";
  }
}

TEST(PushTest, a_longer_one_is_fetched) {
  PairOptions fetching = pushing();
  fetching.world.profile.blueflame_bytes = 0;
  EXPECT_EQ(decoded_after(pushing(), kMost - kHeader + 1), decoded_after(fetching, kMost - kHeader + 1));
  EXPECT_LT(decoded_after(pushing(), kMost - kHeader), decoded_after(fetching, kMost - kHeader));
}

TEST(PushTest, requests_of_one_doorbell_are_fetched_together) {
  Pair pair(pushing());
  pair.a.program.write_send(pair.a.qp, inline_write(pair, 8));
  pair.a.program.write_send(pair.a.qp, inline_write(pair, 8));
  const std::int64_t start = pair.world.now_ps();
  pair.a.program.ring(pair.a.qp);
  pair.world.run();
  const auto decoded = pair.world.trace.all(TraceEvent::kWqeFetched);
  ASSERT_EQ(decoded.size(), 2u);
  const host::PcieProfile& pcie = pair.options.world.profile.pcie;
  EXPECT_GT(decoded[0].time_ps - start, to_ps(3 * pcie.one_way_latency + pcie.memory_read_latency));
}

// A pushed request behind fetched ones of its queue pair must not pass them.
TEST(PushTest, order_holds_between_pushed_and_fetched_requests) {
  Pair pair(pushing());
  SendRequest plain = inline_write(pair, 8);
  plain.flags = protocol::kWqeSignaled;
  plain.inline_data.clear();
  plain.sges = {pair.a.sge(0, 64)};
  for (int i = 0; i < 20; ++i) {
    SendRequest request = i % 3 == 0 ? plain : inline_write(pair, 8);
    request.wr_id = static_cast<std::uint64_t>(i);
    pair.a.program.post_send(pair.a.qp, request);
    pair.world.run_for(Duration{i * 20'000});
  }
  pair.world.run();
  const auto entries = pair.a.program.drain(pair.a.send_cq);
  ASSERT_EQ(entries.size(), 20u);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(entries[i].wr_id, i);
    EXPECT_EQ(entries[i].status, 0);
  }
}

TEST(PushTest, a_doorbell_waits_for_the_push_before_it) {
  Engine engine;
  host::PcieProfile profile;
  profile.write_combining_delay = Duration{40'000};
  host::DmaEngine dma(engine, ComponentId{0}, profile);
  Trail nobody;
  EXPECT_EQ(to_ps(dma.ring(nobody)), to_ps(profile.one_way_latency));
  const Instant pushed = dma.push(44, nobody);
  EXPECT_EQ(pushed, instant_from_ps(40'000) + host::tlp_byte_time(profile).time_for(44 + 24) +
                        profile.one_way_latency);
  EXPECT_EQ(dma.ring(nobody), pushed);
}

// The entry of a receive: the payload of one packet leaves first, then the completion stage begins.
TEST(ReceiveCompletionTest, the_stage_takes_it_when_the_payload_has_left) {
  constexpr std::uint32_t kBytes = 4096;
  std::int64_t visible[2];
  for (const bool after : {false, true}) {
    PairOptions options;
    options.world.profile.receive_completion_after_payload = after;
    options.world.profile.completion = {40, 2};
    Pair pair(options);
    pair.b.program.post_recv(pair.b.qp, 0, {pair.b.sge(0, kBytes)});
    pair.world.run();
    pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, kBytes)}});
    pair.world.run();
    visible[after ? 1 : 0] = pair.b.program.poll(pair.b.recv_cq).value().visible_at_ps;
  }
  // 4096 bytes are 16 TLPs of 256 + 24 bytes, 284.375 ns, longer than 40 cycles of 2.5 ns; the entry follows
  // them at once, or 40 cycles after the next edge.
  const std::int64_t later = visible[1] - visible[0];
  EXPECT_GE(later, 40 * 2'500);
  EXPECT_LT(later, 41 * 2'500);
}

}  // namespace
}  // namespace verbatim::test
