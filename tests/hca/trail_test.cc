// Latency trails: for every operation and any event, the trail begins when the message is posted, ends when
// its completion is visible, and accounts for every picosecond in between.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "sim/core/rng.h"
#include "tests/hca/driver.h"

namespace verbatim::test {
namespace {

using ib::WcStatus;

struct Explained {
  TrailMessage message;
  MessageEnd end{};
  ComponentId adapter;
  std::uint32_t queue_pair = 0, status = 0;
  std::int64_t begin_ps = 0, end_ps = 0;
  std::vector<TrailStep> steps;

  std::int64_t latency() const { return end_ps - begin_ps; }
  // Time by name and kind of part.
  std::map<std::pair<std::string, TrailKind>, std::int64_t> parts() const {
    std::map<std::pair<std::string, TrailKind>, std::int64_t> all;
    std::int64_t before = begin_ps;
    for (const TrailStep& step : steps) {
      if (to_ps(step.end) > before) all[{step.part.name, step.part.kind}] += to_ps(step.end) - before;
      before = to_ps(step.end);
    }
    return all;
  }
  std::int64_t of(const std::string& name, TrailKind kind) const {
    const auto all = parts();
    const auto it = all.find({name, kind});
    return it == all.end() ? 0 : it->second;
  }
};

struct Watcher final : MessageObserver {
  std::vector<Explained> all;
  void on_message(const MessageReport& report) override {
    Explained one;
    ASSERT_NE(report.trail.message(), nullptr);
    one.message = *report.trail.message();
    one.end = report.end;
    one.adapter = report.adapter;
    one.queue_pair = report.queue_pair;
    one.status = report.status;
    one.begin_ps = to_ps(report.trail.begin());
    one.end_ps = to_ps(report.at);
    one.steps = report.trail.steps();
    std::int64_t before = one.begin_ps;
    for (const TrailStep& step : one.steps) {
      EXPECT_GE(to_ps(step.end), before);
      EXPECT_STRNE(step.part.name, "");
      EXPECT_EQ(step.end == instant_from_ps(before), step.part.kind == TrailKind::kMark) << step.part.name;
      before = to_ps(step.end);
    }
    EXPECT_EQ(before, one.end_ps) << "the trail ends when the message does";
    all.push_back(std::move(one));
  }
  std::vector<Explained> ended(MessageEnd end) const {
    std::vector<Explained> some;
    for (const Explained& one : all) {
      if (one.end == end) some.push_back(one);
    }
    return some;
  }
};

// Completions and trails of one side are the same, one for one.
void expect_same(const std::vector<protocol::Cqe>& entries, const std::vector<Explained>& explained,
                 std::uint32_t queue_pair) {
  ASSERT_EQ(entries.size(), explained.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(explained[i].end_ps, entries[i].visible_at_ps);
    EXPECT_EQ(explained[i].status, entries[i].status);
    EXPECT_EQ(explained[i].queue_pair, queue_pair);
  }
}

struct TrailCase {
  ib::QpType type = ib::QpType::kRc;
  WqeOpcode opcode = WqeOpcode::kSend;
  std::uint32_t bytes = 0;
  bool is_inline = false;
  bool with_switch = false;
};

bool takes_receive(WqeOpcode opcode) {
  return opcode == WqeOpcode::kSend || opcode == WqeOpcode::kSendWithImm ||
         opcode == WqeOpcode::kRdmaWriteWithImm;
}

SendRequest request_of(const TrailCase& what, Pair& pair, std::uint64_t wr_id) {
  SendRequest request{
      .wr_id = wr_id, .opcode = what.opcode, .remote_va = Program::kBuffer, .rkey = pair.b.mr.rkey};
  request.compare_add = request.swap = 1;
  if (what.is_inline) {
    request.flags |= protocol::kWqeInline;
    request.inline_data.resize(what.bytes);
  } else {
    request.sges = {pair.a.sge(0, what.bytes)};
  }
  return request;
}

std::vector<TrailCase> trail_cases() {
  std::vector<TrailCase> all;
  for (const ib::QpType type : {ib::QpType::kRc, ib::QpType::kUc}) {
    for (const WqeOpcode opcode : {WqeOpcode::kSend, WqeOpcode::kRdmaWrite, WqeOpcode::kRdmaWriteWithImm}) {
      for (const std::uint32_t bytes : {0u, 1u, 64u, 4096u, 4097u, 65536u}) {
        all.push_back({type, opcode, bytes, false, bytes % 2 == 0});
      }
      all.push_back({type, opcode, 48, true, true});
    }
  }
  for (const std::uint32_t bytes : {0u, 8u, 4096u, 65536u, 100'000u}) {
    all.push_back({ib::QpType::kRc, WqeOpcode::kRdmaRead, bytes, false, true});
  }
  all.push_back({ib::QpType::kRc, WqeOpcode::kAtomicFetchAdd, 8, false, false});
  all.push_back({ib::QpType::kRc, WqeOpcode::kAtomicCompareSwap, 8, false, true});
  return all;
}

TEST(TrailTest, every_operation_is_explained_from_the_post_to_its_completions) {
  for (const TrailCase& what : trail_cases()) {
    SCOPED_TRACE(std::to_string(static_cast<int>(what.opcode)) + " of " + std::to_string(what.bytes) +
                 " bytes");
    PairOptions options;
    options.type = what.type;
    options.world.with_switch = what.with_switch;
    Pair pair(options);
    ASSERT_TRUE(pair.ready);
    Watcher watcher;
    pair.world.tracer.add(watcher);
    constexpr std::int64_t kCount = 5;
    for (std::int64_t i = 0; i < kCount; ++i) {
      pair.b.program.post_recv(pair.b.qp, 0, {pair.b.sge(0, what.bytes + 1)});
    }
    pair.world.run_for(Duration{10'000'000});
    std::vector<std::int64_t> posted;
    // Alone, then in a row that must wait for each other.
    for (std::int64_t i = 0; i < kCount; ++i) {
      posted.push_back(pair.world.now_ps());
      pair.a.program.post_send(pair.a.qp, request_of(what, pair, 0));
      pair.world.run_for(Duration{i == 0 ? 100'000'000 : 1'234});
    }
    pair.world.run();
    const auto completed = watcher.ended(MessageEnd::kCompleted),
               received = watcher.ended(MessageEnd::kReceived);
    expect_same(pair.a.program.drain(pair.a.send_cq), completed, pair.a.qp.made.number);
    expect_same(pair.b.program.drain(pair.b.recv_cq), received, pair.b.qp.made.number);
    EXPECT_EQ(completed.size(), posted.size());
    EXPECT_EQ(received.size(), takes_receive(what.opcode) ? posted.size() : 0);
    for (const auto* ends : {&completed, &received}) {
      for (std::size_t i = 0; i < ends->size(); ++i) {
        EXPECT_EQ((*ends)[i].begin_ps, posted[i]);
        EXPECT_EQ((*ends)[i].message.work, i);
        EXPECT_EQ((*ends)[i].message.bytes, what.bytes);
        EXPECT_EQ((*ends)[i].message.adapter, pair.world.components.id("client/hca"));
      }
    }
  }
}

TEST(TrailTest, datagrams_are_explained_to_the_sender_and_to_every_receiver) {
  PairOptions options;
  options.type = ib::QpType::kUd;
  options.world.with_switch = true;
  Pair pair(options);
  ASSERT_TRUE(pair.ready);
  Watcher watcher;
  pair.world.tracer.add(watcher);
  pair.b.program.post_recv(pair.b.qp, 0, {pair.b.sge(0, 2000)});
  pair.world.run_for(Duration{10'000'000});
  const std::uint32_t handle = pair.a.program.create_ah(2);
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 1000)},
                                       .address_handle = handle,
                                       .remote_qpn = pair.b.qp.made.number,
                                       .remote_qkey = options.path.qkey});
  pair.world.run();
  const auto sent = watcher.ended(MessageEnd::kCompleted), received = watcher.ended(MessageEnd::kReceived);
  expect_same(pair.a.program.drain(pair.a.send_cq), sent, pair.a.qp.made.number);
  expect_same(pair.b.program.drain(pair.b.recv_cq), received, pair.b.qp.made.number);
  ASSERT_EQ(sent.size() + received.size(), 2u);
  EXPECT_EQ(sent[0].message.service, "UD");
  EXPECT_EQ(sent[0].of("link: cable", TrailKind::kDelay), 0) << "a datagram is complete when it has left";
  EXPECT_EQ(received[0].of("link: cable", TrailKind::kDelay), 2 * 9'200);
}

TEST(TrailTest, a_loopback_message_takes_no_wire_time) {
  Pair pair;
  Watcher watcher;
  pair.world.tracer.add(watcher);
  Pair::Side other(pair.world, *pair.world.client, pair.options);
  const PathOptions path;
  Qp qp = pair.a.program.create_qp(pair.a.send_cq, pair.a.recv_cq);
  ASSERT_EQ(pair.a.program.to_init(qp, path) | pair.a.program.to_rtr(qp, 1, other.qp.made.number, path) |
                pair.a.program.to_rts(qp, path),
            0);
  ASSERT_EQ(other.program.to_init(other.qp, path) | other.program.to_rtr(other.qp, 1, qp.made.number, path) |
                other.program.to_rts(other.qp, path),
            0);
  pair.a.program.post_send(qp, {.opcode = WqeOpcode::kRdmaWrite,
                                .sges = {pair.a.sge(0, 64)},
                                .remote_va = Program::kBuffer,
                                .rkey = other.mr.rkey});
  pair.world.run();
  const auto entries = pair.a.program.drain(pair.a.send_cq);
  expect_same(entries, watcher.all, qp.made.number);
  EXPECT_EQ(watcher.all[0].of("link: cable", TrailKind::kDelay), 0);
}

TEST(TrailTest, an_unsignaled_message_is_explained_up_to_its_acknowledgement) {
  Pair pair;
  Watcher watcher;
  pair.world.tracer.add(watcher);
  const std::int64_t posted = pair.world.now_ps();
  pair.a.program.post_send(pair.a.qp, {.opcode = WqeOpcode::kRdmaWrite,
                                       .flags = 0,
                                       .sges = {pair.a.sge(0, 64)},
                                       .remote_va = Program::kBuffer,
                                       .rkey = pair.b.mr.rkey});
  pair.world.run();
  ASSERT_EQ(watcher.all.size(), 1u);
  EXPECT_EQ(watcher.all[0].end, MessageEnd::kAcknowledged);
  EXPECT_EQ(watcher.all[0].begin_ps, posted);
  const auto acknowledged = pair.world.trace.all(TraceEvent::kAckReceived);
  ASSERT_EQ(acknowledged.size(), 1u);
  EXPECT_EQ(watcher.all[0].end_ps, acknowledged[0].time_ps);
}

// The first of several losses since the last repetition has a name, and the place where it happened.
TEST(TrailTest, time_lost_names_the_buffer_or_link_that_lost_the_packet) {
  struct Case {
    ib::DropReason reason;
    std::string name;
    TrailKind kind;
  };
  for (const Case& one : {Case{ib::DropReason::kOutputQueue, "lost in a full buffer: timeout", TrailKind::kWaitFor},
                          Case{ib::DropReason::kLinkDown, "lost on a dead link: timeout", TrailKind::kWaitFor},
                          Case{ib::DropReason::kLostOnLink, "lost on a dead link: timeout", TrailKind::kWaitFor},
                          Case{ib::DropReason::kHeadLifetime, "lost: timeout", TrailKind::kWait}}) {
    PairOptions options;
    options.path.timeout = 8;
    Pair pair(options);
    Watcher watcher;
    pair.world.tracer.add(watcher);
    int lost = 1;
    pair.world.to_server.keep = [&](ib::Packet& packet) {
      if (lost-- <= 0) return true;
      packet.trail.note_loss(ib::loss_of(one.reason), ComponentId{77});
      packet.trail.note_loss(TrailLoss::kFullBuffer, ComponentId{78});
      return false;
    };
    if (ib::loss_of(one.reason) == TrailLoss::kUnnamed) pair.world.to_server.keep = [&](ib::Packet&) { return lost-- <= 0; };
    pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 64)});
    pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
    pair.world.run();
    ASSERT_EQ(watcher.all.size(), 2u);
    EXPECT_GT(watcher.all[0].of(one.name, one.kind), 1'000'000'000) << one.name;
    for (const TrailStep& step : watcher.all[0].steps) {
      if (step.part.name != one.name || one.kind != TrailKind::kWaitFor) continue;
      EXPECT_EQ(waited_for(step.part), ComponentId{77});
    }
  }
}

TEST(TrailTest, time_lost_with_a_packet_lasts_from_its_handing_over_until_it_is_sent_again) {
  PairOptions options;
  options.path.timeout = 8;
  Pair pair(options);
  Watcher watcher;
  pair.world.tracer.add(watcher);
  int lost = 2;
  pair.world.to_server.keep = [&](ib::Packet&) { return lost-- <= 0; };
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 64)});
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
  pair.world.run();
  ASSERT_EQ(watcher.all.size(), 2u);
  const auto again = pair.world.trace.all(TraceEvent::kRetransmission);
  const auto sent = pair.world.trace.all(TraceEvent::kPacketTransmitted);
  ASSERT_EQ(again.size(), 2u);
  for (const Explained& one : watcher.all) {
    // The first packet starts when it is handed over, because the port is idle. The second attempt has no
    // further parts.
    EXPECT_EQ(one.of("lost: timeout", TrailKind::kWait), again[1].time_ps - sent[0].time_ps);
    EXPECT_EQ(one.begin_ps, 0);
  }
  expect_same(pair.a.program.drain(pair.a.send_cq), watcher.ended(MessageEnd::kCompleted),
              pair.a.qp.made.number);
  expect_same(pair.b.program.drain(pair.b.recv_cq), watcher.ended(MessageEnd::kReceived),
              pair.b.qp.made.number);
}

TEST(TrailTest, a_receiver_that_is_not_ready_costs_the_way_of_its_answer_and_the_timer) {
  Pair pair;
  Watcher watcher;
  pair.world.tracer.add(watcher);
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
  pair.world.run_for(Duration{20'000'000});
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 64)});
  pair.world.run();
  const auto completed = watcher.ended(MessageEnd::kCompleted);
  ASSERT_EQ(completed.size(), 1u);
  const auto again = pair.world.trace.all(TraceEvent::kRetransmission);
  const auto sent = pair.world.trace.all(TraceEvent::kPacketTransmitted);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(completed[0].of("lost: receiver not ready", TrailKind::kWait),
            again[0].time_ps - sent[0].time_ps);
  EXPECT_EQ(completed[0].of("lost: receiver not ready, timer", TrailKind::kWait),
            640'000'000);  // code 12: 0.64 ms
}

TEST(TrailTest, a_request_answered_with_a_later_one_waits_for_that) {
  Pair pair;
  Watcher watcher;
  pair.world.tracer.add(watcher);
  // The acknowledgement of the first is lost, that of the second answers both.
  int acknowledgements = 0;
  pair.world.to_client.keep = [&](ib::Packet&) { return ++acknowledgements != 1; };
  for (int i = 0; i < 2; ++i) {
    pair.a.program.post_send(pair.a.qp, {.opcode = WqeOpcode::kRdmaWrite,
                                         .sges = {pair.a.sge(0, 64)},
                                         .remote_va = Program::kBuffer,
                                         .rkey = pair.b.mr.rkey});
    pair.world.run_for(Duration{50'000});
  }
  pair.world.run();
  ASSERT_EQ(watcher.all.size(), 2u);
  EXPECT_GT(watcher.all[0].of("answered with a later request", TrailKind::kWait), 0);
  EXPECT_EQ(watcher.all[1].of("answered with a later request", TrailKind::kWait), 0);
  EXPECT_EQ(watcher.all[0].begin_ps, 0);
  EXPECT_EQ(watcher.all[1].begin_ps, 50'000);
  EXPECT_EQ(watcher.all[0].message.work, 0u);
}

TEST(TrailTest, whatever_is_lost_every_message_is_explained_to_the_picosecond) {
  std::size_t explained = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed, "trail_test");
    PairOptions options;
    options.path.timeout = 8;
    options.path.mtu = 1;
    options.world.profile.wqe_prefetch = 1 + static_cast<std::uint32_t>(rng.below(8));
    options.world.profile.pcie.outstanding_reads = 1 + static_cast<std::uint32_t>(rng.below(8));
    options.world.profile.gather_buffer_bytes = 512;
    options.world.profile.protection_cache.entries = static_cast<std::uint32_t>(rng.below(2));
    options.world.profile.translation_cache.entries = static_cast<std::uint32_t>(rng.below(3));
    Pair pair(options);
    ASSERT_TRUE(pair.ready);
    Watcher watcher;
    pair.world.tracer.add(watcher);
    const std::uint64_t one_of = 5 + rng.below(20);
    pair.world.to_server.keep = [&](ib::Packet&) { return rng.below(one_of) != 0; };
    pair.world.to_client.keep = [&](ib::Packet&) { return rng.below(one_of) != 0; };
    constexpr WqeOpcode kOpcodes[] = {WqeOpcode::kSend, WqeOpcode::kRdmaWrite, WqeOpcode::kRdmaRead,
                                      WqeOpcode::kAtomicFetchAdd};
    std::vector<std::int64_t> posted;
    for (std::uint64_t i = 0; i < 20; ++i) {
      const WqeOpcode opcode = kOpcodes[rng.below(4)];
      const auto bytes =
          opcode == WqeOpcode::kAtomicFetchAdd ? 8u : static_cast<std::uint32_t>(rng.below(3000));
      if (opcode == WqeOpcode::kSend && rng.below(4) != 0) {
        pair.b.program.post_recv(pair.b.qp, 0, {pair.b.sge(0, 4000)});
      }
      SendRequest request = request_of({ib::QpType::kRc, opcode, bytes}, pair, i);
      if (rng.below(3) == 0) request.flags = 0;
      posted.push_back(pair.world.now_ps());
      pair.a.program.post_send(pair.a.qp, request);
      if (rng.below(2) == 0) pair.world.run_for(Duration{static_cast<std::int64_t>(rng.below(3'000'000))});
    }
    for (int i = 0; i < 20; ++i) pair.b.program.post_recv(pair.b.qp, 0, {pair.b.sge(0, 4000)});
    pair.world.run_for(Duration{2'000'000'000'000});
    for (const Explained& one : watcher.all) {
      EXPECT_EQ(one.begin_ps, posted.at(one.message.work));
    }
    const auto completed = watcher.ended(MessageEnd::kCompleted);
    const auto entries = pair.a.program.drain(pair.a.send_cq);
    expect_same(entries, completed, pair.a.qp.made.number);
    EXPECT_LE(watcher.ended(MessageEnd::kReceived).size(), pair.b.program.drain(pair.b.recv_cq).size());
    explained += watcher.all.size();
  }
  EXPECT_GT(explained, 60u * 20);
}

TEST(TrailTest, a_picosecond_more_in_one_place_is_found_there) {
  const auto explain = [](auto change) {
    PairOptions options;
    options.world.with_switch = true;
    change(options.world);
    Pair pair(options);
    Watcher watcher;
    pair.world.tracer.add(watcher);
    pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 64)});
    pair.world.run_for(Duration{10'000'000});
    pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
    pair.world.run();
    const auto received = watcher.ended(MessageEnd::kReceived);
    EXPECT_EQ(received.size(), 1u);
    return received.at(0);
  };
  const Explained base = explain([](WorldOptions&) {});
  // A step that occurs `times` times takes that much longer, and no other step does, except for waits for
  // clock edges and times hidden behind other transfers.
  const auto expect_only = [&](const char* name, TrailKind kind, int times, auto change) {
    SCOPED_TRACE(name);
    const Explained more = explain(change);
    auto parts = more.parts();
    std::int64_t waits = 0;
    for (const auto& [part, ps] : base.parts()) parts[part] -= ps;
    const auto changed = parts.find({name, kind});
    ASSERT_NE(changed, parts.end());
    EXPECT_EQ(changed->second, times);
    for (const auto& [part, ps] : parts) {
      if (part.second == TrailKind::kEdge || part.second == TrailKind::kWait) {
        waits += ps;
      } else if (part != changed->first) {
        EXPECT_EQ(ps, 0) << part.first;
      }
    }
    EXPECT_EQ(more.latency() - base.latency(), times + waits);
  };
  constexpr TrailKind kDelay = TrailKind::kDelay;
  expect_only("host memory write", kDelay, 1,
              [](WorldOptions& x) { x.profile.pcie.memory_write_latency += Duration{1}; });
  expect_only("host memory read", kDelay, 2,
              [](WorldOptions& x) { x.profile.pcie.memory_read_latency += Duration{1}; });
  expect_only("PCIe one way", kDelay, 6,
              [](WorldOptions& x) { x.profile.pcie.one_way_latency += Duration{1}; });
  expect_only("link: cable", kDelay, 2, [](WorldOptions& x) { x.link.propagation += Duration{1}; });
  expect_only("link: error correction block", kDelay, 2, [](WorldOptions& x) {
    x.link.propagation += Duration{1};
    x.link.fec += Duration{1};
  });
  expect_only("link: transceivers", kDelay, 2, [](WorldOptions& x) {
    x.link.propagation += Duration{1};
    x.link.transceivers += Duration{1};
  });
  constexpr int kCycle = 2'500;
  constexpr TrailKind kCycles = TrailKind::kCycles;
  expect_only("doorbell", kCycles, kCycle, [](WorldOptions& x) { ++x.profile.doorbell.latency_cycles; });
  expect_only("WQE decode", kCycles, kCycle, [](WorldOptions& x) { ++x.profile.wqe_decode.latency_cycles; });
  expect_only("packetize", kCycles, kCycle, [](WorldOptions& x) { ++x.profile.packetize.latency_cycles; });
  expect_only("receive check", kCycles, kCycle,
              [](WorldOptions& x) { ++x.profile.receive_check.latency_cycles; });
  expect_only("ICRC", kCycles, 2 * kCycle, [](WorldOptions& x) { ++x.profile.icrc.latency_cycles; });
  expect_only("completion", kCycles, kCycle, [](WorldOptions& x) { ++x.profile.completion.latency_cycles; });
}

TEST(TrailTest, nothing_that_is_recorded_changes_when_someone_asks) {
  const auto records = [](bool asks) {
    Pair pair;
    Watcher watcher;
    if (asks) pair.world.tracer.add(watcher);
    for (int i = 0; i < 10; ++i) pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 20'000)});
    for (int i = 0; i < 10; ++i) pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 20'000)}});
    pair.world.run();
    EXPECT_EQ(watcher.all.size(), asks ? 20u : 0u);
    return pair.world.trace.records;
  };
  EXPECT_EQ(records(false), records(true));
}

}  // namespace
}  // namespace verbatim::test
