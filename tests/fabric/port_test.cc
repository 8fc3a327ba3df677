// Timing gates of links and ports: bytes over a rate, metres of cable, credits.
#include "sim/fabric/port.h"

#include "tests/fabric/net.h"

namespace verbatim::fabric {
namespace {

// Keeps what ports show of their output queues.
struct QueueLog final : FactObserver {
  struct Entry {
    std::int64_t time_ps;
    std::uint32_t port, lane;
    std::uint64_t bytes;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  void on_command(ComponentId, std::uint32_t, std::span<const std::byte>, Instant) override {}
  void on_level(ComponentId, Queue, std::uint32_t, std::uint32_t, Instant) override {}
  void on_credits(ComponentId, std::uint32_t, std::uint32_t, std::uint32_t, Instant) override {}
  void on_placement(const TraceRecord&, std::uint32_t, bool) override {}
  void on_output_queue(ComponentId port, std::uint32_t lane, std::uint64_t bytes, Instant now) override {
    entries.push_back({to_ps(now), port.value, lane, bytes});
  }
  std::vector<Entry> entries;
};

// The first packet starts at its arrival, the second when the line is free, the third is lost with the link.
TEST(Port, an_output_queue_is_shown_when_packets_come_and_leave) {
  Simulation simulation;
  QueueLog log;
  simulation.tracer.add(log);
  Host first(simulation, 0), second(simulation, 1);
  simulation.connect(first.port, second.port, {kEdr4x, Duration(1'000)});
  for (int i = 0; i < 3; ++i) first.port.send(make_packet(1, 1028));
  simulation.engine.run_until(at(1054 * 80));
  set_link(first.port, false);
  using Entry = QueueLog::Entry;
  const std::int64_t next = 1054 * 80;
  EXPECT_EQ(log.entries, (std::vector<Entry>{{0, 0, 0, 1054}, {0, 0, 0, 0}, {0, 0, 0, 1054}, {0, 0, 0, 2 * 1054},
                                             {next, 0, 0, 1054}, {next, 0, 0, 0}}));
  EXPECT_EQ(first.port.most_queued_bytes(ib::VirtualLane{0}), 2u * 1054);
  EXPECT_EQ(first.port.queued_bytes(ib::VirtualLane{0}), 0u);
}

// head = t0 + ceil((before + 8) * byte time) + propagation; tail = t0 + ceil((before + wire) * byte time) +
// the same.
TEST(Port, a_packet_that_is_sent_again_has_its_size_and_flow_anew) {
  Simulation simulation;
  Host first(simulation, 0), second(simulation, 1);
  connect(first.port, second.port, {kEdr4x, Duration(1'000)});
  first.port.send(make_packet(1, 64));
  simulation.engine.run();
  ASSERT_EQ(second.kept.size(), 1u);
  ib::PacketPtr packet = std::move(second.kept.back());
  EXPECT_EQ(packet->sent_bytes, packet->wire_bytes());
  packet->flow_hash = 1;
  packet->payload.length = 128;
  second.port.send(std::move(packet));
  simulation.engine.run();
  ASSERT_EQ(first.kept.size(), 1u);
  EXPECT_EQ(first.kept.back()->sent_bytes, first.kept.back()->wire_bytes());
  EXPECT_EQ(first.kept.back()->flow_hash, 0u);
}

TEST(Link, a_packet_takes_its_bytes_over_the_rate_and_the_propagation) {
  Simulation simulation;
  Host a(simulation, 0), b(simulation, 1);
  LinkParams link{kEdr4x, Duration(23'000)};
  link.bytes_before = 1;
  simulation.connect(a.port, b.port, link);
  simulation.engine.run_until(at(1'000));
  a.port.send(make_packet(2, 4096));
  expect_arrival_at(simulation, b, 1, at(1'000 + (1 + 8) * 80 + 23'000));
  EXPECT_EQ(b.arrivals[0].tail, at(1'000 + (1 + 4122) * 80 + 23'000));
  const auto sent = simulation.trace.of(TraceEvent::kPacketTransmitted);
  EXPECT_EQ(sent[0], (TraceRecord{1'000, 0, TraceEvent::kPacketTransmitted, {1, 0, 0, 4122}}));
  EXPECT_EQ(simulation.trace.of(TraceEvent::kPacketReceived)[0].component, 1u);
}

// The tail of packet n of a busy period: t0 + ceil(bytes of all n * 440 / 3) + propagation.
TEST(Link, fdr_rounds_once_per_busy_period) {
  Simulation simulation;
  Host a(simulation, 0), b(simulation, 1);
  simulation.connect(a.port, b.port, {kFdr4x, Duration(5'000)});
  for (std::uint32_t i = 0; i < 10; ++i) a.port.send(make_packet(2, 1028, i));
  simulation.engine.run();
  ASSERT_EQ(b.arrivals.size(), 10u);
  for (std::int64_t n = 0; n < 10; ++n) {
    EXPECT_EQ(b.arrivals[n].tail, at(((n + 1) * 1054 * 440 + 2) / 3 + 5'000)) << n;
    EXPECT_EQ(b.arrivals[n].head, at(((n * 1054 + 8) * 440 + 2) / 3 + 5'000)) << n;
  }
}

TEST(Link, a_busy_period_starts_anew_after_a_gap) {
  Simulation simulation;
  Host a(simulation, 0), b(simulation, 1);
  simulation.connect(a.port, b.port, {kFdr4x, kWay});
  a.port.send(make_packet(2, 0, 0));  // 26 bytes: 3813.3 ps
  simulation.engine.run_until(at(3'815));
  a.port.send(make_packet(2, 0, 1));
  simulation.engine.run();
  EXPECT_EQ(b.arrivals[0].tail, at(3'814 + kWayPs));
  EXPECT_EQ(b.arrivals[1].tail, at(3'815 + 3'814 + kWayPs));
}

// The next packet starts behind the gap: t0 + (before + wire + after) * byte time.
TEST(Link, the_gap_behind_a_packet_delays_the_next_and_not_its_own_tail) {
  Simulation simulation;
  Host a(simulation, 0), b(simulation, 1);
  LinkParams link{kEdr4x, kWay};
  link.bytes_after = 12;
  simulation.connect(a.port, b.port, link);
  a.port.send(make_packet(2, 64, 0));
  a.port.send(make_packet(2, 64, 1));
  simulation.engine.run();
  EXPECT_EQ(b.arrivals[0].tail, at(90 * 80 + kWayPs));
  EXPECT_EQ(b.arrivals[1].head, at((90 + 12 + 8) * 80 + kWayPs));
}

// 4122 bytes are 65 blocks; a buffer of 129 blocks holds one. The second packet starts when the credits of
// the first are back: release + (8 bytes of flow control) * byte time + propagation.
TEST(Credits, a_packet_waits_until_the_far_end_has_room_for_all_of_it) {
  for (const std::uint32_t blocks : {129u, 130u}) {
    Simulation simulation;
    PortParams params;
    params.input_buffer_bytes = blocks * 64;
    Host a(simulation, 0), b(simulation, 1, params);
    b.release = false;
    simulation.connect(a.port, b.port, {kEdr4x, Duration(23'000)});
    a.port.send(make_packet(2, 4096, 0));
    a.port.send(make_packet(2, 4096, 1));
    if (blocks == 130) {  // no credits missing: back to back
      expect_arrival_at(simulation, b, 2, at(4122 * 80 + 8 * 80 + 23'000));
      continue;
    }
    simulation.engine.run_until(at(1'000'000));
    EXPECT_EQ(b.arrivals.size(), 1u);
    EXPECT_TRUE(simulation.engine.empty()) << "waiting for credits must not keep the engine busy";
    EXPECT_EQ(a.port.credits(ib::VirtualLane{0}), 64u);
    b.port.release(*b.kept[0]);
    const Instant start = at(1'000'000 + 8 * 80 + 23'000);
    expect_arrival_at(simulation, b, 2, start + Duration(8 * 80 + 23'000));
  }
}

// The second packet's message waits for the port whose buffer is full.
TEST(Credits, a_message_that_waits_for_them_names_the_far_end) {
  Simulation simulation;
  PortParams params;
  params.input_buffer_bytes = 129 * 64;
  Host a(simulation, 0), b(simulation, 1, params);
  b.release = false;
  simulation.connect(a.port, b.port, {kEdr4x, Duration(23'000)});
  a.port.send(make_packet(2, 4096, 0));
  ib::PacketPtr second = make_packet(2, 4096, 1);
  second->trail = Trail(at(0));
  a.port.send(std::move(second));
  simulation.engine.run_until(at(1'000'000));
  b.port.release(*b.kept[0]);
  simulation.engine.run();
  ASSERT_EQ(b.kept.size(), 2u);
  const auto steps = b.kept[1]->trail.steps();
  const auto waited = std::ranges::find(steps, TrailKind::kWaitFor, [](const TrailStep& step) { return step.part.kind; });
  ASSERT_NE(waited, steps.end());
  EXPECT_STREQ(waited->part.name, "output: credits of the far end");
  EXPECT_EQ(waited_for(waited->part), ComponentId{1});
  EXPECT_EQ(waited->end, at(1'000'000 + 8 * 80 + 23'000));
}

TEST(Credits, may_be_promised_for_later_and_come_in_any_order) {
  Simulation simulation;
  PortParams params;
  params.input_buffer_bytes = 130 * 64;
  Host a(simulation, 0), b(simulation, 1, params);
  b.release = false;
  simulation.connect(a.port, b.port, {kEdr4x, kWay});
  for (std::uint32_t i = 0; i < 4; ++i) a.port.send(make_packet(2, 4096, i));
  simulation.engine.run_until(at(1'000'000));
  ASSERT_EQ(b.arrivals.size(), 2u);
  b.port.release(ib::VirtualLane{0}, 4122, at(5'000'000));
  b.port.release(ib::VirtualLane{0}, 4122, at(3'000'000));
  expect_arrival_at(simulation, b, 3, at(3'000'000 + 8 * 80 + 8 * 80 + 2 * kWayPs));
  expect_arrival_at(simulation, b, 4, at(5'000'000 + 8 * 80 + 8 * 80 + 2 * kWayPs));
}

// With an update interval I the release at t is reported at ceil(t / I) * I.
TEST(Credits, updates_leave_at_multiples_of_their_interval) {
  Simulation simulation;
  PortParams params;
  params.input_buffer_bytes = 66 * 64;
  Host a(simulation, 0), b(simulation, 1, params);
  LinkParams link{kEdr4x, kWay};
  link.credit_update_interval = Duration(4'096'000);
  simulation.connect(a.port, b.port, link);
  a.port.send(make_packet(2, 4096, 0));
  a.port.send(make_packet(2, 4096, 1));
  expect_arrival_at(simulation, b, 1, at(8 * 80 + kWayPs));
  expect_arrival_at(simulation, b, 2, at(4'096'000 + 8 * 80 + 8 * 80 + 2 * kWayPs));
}

TEST(Credits, of_one_lane_do_not_stop_another) {
  Simulation simulation;
  PortParams params;
  params.virtual_lanes = 2;
  params.input_buffer_bytes = 66 * 64;
  Host a(simulation, 0, params), b(simulation, 1, params);
  b.release = false;
  simulation.connect(a.port, b.port, {kEdr4x, kWay});
  a.port.send(make_packet(2, 4096, 0, 0));
  a.port.send(make_packet(2, 4096, 1, 0));
  a.port.send(make_packet(2, 64, 2, 1));
  simulation.engine.run();
  EXPECT_EQ(b.numbers, (std::vector<std::uint32_t>{0, 2}));
}

TEST(Port, lanes_take_turns_by_the_tables) {
  Simulation simulation;
  PortParams params;
  params.virtual_lanes = 3;
  params.arbitration.low = {{0, 1}, {1, 1}, {2, 1}};
  Host a(simulation, 0, params), b(simulation, 1, params);
  simulation.connect(a.port, b.port, {kEdr4x, kWay});
  for (std::uint32_t i = 0; i < 9; ++i) a.port.send(make_packet(2, 64, i, static_cast<std::uint8_t>(i / 3)));
  simulation.engine.run();
  EXPECT_EQ(b.numbers, (std::vector<std::uint32_t>{0, 3, 6, 1, 4, 7, 2, 5, 8}));
}

TEST(Port, service_levels_share_the_lanes_that_both_ends_have) {
  Simulation simulation;
  PortParams four, two;
  four.virtual_lanes = 4;
  two.virtual_lanes = 2;
  Host a(simulation, 0, four), b(simulation, 1, two);
  EXPECT_EQ(a.port.lane_of(ib::ServiceLevel{7}).value, 3);
  simulation.connect(a.port, b.port, {kEdr4x, kWay});
  EXPECT_EQ(a.port.operational_lanes(), 2u);
  EXPECT_EQ(a.port.lane_of(ib::ServiceLevel{7}).value, 1);
}

struct RoomLog {
  std::vector<std::pair<std::int64_t, int>> calls;
  Engine* engine;
  static void on_room(void* self, ib::VirtualLane lane) {
    auto& log = *static_cast<RoomLog*>(self);
    log.calls.emplace_back(to_ps(log.engine->now()), lane.value);
  }
};

TEST(Port, tells_when_a_full_queue_has_room_again) {
  Simulation simulation;
  PortParams params;
  params.output_queue_bytes = 2 * 4122;
  Host a(simulation, 0, params), b(simulation, 1);
  simulation.connect(a.port, b.port, {kEdr4x, kWay});
  RoomLog log{{}, &simulation.engine};
  a.port.set_room_listener(&log, RoomLog::on_room);
  for (std::uint32_t i = 0; i < 3; ++i) {  // the first one leaves the queue at once
    EXPECT_TRUE(a.port.has_room(ib::VirtualLane{0}));
    a.port.send(make_packet(2, 4096, i));
  }
  EXPECT_FALSE(a.port.has_room(ib::VirtualLane{0}));
  EXPECT_TRUE(log.calls.empty()) << "never from send()";
  simulation.engine.run();
  EXPECT_EQ(log.calls, (std::vector<std::pair<std::int64_t, int>>{{4122 * 80, 0}}));
}

// Lane 0 is full, waits for credits that arrive at t, and has the next turn; a packet for lane 1 is also sent
// at t. In either order of these events, the owner is notified of lane 0's room.
TEST(Port, tells_of_room_also_when_another_lane_is_sent_to_at_that_instant) {
  Simulation simulation;
  PortParams params;
  params.virtual_lanes = 2;
  params.output_queue_bytes = 100;
  params.input_buffer_bytes = 66 * 64;
  Host a(simulation, 0, params), b(simulation, 1, params);
  b.release = false;
  simulation.connect(a.port, b.port, {kEdr4x, kWay});
  RoomLog log{{}, &simulation.engine};
  a.port.set_room_listener(&log, RoomLog::on_room);
  a.port.send(make_packet(2, 4096, 0, 0));
  a.port.send(make_packet(2, 64, 3, 1));
  a.port.send(make_packet(2, 4096, 1, 0));
  simulation.engine.run_until(at(1'000'000));
  b.port.release(*b.kept[0]);
  const Instant back = at(1'000'000 + 8 * 80 + kWayPs);
  struct Sender {
    Port& port;
    void fire() { port.send(make_packet(2, 64, 2, 1)); }
  } sender{a.port};
  // Class kCredit: before the port's own timer.
  Timer timer = Timer::of<&Sender::fire>(simulation.engine, ComponentId{9}, EventClass::kCredit, &sender);
  timer.schedule_at(back);
  simulation.engine.run();
  EXPECT_EQ(b.numbers, (std::vector<std::uint32_t>{0, 3, 1, 2}));
  EXPECT_EQ(log.calls, (std::vector<std::pair<std::int64_t, int>>{{to_ps(back), 0}}));
}

TEST(Port, without_a_cable_drops_what_is_sent) {
  Simulation simulation;
  Host a(simulation, 0);
  EXPECT_TRUE(a.port.has_room(ib::VirtualLane{0}));
  a.port.send(make_packet(2, 64, 5));
  EXPECT_TRUE(simulation.engine.empty());
  const auto drops = simulation.trace.of(TraceEvent::kPacketDropped);
  ASSERT_EQ(drops.size(), 1u);
  EXPECT_EQ(drops[0].values[3], static_cast<std::uint64_t>(DropReason::kLinkDown));
}

TEST(PortDeathTest, giving_back_more_than_was_taken_is_a_bug_of_ours) {
  Simulation simulation;
  Host a(simulation, 0), b(simulation, 1);
  simulation.connect(a.port, b.port, {kEdr4x, kWay});
  a.port.send(make_packet(2, 64));
  simulation.engine.run();
  b.port.release(*b.kept[0]);
  simulation.engine.run_until(at(1'000'000));
  EXPECT_EXIT(a.port.credits(ib::VirtualLane{0}), testing::ExitedWithCode(70), "CHECK");
}

// An uncontended packet: one event for its arrival, one for each start that had to wait.
TEST(Port, a_packet_costs_two_events_at_the_most) {
  Simulation simulation;
  Host a(simulation, 0), b(simulation, 1);
  simulation.connect(a.port, b.port, {kEdr4x, Duration(10'000)});
  for (std::uint32_t i = 0; i < 500; ++i) a.port.send(make_packet(2, 1024, i));
  simulation.engine.run();
  EXPECT_EQ(b.arrivals.size(), 500u);
  EXPECT_EQ(simulation.engine.events_executed(), 500u + 499u);
}

}  // namespace
}  // namespace verbatim::fabric
