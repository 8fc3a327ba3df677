// Flows between two adapters and one switch: when they finish, to the picosecond, and how they fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sim/ib/segmentation.h"
#include "sim/workload/workload.h"
#include "tests/hca/driver.h"
#include "tests/hca/requests.h"
#include "tests/hca/terms.h"

namespace verbatim::workload {
namespace {

using ib::WcStatus;
using test::Terms;
using test::World;
using test::WorldOptions;

FlowPaths paths() {
  FlowPaths paths;
  paths.there.address.dlid = 2;
  paths.back.address.dlid = 1;
  paths.there.address.port = paths.back.address.port = 1;
  paths.there.reads = paths.back.reads = 16;
  return paths;
}

WorldOptions over_a_switch() {
  WorldOptions options;
  options.with_switch = true;
  options.record = false;
  return options;
}

Flow& add(Workload& workload, World& world, const FlowParams& params) {
  return workload.add(world.engine, *world.client, *world.server, paths(), params);
}

// The finish of one WRITE of this size, computed by hand: 100 Gbps, MTU 4096, an idle fabric, no credit
// updates in the direction of the data.
//   start + doorbell + fetch of the work request + gather of the first packet
//   + all packets one behind the other on the first cable: bytes × wire overhead / rate
//   + the last one over switch and second cable + the acknowledgement back + the completion entry
std::int64_t finish_time(const Terms& x, std::int64_t start, std::int64_t bytes) {
  constexpr std::int64_t kMtu = 4096, kSendEntry = 128, kCqe = 64, kLrh = 8, kReth = 16;
  constexpr std::int64_t kOverhead = 8 + 12 + 4 + 2;             // LRH, BTH, ICRC, VCRC
  constexpr std::int64_t kAcknowledgement = 8 + 12 + 4 + 4 + 2;  // with AETH
  const std::int64_t packets = (bytes + kMtu - 1) / kMtu, last = bytes - (packets - 1) * kMtu;
  const auto padded = [](std::int64_t length) { return (length + 3) / 4 * 4; };
  const auto propagation = to_ps(x.link.propagation);
  const auto through_switch = [&](std::int64_t head) {
    return Terms::after(head, x.switch_profile.core_clock_hz, x.switch_profile.cut_through_cycles);
  };

  std::int64_t t = x.stage(start + x.one_way(), x.profile.doorbell);
  t = x.stage(t + x.dma_read(kSendEntry), x.profile.wqe_decode);
  // The first packet's bytes: one request out, memory, all completions back to back, as those of the later
  // requests are ready.
  const std::int64_t first = std::min(bytes, kMtu), most = x.profile.pcie.max_payload_bytes;
  const std::int64_t completions = (first + most - 1) / most;
  t += x.dma_read(
      static_cast<std::uint64_t>(first + (completions - 1) * x.profile.pcie.completion_header_bytes));
  t = x.stage(t, x.profile.packetize);
  // Packets leave one behind the other. Each may wait for an edge of the switch's clock, and what one loses
  // the next ones lose. A short last one also waits for the interval of the server's check.
  const std::int64_t interval =
      Terms::after(0, x.profile.core_clock_hz, x.profile.receive_check.interval_cycles);
  std::int64_t at_output = 0, checked = 0;
  for (std::int64_t i = 0; i < packets; ++i) {
    const std::int64_t payload = i + 1 == packets ? padded(last) : kMtu;
    const std::int64_t wire = x.wire(static_cast<std::uint64_t>(payload + kOverhead + (i == 0 ? kReth : 0)));
    at_output = std::max(at_output, through_switch(t + x.wire(kLrh) + propagation)) + wire;
    checked = std::max(x.stage(at_output + propagation, x.profile.receive_check), checked + interval);
    t += wire;
  }
  t = x.stage(checked, x.profile.acknowledge);
  t = through_switch(t + x.wire(kLrh) + propagation) + x.wire(kAcknowledgement) + propagation;
  return x.stage(x.stage(t, x.profile.receive_check), x.profile.completion) + x.dma_write(kCqe);
}

TEST(FlowTest, w1_finishes_when_the_formula_says) {
  for (const std::int64_t bytes : {64ll, 4096ll, 4097ll, 100'000ll, 1ll << 20, 1'000'000'000ll}) {
    SCOPED_TRACE(bytes);
    World world(over_a_switch());
    Workload workload;
    FlowParams params;
    params.bytes = static_cast<std::uint64_t>(bytes);
    params.message_bytes = 1 << 30;
    params.start = instant_from_ps(7'000'123);
    Flow& flow = add(workload, world, params);
    EXPECT_FALSE(workload.is_done());
    world.run();
    EXPECT_TRUE(workload.is_done());
    const Terms x{test::test_profile(), test::test_link(), {}};
    EXPECT_EQ(to_ps(flow.finish()), finish_time(x, 7'000'123, bytes));
  }
}

// The same of one READ: the request there, then the packets of the response back. The completion entry leaves behind
// the payload's write.
std::int64_t finish_time_of_read(const Terms& x, std::int64_t start, std::int64_t bytes) {
  constexpr std::int64_t kMtu = 4096, kSendEntry = 128, kCqe = 64, kLrh = 8, kReth = 16, kAeth = 4;
  constexpr std::int64_t kOverhead = 8 + 12 + 4 + 2;  // LRH, BTH, ICRC, VCRC
  const std::int64_t packets = (bytes + kMtu - 1) / kMtu, last = bytes - (packets - 1) * kMtu;
  const auto propagation = to_ps(x.link.propagation);
  const auto through_switch = [&](std::int64_t head) {
    return Terms::after(head, x.switch_profile.core_clock_hz, x.switch_profile.cut_through_cycles);
  };
  std::int64_t t = x.stage(start + x.one_way(), x.profile.doorbell);
  t = x.stage(t + x.dma_read(kSendEntry), x.profile.wqe_decode);
  t = x.stage(t, x.profile.packetize);
  t = through_switch(t + x.wire(kLrh) + propagation) + x.wire(kOverhead + kReth) + propagation;
  t = x.stage(t, x.profile.receive_check);
  const std::int64_t first = std::min(bytes, kMtu), most = x.profile.pcie.max_payload_bytes;
  const std::int64_t completions = (first + most - 1) / most;
  t += x.dma_read(static_cast<std::uint64_t>(first + (completions - 1) * x.profile.pcie.completion_header_bytes));
  t = x.stage(t, x.profile.packetize);
  const std::int64_t interval = Terms::after(0, x.profile.core_clock_hz, x.profile.receive_check.interval_cycles);
  std::int64_t at_output = 0, checked = 0, written = 0;
  for (std::int64_t i = 0; i < packets; ++i) {
    const std::int64_t length = i + 1 == packets ? last : kMtu, payload = (length + 3) / 4 * 4;
    const bool has_aeth = i == 0 || i + 1 == packets;
    const std::int64_t wire = x.wire(static_cast<std::uint64_t>(payload + kOverhead + (has_aeth ? kAeth : 0)));
    at_output = std::max(at_output, through_switch(t + x.wire(kLrh) + propagation)) + wire;
    checked = std::max(x.stage(at_output + propagation, x.profile.receive_check), checked + interval);
    t += wire;
    const std::int64_t writes = (length + most - 1) / most;
    const std::int64_t on_pcie = length + writes * x.profile.pcie.write_header_bytes;
    written = std::max(written, checked) + x.pcie(static_cast<std::uint64_t>(on_pcie));
  }
  return std::max(x.stage(checked, x.profile.completion), written) + x.dma_write(kCqe);
}

TEST(FlowTest, r1_finishes_when_the_formula_says) {
  for (const std::int64_t bytes : {64ll, 4096ll, 4097ll, 100'000ll, 1ll << 20}) {
    SCOPED_TRACE(bytes);
    World world(over_a_switch());
    Workload workload;
    FlowParams params;
    params.bytes = static_cast<std::uint64_t>(bytes);
    params.message_bytes = 1 << 30;
    params.start = instant_from_ps(7'000'123);
    params.operation = hca::SourceWork::Operation::kRead;
    Flow& flow = add(workload, world, params);
    world.run();
    EXPECT_TRUE(workload.is_done());
    EXPECT_EQ(flow.status(), WcStatus::kSuccess);
    const Terms x{test::test_profile(), test::test_link(), {}};
    EXPECT_EQ(to_ps(flow.finish()), finish_time_of_read(x, 7'000'123, bytes));
  }
}

TEST(FlowTest, w1_in_numbers) {
  const Terms x{test::test_profile(), test::test_link(), {}};
  // 244,141 packets, 26 bytes more each and 16 in the first, 80 ps a byte: 80.5078 ms, plus the path.
  constexpr std::int64_t kWire = (1'000'000'000ll + 244'141ll * 26 + 16) * 80;
  EXPECT_EQ(kWire, 80'507'814'560);
  const std::int64_t rest = finish_time(x, 0, 1'000'000'000) - kWire;
  EXPECT_GT(rest, 1'000'000);
  EXPECT_LT(rest, 3'000'000) << "the way there and back takes microseconds";
}

TEST(FlowTest, every_byte_is_acknowledged_whatever_the_messages_and_queue_pairs) {
  using Operation = hca::SourceWork::Operation;
  for (const auto operation : {Operation::kWrite, Operation::kSend, Operation::kRead}) {
    for (const std::uint32_t queue_pairs : {1u, 2u, 7u}) {
      for (const std::uint32_t message : {100u, 4'096u, 50'000u}) {
        World world(over_a_switch());
        Workload workload;
        FlowParams params{
            .bytes = 123'457, .message_bytes = message, .queue_pairs = queue_pairs, .operation = operation};
        const Flow& flow = add(workload, world, params);
        const Flow& back =
            workload.add(world.engine, *world.server, *world.client, {paths().back, paths().there}, params);
        world.run();
        EXPECT_TRUE(workload.is_done());
        for (const Flow* one : {&flow, &back}) {
          EXPECT_EQ(one->status(), WcStatus::kSuccess);
          EXPECT_EQ(one->acknowledged(), 123'457u);
          EXPECT_GT(one->finish(), Instant{});
        }
      }
    }
  }
}

TEST(FlowTest, queue_pairs_have_no_more_than_their_depth_under_way) {
  World world(over_a_switch());
  Workload workload;
  add(workload, world, {.bytes = 1'000'000, .message_bytes = 100});  // 10,000 messages
  world.run();
  EXPECT_EQ(workload.flows().front().acknowledged(), 1'000'000u);
}

TEST(FlowTest, nothing_happens_before_the_start) {
  World world;
  Workload workload;
  add(workload, world, {.bytes = 5'000, .start = instant_from_ps(3'000'000)});
  const std::size_t before = world.trace.records.size();
  world.engine.run_until(instant_from_ps(2'999'999));
  EXPECT_EQ(world.trace.records.size(), before);
  world.run();
  EXPECT_EQ(world.trace.all(TraceEvent::kDoorbell).size(), 1u);
}

TEST(FlowTest, without_answers_it_fails_and_ends) {
  World world;
  world.to_server.keep = [](ib::Packet&) { return false; };
  Workload workload;
  const Flow& flow = add(workload, world, {.bytes = 100'000'000, .queue_pairs = 2});
  world.run();
  EXPECT_TRUE(workload.is_done());
  EXPECT_EQ(flow.status(), WcStatus::kRetryExceeded);
  EXPECT_EQ(flow.acknowledged(), 0u);
  EXPECT_NE(flow.finish(), kNever);
}

TEST(FlowTest, an_adapter_that_fails_ends_its_flow) {
  for (const bool is_before : {true, false}) {
    World world;
    Workload workload;
    const Flow& flow = add(workload, world, {.bytes = 10'000'000, .start = instant_from_ps(1'000'000)});
    world.engine.run_until(instant_from_ps(is_before ? 500'000 : 100'000'000));
    world.client->fail();
    world.run();
    EXPECT_TRUE(workload.is_done());
    EXPECT_EQ(flow.status(), WcStatus::kFatalError);
  }
}

TEST(FlowTest, without_end_it_never_is_done_and_nobody_waits_for_it) {
  World world;
  Workload workload;
  const Flow& flow = add(workload, world, {.bytes = 0, .message_bytes = 4096, .is_background = true});
  EXPECT_TRUE(workload.is_done());
  world.engine.run_until(instant_from_ps(1'000'000'000));
  EXPECT_FALSE(flow.is_done());
  // 4096 bytes of payload and 42 of headers at 80 ps a byte for 1 ms.
  EXPECT_NEAR(static_cast<double>(flow.acknowledged()), 1e9 / (4138 * 80) * 4096, 2e5);
}

TEST(FlowTest, that_rests_posts_nothing_meanwhile) {
  World world;
  Workload workload;
  constexpr std::int64_t kOn = 20'000'000, kOff = 80'000'000;
  add(workload, world,
      {.bytes = 0,
       .message_bytes = 4096,
       .depth = 2,
       .on = Duration(kOn),
       .off = Duration(kOff),
       .is_background = true});
  world.engine.run_until(instant_from_ps(5 * (kOn + kOff) - 1));
  const auto doorbells = world.trace.all(TraceEvent::kDoorbell);
  EXPECT_GT(doorbells.size(), 50u);
  std::set<std::int64_t> periods;
  for (const TraceRecord& record : doorbells) {
    EXPECT_LE(record.time_ps % (kOn + kOff), kOn + 1'000'000) << "a doorbell takes less than 1 us";
    periods.insert(record.time_ps / (kOn + kOff));
  }
  EXPECT_EQ(periods.size(), 5u);
}

// Three flows that wait for triggers, fired by flows that begin at once.
TEST(FlowTest, triggers_start_flows_when_others_have_ended) {
  using Kind = TriggerPlan::Kind;
  const auto run = [](const TriggerPlan& plan, std::size_t firing) {
    World world(over_a_switch());
    Workload workload;
    Trigger& trigger = workload.add_trigger(plan);
    std::vector<const Flow*> first, waiting;
    for (std::size_t i = 0; i < firing; ++i)
      first.push_back(&add(workload, world, {.bytes = 50'000 * (i + 1), .on_sent = &trigger}));
    for (int i = 0; i < 3; ++i) {
      Flow& flow = add(workload, world, {.bytes = 1'000, .start = kNever, .delay = Duration(1'000'000)});
      trigger.add(flow);
      waiting.push_back(&flow);
    }
    world.run();
    std::vector<std::int64_t>
        delays;  // from the end of the first flow that could have started it; -1: none did
    for (const Flow* flow : waiting) {
      std::int64_t delay = -1;
      for (const Flow* one : first) {
        if (flow->start() != kNever && flow->start() - one->finish() == Duration(1'000'000))
          delay = one->params().bytes / 50'000;
      }
      EXPECT_EQ(flow->is_done(), delay > 0);
      delays.push_back(delay);
    }
    EXPECT_EQ(workload.is_done(), std::ranges::find(delays, -1) == delays.end());
    return delays;
  };
  EXPECT_EQ(run({.kind = Kind::kAll}, 2), (std::vector<std::int64_t>{1, 1, 1}));
  EXPECT_EQ(run({.kind = Kind::kNext}, 2), (std::vector<std::int64_t>{1, 2, -1}));
  EXPECT_EQ(run({.kind = Kind::kCount, .count = 2}, 3), (std::vector<std::int64_t>{2, 2, 2}));
  EXPECT_EQ(run({.kind = Kind::kCount, .count = 4}, 3), (std::vector<std::int64_t>{-1, -1, -1}));
}

TEST(FlowTest, arrival_and_acknowledgement_fire_triggers_of_their_own) {
  World world(over_a_switch());
  Workload workload;
  Trigger &received = workload.add_trigger({}), &sent = workload.add_trigger({});
  FlowParams params{
      .bytes = 100'000, .message_bytes = 30'000, .operation = hca::SourceWork::Operation::kSend};
  params.on_received = &received;
  params.on_sent = &sent;
  const Flow& first = add(workload, world, params);
  Flow& after_arrival = add(workload, world, {.bytes = 1, .start = kNever});
  Flow& after_acknowledgement = add(workload, world, {.bytes = 1, .start = kNever});
  received.add(after_arrival);
  sent.add(after_acknowledgement);
  world.run();
  EXPECT_TRUE(workload.is_done());
  EXPECT_EQ(after_acknowledgement.start(), first.finish());
  // The receiver writes its completion after the payload, while the acknowledgement is in flight.
  EXPECT_NE(after_arrival.start(), first.finish());
  EXPECT_NEAR(static_cast<double>((after_arrival.start() - first.finish()).count()), 0, 500'000);
}

}  // namespace
}  // namespace verbatim::workload
