// Timing gates of the adapter: every stage's latency and initiation interval, the gather buffer, and the time
// of one 8-byte SEND computed by hand, all exact to the picosecond.
#include <gtest/gtest.h>

#include <set>

#include "tests/hca/driver.h"
#include "tests/hca/terms.h"

namespace verbatim::test {
namespace {

// From the doorbell leaving the CPU to the receive completion visible to the other CPU, over one switch.
std::int64_t one_way_time(const Terms& x, std::int64_t posted) {
  constexpr std::uint64_t kSendEntry = 128;  // 64 bytes of header, room for four scatter entries
  constexpr std::uint64_t kLrh = 8;
  constexpr std::uint64_t kPacket = 8 + 12 + 8 + 4 + 2;  // LRH, BTH, payload, ICRC, VCRC
  constexpr std::uint64_t kCqe = 64;
  std::int64_t t = posted;
  t += x.one_way();  // MMIO write reaches the adapter
  t = x.stage(t, x.profile.doorbell);
  t += x.dma_read(kSendEntry);  // work request
  t = x.stage(t, x.profile.wqe_decode);
  t += x.dma_read(8);  // payload
  t = x.stage(x.stage(t, x.profile.packetize), x.profile.icrc);
  t += x.wire(x.link.bytes_before + kLrh) + to_ps(x.link.propagation);  // head at the switch
  t = Terms::after(t, x.switch_profile.core_clock_hz, x.switch_profile.cut_through_cycles);
  t += x.wire(x.link.bytes_before + kPacket) + to_ps(x.link.propagation);  // tail at the adapter
  // At the end of the checks a read of the receive record and the payload write enter the lane to the host;
  // the completion follows them at once when the lane is still busy (posted writes keep their order).
  t = x.stage(x.stage(t, x.profile.icrc), x.profile.receive_check);
  const std::uint64_t ahead = x.profile.pcie.read_header_bytes + 8 + x.profile.pcie.write_header_bytes;
  const std::int64_t completed = x.stage(t, x.profile.completion);
  if (completed >= t + x.pcie(ahead)) return completed + x.dma_write(kCqe);
  return t + x.pcie(ahead + kCqe + x.profile.pcie.write_header_bytes) + x.one_way() +
         to_ps(x.profile.pcie.memory_write_latency);
}

std::int64_t measured_one_way(const Terms& x) {
  PairOptions options;
  options.world.profile = x.profile;
  options.world.link = x.link;
  options.world.with_switch = true;
  Pair pair(options);
  EXPECT_TRUE(pair.ready);
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 64)});
  pair.world.run_for(Duration{10'000'000});  // receives are fetched ahead
  EXPECT_EQ(pair.world.now_ps(), 10'000'000);
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
  const std::int64_t expected = one_way_time(x, 10'000'000);
  // Not at t - 1, at t.
  pair.world.engine.run_until(instant_from_ps(expected - 1));
  EXPECT_FALSE(pair.b.program.poll(pair.b.recv_cq).has_value());
  pair.world.engine.run_until(instant_from_ps(expected));
  const auto entry = pair.b.program.poll(pair.b.recv_cq);
  EXPECT_TRUE(entry.has_value());
  return entry ? entry->visible_at_ps : 0;
}

TEST(TimingTest, one_way_of_an_eight_byte_send_to_the_picosecond) {
  Terms x{test_profile(), test_link(), {}};
  EXPECT_EQ(measured_one_way(x), one_way_time(x, 10'000'000));
  // The default profile, in numbers: a change of any of them must be explained here.
  EXPECT_EQ(one_way_time(x, 10'000'000) - 10'000'000, 1'298'076);
}

TEST(TimingTest, every_latency_on_the_way_counts) {
  const auto vary = [](auto change) {
    Terms x{test_profile(), test_link(), {}};
    change(x);
    EXPECT_EQ(measured_one_way(x), one_way_time(x, 10'000'000));
    return one_way_time(x, 10'000'000);
  };
  const std::int64_t base = vary([](Terms&) {});
  EXPECT_EQ(vary([](Terms& x) { x.profile.doorbell.latency_cycles += 3; }), base + 7'500);
  EXPECT_EQ(vary([](Terms& x) { x.profile.wqe_decode.latency_cycles += 3; }), base + 7'500);
  EXPECT_EQ(vary([](Terms& x) { x.profile.packetize.latency_cycles += 3; }), base + 7'500);
  EXPECT_EQ(vary([](Terms& x) { x.profile.icrc.latency_cycles = 3; }), base + 15'000) << "on both sides";
  EXPECT_EQ(vary([](Terms& x) { x.profile.receive_check.latency_cycles += 3; }), base + 7'500);
  EXPECT_EQ(vary([](Terms& x) { x.profile.completion.latency_cycles += 3; }), base + 7'500);
  EXPECT_NE(vary([](Terms& x) { x.profile.pcie.one_way_latency += Duration{50'000}; }), base);
  EXPECT_NE(vary([](Terms& x) { x.profile.pcie.memory_read_latency += Duration{50'000}; }), base);
  EXPECT_EQ(vary([](Terms& x) { x.profile.pcie.memory_write_latency += Duration{1}; }), base + 1);
  EXPECT_NE(vary([](Terms& x) { x.profile.pcie.lanes = 1; }), base);
  EXPECT_NE(vary([](Terms& x) { x.profile.pcie.generation = 2; }), base);
  EXPECT_NE(vary([](Terms& x) { x.profile.pcie.write_header_bytes += 16; }), base);
  EXPECT_NE(vary([](Terms& x) { x.profile.pcie.read_header_bytes += 64; }), base);
  EXPECT_NE(vary([](Terms& x) { x.profile.pcie.completion_header_bytes += 64; }), base);
  EXPECT_NE(vary([](Terms& x) { x.profile.core_clock_hz = 200'000'000; }), base);
  EXPECT_NE(vary([](Terms& x) { x.link.propagation += Duration{9'200}; }), base);
}

TEST(TimingTest, the_acknowledgement_comes_back_and_completes_the_send) {
  const auto measure = [](const hca::HcaProfile& profile) {
    PairOptions options;
    options.world.profile = profile;
    Pair pair(options);
    pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 64)});
    pair.world.run_for(Duration{10'000'000});
    pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
    pair.world.run();
    return pair.a.program.poll(pair.a.send_cq)->visible_at_ps;
  };
  // Formula: the request at the check stage's end, then acknowledge stage, wire, check stage, completion, CQE
  // write.
  Terms x{test_profile(), test_link(), {}};
  std::int64_t t = 10'000'000 + x.one_way();
  t = x.stage(t, x.profile.doorbell) + x.dma_read(128);
  t = x.stage(t, x.profile.wqe_decode) + x.dma_read(8);
  t = x.stage(t, x.profile.packetize) + x.wire(34) + to_ps(x.link.propagation);
  t = x.stage(t, x.profile.receive_check);
  t = x.stage(t, x.profile.acknowledge) + x.wire(30) + to_ps(x.link.propagation);
  t = x.stage(t, x.profile.receive_check);
  t = x.stage(t, x.profile.completion) + x.dma_write(64);
  EXPECT_EQ(measure(x.profile), t);
  hca::HcaProfile slower = x.profile;
  slower.acknowledge.latency_cycles += 2;
  EXPECT_EQ(measure(slower), t + 5'000);
  // The request and the acknowledgement each pass the ICRC stage twice: at departure and at arrival.
  hca::HcaProfile with_icrc = x.profile;
  with_icrc.icrc.latency_cycles = 2;
  EXPECT_EQ(measure(with_icrc), t + 4 * 5'000);
}

// Messages from one queue pair to another of the same adapter.
std::int64_t loopback_time(const hca::HcaProfile& profile) {
  WorldOptions options;
  options.profile = profile;
  World world(options);
  Program program(world, *world.client);
  const Mr mr = program.reg_mr(Program::kBuffer, 1 << 16, ib::kLocalWrite);
  Cq cq = program.create_cq(64);
  Qp from = program.create_qp(cq, cq), to = program.create_qp(cq, cq);
  for (auto [qp, peer] : {std::pair(&from, &to), std::pair(&to, &from)}) {
    EXPECT_EQ(program.to_init(*qp, {}), 0);
    EXPECT_EQ(program.to_rtr(*qp, 1, peer->made.number, {}), 0);
    EXPECT_EQ(program.to_rts(*qp, {}), 0);
  }
  program.post_recv(to, 1, {{Program::kBuffer, 64, mr.lkey}});
  world.run();
  program.post_send(from, {.sges = {{Program::kBuffer + 64, 8, mr.lkey}}});
  world.run();
  const auto entries = program.drain(cq);
  EXPECT_EQ(entries.size(), 2u);
  return entries.empty() ? 0 : entries.back().visible_at_ps;
}

TEST(TimingTest, what_stays_in_the_adapter_has_no_icrc) {
  hca::HcaProfile profile = test_profile();
  const std::int64_t without = loopback_time(profile);
  profile.icrc = {1600, 1600, 1};
  EXPECT_EQ(loopback_time(profile), without);
}

// Ten 8-byte messages at once through a profile in which one stage takes one item per 4 us.
std::vector<std::int64_t> spacing(const hca::HcaProfile& profile, bool of_sends) {
  PairOptions options;
  options.world.profile = profile;
  Pair pair(options);
  for (int i = 0; i < 10; ++i) pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(0, 8)});
  pair.world.run();
  for (int i = 0; i < 10; ++i) pair.a.program.write_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
  pair.a.program.ring(pair.a.qp);
  pair.world.run();
  std::vector<std::int64_t> times, result;
  for (const auto& entry :
       of_sends ? pair.a.program.drain(pair.a.send_cq) : pair.b.program.drain(pair.b.recv_cq)) {
    times.push_back(entry.visible_at_ps);
  }
  EXPECT_EQ(times.size(), 10u);
  for (std::size_t i = 1; i < times.size(); ++i) result.push_back(times[i] - times[i - 1]);
  return result;
}

// check(stage, of_sends) of each stage that messages pass.
template <class Check>
void for_every_stage(Check check) {
  check(&hca::HcaProfile::wqe_decode, false);
  check(&hca::HcaProfile::packetize, false);
  check(&hca::HcaProfile::icrc, false);
  check(&hca::HcaProfile::receive_check, false);
  check(&hca::HcaProfile::completion, false);
  check(&hca::HcaProfile::acknowledge, true);
}

TEST(TimingTest, every_stage_takes_one_item_per_initiation_interval) {
  constexpr std::uint32_t kCycles = 1600;
  constexpr std::int64_t kInterval = 1600 * 2'500;
  const auto check = [&](auto member, bool of_sends) {
    hca::HcaProfile profile = test_profile();
    profile.wqe_prefetch = 16;
    (profile.*member).interval_cycles = kCycles;
    for (const std::int64_t gap : spacing(profile, of_sends)) EXPECT_EQ(gap, kInterval);
  };
  for_every_stage(check);
}

// An adapter computes the ICRC of one packet per interval, and checks that of one; a unit each.
TEST(TimingTest, the_icrc_is_a_stage_on_both_sides) {
  constexpr std::int64_t kCycle = 2'500;
  for (const bool at_server : {false, true}) {
    SCOPED_TRACE(at_server);
    PairOptions options;
    options.world.profile.wqe_prefetch = 16;
    options.world.server_profile = options.world.profile;
    hca::Stage& icrc = at_server ? options.world.server_profile->icrc : options.world.profile.icrc;
    icrc = {50, 1600};
    Pair pair(options);
    for (int i = 0; i < 4; ++i) pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(0, 8)});
    pair.world.run();
    for (int i = 0; i < 4; ++i) pair.a.program.write_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
    pair.a.program.ring(pair.a.qp);
    pair.world.run();
    std::vector<std::int64_t> sent;
    for (const TraceRecord& record : pair.world.trace.all(TraceEvent::kPacketTransmitted)) {
      if (record.component == pair.world.components.id("client/p1").value) sent.push_back(record.time_ps);
    }
    const auto received = pair.b.program.drain(pair.b.recv_cq);
    ASSERT_EQ(sent.size(), 4u);
    ASSERT_EQ(received.size(), 4u);
    for (std::size_t i = 1; i < 4; ++i) {
      EXPECT_EQ(sent[i] - sent[i - 1], (at_server ? 2 : 1600) * kCycle) << "2: the interval of packetize";
      EXPECT_EQ(received[i].visible_at_ps - received[i - 1].visible_at_ps, 1600 * kCycle);
    }
  }
}

// Datagrams of one queue pair complete in order: one to this adapter waits for the ICRC of the one before, and takes no
// time itself.
TEST(TimingTest, what_stays_in_the_adapter_does_not_pass_what_leaves) {
  PairOptions options;
  options.type = ib::QpType::kUd;
  options.world.profile.wqe_prefetch = 16;
  options.world.profile.icrc = {500, 1};
  Pair pair(options);
  const std::uint32_t there = pair.a.program.create_ah(2), here = pair.a.program.create_ah(1);
  const auto send = [&](std::uint64_t wr_id, std::uint32_t handle, std::uint32_t qpn) {
    pair.a.program.write_send(pair.a.qp, {.wr_id = wr_id,
                                          .sges = {pair.a.sge(0, 8)},
                                          .address_handle = handle,
                                          .remote_qpn = qpn,
                                          .remote_qkey = options.path.qkey});
  };
  pair.a.program.post_recv(pair.a.qp, 9, {pair.a.sge(4096, 4096)});
  pair.world.run();
  send(1, there, pair.b.qp.made.number);
  send(2, here, pair.a.qp.made.number);
  pair.a.program.ring(pair.a.qp);
  pair.world.run();
  const auto sent = pair.world.trace.all(TraceEvent::kPacketTransmitted);
  ASSERT_EQ(sent.size(), 1u);
  const auto received = pair.a.program.drain(pair.a.recv_cq);
  ASSERT_EQ(received.size(), 1u);
  const Terms x{options.world.profile, test_link(), {}};
  // Behind the ICRC of the first: check, completion and its entry, for which the payload has left the lane long since.
  const std::int64_t expected =
      x.stage(x.stage(sent[0].time_ps, x.profile.receive_check), x.profile.completion) + x.dma_write(64);
  EXPECT_EQ(received[0].visible_at_ps, expected);
  std::vector<std::uint64_t> completed;
  for (const auto& entry : pair.a.program.drain(pair.a.send_cq)) completed.push_back(entry.wr_id);
  EXPECT_EQ(completed, (std::vector<std::uint64_t>{1, 2}));
}

TEST(TimingTest, the_doorbell_stage_has_an_interval_too) {
  WorldOptions options;
  options.profile.doorbell.interval_cycles = 1600;
  World world(options);
  Program program(world, *world.client);
  const Cq cq = program.create_cq(4);
  for (int i = 0; i < 5; ++i) program.arm(cq);
  world.run();
  const auto doorbells = world.trace.all(TraceEvent::kDoorbell);
  ASSERT_EQ(doorbells.size(), 5u);
  for (int i = 1; i < 5; ++i) EXPECT_EQ(doorbells[i].time_ps - doorbells[i - 1].time_ps, 1600 * 2'500);
}

// One that enters waits until the one so many before it has left, and that is the stage's latency.
TEST(TimingTest, every_stage_holds_as_many_as_its_capacity) {
  constexpr std::int64_t kCycle = 2'500, kLatency = 1600;
  const auto check = [&](auto member, bool of_sends) {
    for (const std::size_t capacity : {1u, 2u, 3u}) {
      SCOPED_TRACE(capacity);
      hca::HcaProfile profile = test_profile();
      profile.wqe_prefetch = 16;
      profile.*member = {kLatency, 20, static_cast<std::uint32_t>(capacity)};
      const std::vector<std::int64_t> gaps = spacing(profile, of_sends);
      for (std::size_t i = 0; i < gaps.size(); ++i) {
        const bool is_first_of_a_group = (i + 1) % capacity == 0;
        const auto before = static_cast<std::int64_t>(capacity - 1) * 20;
        EXPECT_EQ(gaps[i], (is_first_of_a_group ? kLatency - before : 20) * kCycle) << i;
      }
    }
  };
  for_every_stage(check);
}

TEST(TimingTest, the_doorbell_stage_has_a_capacity_too) {
  WorldOptions options;
  options.profile.doorbell = {1600, 1, 2};
  World world(options);
  Program program(world, *world.client);
  const Cq cq = program.create_cq(4);
  for (int i = 0; i < 5; ++i) program.arm(cq);
  world.run();
  std::vector<std::int64_t> cycles;
  for (const TraceRecord& record : world.trace.all(TraceEvent::kDoorbell)) cycles.push_back(record.time_ps / 2'500);
  ASSERT_EQ(cycles.size(), 5u);
  for (std::int64_t& cycle : cycles) cycle -= 1600;
  const std::int64_t first = cycles[0];
  EXPECT_EQ(cycles, (std::vector<std::int64_t>{first, first + 1, first + 1600, first + 1601, first + 3200}));
}

TEST(TimingTest, the_gather_buffer_bounds_what_is_read_ahead) {
  PairOptions options;
  options.world.profile.gather_buffer_bytes = 4096;
  Pair pair(options);
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 40960)});
  pair.world.run();
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 40960)}});
  pair.world.run();
  const Terms x{options.world.profile, test_link(), {}};
  // Formula: one packet is in the buffer from its gather to the port: 8 requests of 512 bytes in completions
  // of 256.
  const std::int64_t gather = x.pcie(24) + 2 * x.one_way() + to_ps(x.profile.pcie.memory_read_latency) +
                              x.pcie(4096 + 16 * x.profile.pcie.completion_header_bytes);
  std::vector<std::int64_t> times;
  for (const TraceRecord& record : pair.world.trace.all(TraceEvent::kPacketTransmitted)) {
    if (record.component == pair.world.components.id("client/p1").value) times.push_back(record.time_ps);
  }
  ASSERT_EQ(times.size(), 10u);
  for (std::size_t i = 1; i < times.size(); ++i) {
    EXPECT_EQ(times[i], x.stage(times[i - 1] + gather, x.profile.packetize));
  }
}

// 8192 bytes have room for two packets, one byte less for one.
TEST(TimingTest, a_packet_is_gathered_when_there_is_room_for_all_of_it) {
  const auto between_packets = [](std::uint32_t buffer_bytes) {
    PairOptions options;
    options.world.profile.gather_buffer_bytes = buffer_bytes;
    Pair pair(options);
    pair.a.program.post_send(pair.a.qp, {.opcode = WqeOpcode::kRdmaWrite,
                                         .sges = {pair.a.sge(0, 16384)},
                                         .remote_va = Program::kBuffer,
                                         .rkey = pair.b.mr.rkey});
    pair.world.run();
    const auto gathered = pair.world.trace.all(TraceEvent::kPayloadGathered);
    return gathered.at(1).time_ps - gathered.at(0).time_ps;
  };
  EXPECT_EQ(between_packets(8191), between_packets(4096));
  EXPECT_LT(between_packets(8192), between_packets(8191));
}

TEST(TimingTest, inside_a_message_every_nth_packet_asks_for_an_acknowledgement) {
  PairOptions options;
  options.world.profile.ack_every_packets = 3;
  Pair pair(options);
  std::vector<std::size_t> asking;
  std::size_t packets = 0;
  pair.world.to_server.keep = [&](ib::Packet& packet) {
    if (++packets; packet.bth.ack_request) asking.push_back(packets);
    return true;
  };
  pair.a.program.post_send(pair.a.qp, {.opcode = WqeOpcode::kRdmaWrite,
                                       .sges = {pair.a.sge(0, 10 * 4096)},
                                       .remote_va = Program::kBuffer,
                                       .rkey = pair.b.mr.rkey});
  pair.world.run();
  EXPECT_EQ(asking, (std::vector<std::size_t>{3, 6, 9, 10}));
}

TEST(TimingTest, a_long_flow_runs_at_the_rate_of_the_wire) {
  PairOptions options;
  options.buffer_bytes = 4 << 20;
  Pair pair(options);
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 4 << 20)});
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 4 << 20)}});
  pair.world.run();
  std::vector<std::int64_t> times;
  for (const TraceRecord& record : pair.world.trace.all(TraceEvent::kPacketTransmitted)) {
    if (record.component == pair.world.components.id("client/p1").value) times.push_back(record.time_ps);
  }
  ASSERT_EQ(times.size(), 1024u);
  // 26 bytes of headers and checks, 80 ps a byte: back to back once the pipeline is filled.
  EXPECT_EQ(times[1000] - times[100], 900 * (4096 + 26) * 80);
}

TEST(TimingTest, queue_pairs_take_turns_packet_by_packet) {
  Pair pair;
  Cq cq = pair.b.program.create_cq(64);
  Qp mine = pair.a.program.create_qp(pair.a.send_cq, pair.a.recv_cq),
     theirs = pair.b.program.create_qp(cq, cq);
  ASSERT_EQ(pair.a.program.to_init(mine, {}), 0);
  ASSERT_EQ(pair.b.program.to_init(theirs, {}), 0);
  ASSERT_EQ(pair.a.program.to_rtr(mine, 2, theirs.made.number, {}), 0);
  ASSERT_EQ(pair.b.program.to_rtr(theirs, 1, mine.made.number, {}), 0);
  ASSERT_EQ(pair.a.program.to_rts(mine, {}), 0);
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 400000)});
  pair.b.program.post_recv(theirs, 1, {pair.b.sge(500000, 400000)});
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 400000)}});
  pair.a.program.post_send(mine, {.sges = {pair.a.sge(0, 400000)}});
  pair.world.run();
  std::vector<std::uint64_t> order;
  for (const TraceRecord& record : pair.world.trace.all(TraceEvent::kPayloadGathered))
    order.push_back(record.values[0]);
  ASSERT_EQ(order.size(), 196u);
  for (std::size_t i = 40; i < 150; ++i) EXPECT_NE(order[i], order[i + 1]);
}

TEST(TimingTest, only_the_lines_that_hold_a_request_are_fetched) {
  struct Case {
    ib::QpType type;
    std::uint32_t inline_bytes;
    std::uint64_t fetched;
  };
  // Kalia et al., ATC 2016: a header of 36 bytes, or 68 of a datagram, and lines of 64.
  for (const Case& what : {Case{ib::QpType::kRc, 0, 64}, Case{ib::QpType::kRc, 28, 64}, Case{ib::QpType::kRc, 29, 128},
                           Case{ib::QpType::kRc, 92, 128}, Case{ib::QpType::kRc, 93, 192},
                           Case{ib::QpType::kUd, 0, 128}, Case{ib::QpType::kUd, 60, 128},
                           Case{ib::QpType::kUd, 61, 192}, Case{ib::QpType::kUd, 124, 192},
                           Case{ib::QpType::kUd, 188, 256}}) {
    SCOPED_TRACE(what.inline_bytes);
    PairOptions options;
    options.type = what.type;
    options.capabilities = {64, 64, 4, 4, 256};
    options.world.profile.wqe_layout.line_bytes = 64;
    options.world.profile.core_clock_hz = 10'000'000'000;
    Pair pair(options);
    const std::int64_t posted = pair.world.now_ps();
    SendRequest request{.opcode = what.type == ib::QpType::kUd ? WqeOpcode::kSend : WqeOpcode::kRdmaWrite,
                        .flags = protocol::kWqeSignaled | protocol::kWqeInline,
                        .inline_data = std::vector<std::byte>(what.inline_bytes),
                        .remote_va = Program::kBuffer,
                        .rkey = pair.b.mr.rkey,
                        .address_handle = pair.a.program.create_ah(2)};
    pair.a.program.post_send(pair.a.qp, request);
    pair.world.run();
    Terms x{options.world.profile, test_link(), {}};
    x.profile.pcie.max_payload_bytes = 4096;  // completions of 256 bytes and less are one TLP
    const std::int64_t t = x.stage(posted + x.one_way(), x.profile.doorbell);
    EXPECT_EQ(pair.world.trace.all(TraceEvent::kWqeFetched).front().time_ps,
              x.stage(t + x.dma_read(what.fetched), x.profile.wqe_decode));
  }
}

TEST(TimingTest, only_the_lines_that_hold_receives_are_fetched) {
  struct Case {
    std::uint32_t line;
    std::vector<std::uint32_t> sges;  // of each receive
    std::uint64_t fetched;
  };
  // Kalia et al., ATC 2016: 16 bytes for a RECV. A ring entry of ours, with room for eight scatter entries, has 256.
  for (const Case& what : {Case{0, {1}, 256}, Case{0, {1, 1, 1}, 768}, Case{16, {0}, 16}, Case{16, {1}, 16},
                           Case{16, {2}, 32}, Case{16, {8}, 128}, Case{16, {1, 2, 3}, 96}, Case{64, {1}, 64},
                           Case{64, {4}, 64}, Case{64, {5}, 128}, Case{64, {1, 4, 5}, 256}}) {
    SCOPED_TRACE(what.line);
    SCOPED_TRACE(what.fetched);
    PairOptions options;
    options.capabilities = {64, 64, 4, 8, 64};
    options.world.profile.wqe_layout.receive_line_bytes = what.line;
    options.world.profile.pcie.max_payload_bytes = options.world.profile.pcie.max_read_request_bytes = 4096;
    Pair pair(options);
    pair.world.run();  // the record has been read
    for (const std::uint32_t count : what.sges) {
      pair.b.program.post_recv(pair.b.qp, 1, std::vector<protocol::Sge>(count, pair.b.sge(0, 64)));
    }
    pair.a.program.post_send(pair.a.qp, {.opcode = WqeOpcode::kRdmaWriteWithImm,
                                         .sges = {pair.a.sge(0, 8)},
                                         .remote_va = Program::kBuffer,
                                         .rkey = pair.b.mr.rkey});
    pair.world.run();
    const Terms x{options.world.profile, test_link(), {}};
    constexpr std::uint64_t kPacket = 8 + 12 + 16 + 4 + 8 + 4 + 2;  // LRH, BTH, RETH, immediate, payload, ICRC, VCRC
    std::int64_t t = pair.world.trace.all(TraceEvent::kPacketTransmitted).front().time_ps;
    t = x.stage(t + x.wire(kPacket) + to_ps(x.link.propagation), x.profile.receive_check);
    t += x.dma_read(sizeof(std::uint32_t));  // the record
    t += x.dma_read(what.fetched);
    EXPECT_EQ(pair.world.trace.all(TraceEvent::kDmaWrite).front().time_ps, t + x.dma_write(8));
  }
}

TEST(TimingTest, a_packet_occupies_the_bus_behind_the_packetize_stage) {
  // A WRITE of 8 bytes is 50 bytes on the wire: four cycles of 16 bytes.
  const auto gaps = [](std::uint32_t width, std::uint32_t bytes) {
    PairOptions options;
    options.world.profile.packet_bus_bytes = width;
    options.world.profile.core_clock_hz = 1'000'000;
    options.world.profile.wqe_prefetch = 16;
    Pair pair(options);
    for (int i = 0; i < 6; ++i) {
      pair.a.program.write_send(pair.a.qp, {.opcode = WqeOpcode::kRdmaWrite,
                                            .sges = {pair.a.sge(0, bytes)},
                                            .remote_va = Program::kBuffer,
                                            .rkey = pair.b.mr.rkey});
    }
    pair.a.program.ring(pair.a.qp);
    pair.world.run();
    std::vector<std::int64_t> times;
    for (const TraceRecord& record : pair.world.trace.all(TraceEvent::kPacketTransmitted)) {
      if (record.component == pair.world.components.id("client/p1").value) times.push_back(record.time_ps);
    }
    EXPECT_EQ(times.size(), 6u);
    std::set<std::int64_t> different;
    for (std::size_t i = 1; i < times.size(); ++i) different.insert((times[i] - times[i - 1]) / 1'000'000);
    return different;
  };
  EXPECT_EQ(gaps(0, 8), std::set<std::int64_t>{2}) << "the stage's own interval";
  EXPECT_EQ(gaps(64, 8), std::set<std::int64_t>{2});
  EXPECT_EQ(gaps(16, 8), std::set<std::int64_t>{4});
  EXPECT_EQ(gaps(16, 20), std::set<std::int64_t>{4});
  EXPECT_EQ(gaps(16, 24), std::set<std::int64_t>{5});
}

TEST(TimingTest, an_interrupt_is_an_event_queue_entry_and_a_message_behind_it) {
  PairOptions options;
  options.with_channel = true;
  options.world.profile.interrupt = {64, 4};
  Pair pair(options);
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 8)});
  pair.b.program.arm(pair.b.recv_cq);
  pair.world.run();
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
  pair.world.run();
  const auto entry = pair.b.program.poll(pair.b.recv_cq);
  ASSERT_TRUE(entry.has_value());
  ASSERT_EQ(pair.b.program.completion_events.size(), 1u);
  // Formula: both writes on the idle lane to the host, then the latency of the processor's side.
  const Terms x{options.world.profile, test_link(), {}};
  const std::int64_t written =
      x.pcie(64 + 4 + 2 * x.profile.pcie.write_header_bytes) + x.one_way() + to_ps(x.profile.pcie.memory_write_latency);
  EXPECT_EQ(pair.b.program.completion_events[0].time_ps,
            entry->visible_at_ps + written + to_ps(x.profile.event_latency));
}

TEST(TimingTest, data_is_visible_before_its_completion_and_events_follow_by_their_latency) {
  PairOptions options;
  options.with_channel = true;
  Pair pair(options);
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 20000)});
  pair.b.program.arm(pair.b.recv_cq);
  pair.world.run();
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 20000)}});
  pair.world.run();
  const std::int64_t last_write = pair.world.trace.all(TraceEvent::kDmaWrite).back().time_ps;
  const auto entry = pair.b.program.poll(pair.b.recv_cq);
  ASSERT_TRUE(entry.has_value());
  EXPECT_LT(last_write, entry->visible_at_ps);
  ASSERT_EQ(pair.b.program.completion_events.size(), 1u);
  EXPECT_EQ(pair.b.program.completion_events[0].time_ps,
            entry->visible_at_ps + to_ps(options.world.profile.event_latency));
  EXPECT_EQ(pair.b.program.completion_events[0].channel, 7u);
  EXPECT_EQ(pair.b.program.completion_events[0].cookie, 0xc0u + 256);
}

}  // namespace
}  // namespace verbatim::test
