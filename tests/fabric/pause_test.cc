// Priority-based flow control between hosts and switches: when pauses are decided, when they have effect,
// what they hold up.
#include <gtest/gtest.h>

#include "sim/config/headroom.h"
#include "tests/fabric/pausing.h"

namespace verbatim::fabric {
namespace {

// Four packets fill the reserve. The head of the fourth arrives at 3 x 83,360 + 1,280 + 10,000 = 261,360: the
// frame has arrived at 261,360 + 5,760 + 10,000 = 277,120, and takes effect 100,000 later. The fifth packet
// starts at 333,440; the sixth would at 416,800.
TEST(Pause, a_full_reserve_pauses_the_sender) {
  PausedPair pair(4 * kPacketBlocks, 100, 100'000);
  pair.send(100);
  pair.simulation.engine.run();
  EXPECT_EQ(pair.receiver.arrivals.size(), 5u);
  const auto frames = pair.frames_of(1);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].time_ps, 3 * kLineTime + kHeadTime + kWayPs);
  EXPECT_EQ(frames[0].values[0], 1u) << "priorities";
  EXPECT_EQ(frames[0].values[1], 1u) << "paused";
  EXPECT_EQ(frames[0].values[2], 65'535u) << "quanta";
  EXPECT_EQ(pair.sender.port.paused_lanes(), 1u);
  EXPECT_EQ(pair.receiver.port.asked_pauses(), 1u);
}

// Without response time the frame has effect at 277,120, before the fifth packet.
TEST(Pause, a_packet_that_has_started_is_finished) {
  PausedPair pair(4 * kPacketBlocks, 100);
  pair.send(100);
  pair.simulation.engine.run();
  EXPECT_EQ(pair.receiver.arrivals.size(), 4u);
}

// The frame has effect in the instant in which the fifth packet would start, or a picosecond later.
TEST(Pause, a_packet_does_not_start_at_the_instant_of_a_pause) {
  const std::int64_t response = 4 * kLineTime - (3 * kLineTime + kHeadTime + kWayPs + kFrameTime + kWayPs);
  for (const std::int64_t later : {0, 1}) {
    PausedPair pair(4 * kPacketBlocks, 100, response + later);
    pair.send(100);
    pair.simulation.engine.run();
    EXPECT_EQ(pair.receiver.arrivals.size(), 4u + static_cast<std::size_t>(later));
  }
}

// All space is given back at 1 us: the frame is at the sender 15,760 later.
TEST(Pause, room_resumes_the_sender) {
  PausedPair pair(4 * kPacketBlocks, 100);
  pair.send(5);
  pair.simulation.engine.run_until(at(1'000'000));
  ASSERT_EQ(pair.receiver.arrivals.size(), 4u);
  pair.release(4);
  pair.simulation.engine.run();
  ASSERT_EQ(pair.receiver.arrivals.size(), 5u);
  EXPECT_EQ(pair.receiver.arrivals.back().head, at(1'000'000 + kFrameTime + kWayPs + kHeadTime + kWayPs));
  const auto frames = pair.frames_of(1);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[1].time_ps, 1'000'000);
  EXPECT_EQ(frames[1].values[0], 1u);
  EXPECT_EQ(frames[1].values[1], 0u);
}

// The pause takes effect at 277,120 and ends at 1,015,760. Repeated pauses arrive too late to count.
TEST(Pause, ports_count_pauses_and_packets_by_priority) {
  PausedPair pair(4 * kPacketBlocks, 100, 0, 2);
  pair.sender.port.count_priorities();
  pair.receiver.port.count_priorities();
  pair.send(5, 1);
  const std::int64_t paused = 3 * kLineTime + kHeadTime + kWayPs + kFrameTime + kWayPs;
  pair.simulation.engine.run_until(at(paused + 1'000));
  const auto of_sender = [&]() -> const ib::PriorityCounts& { return (*pair.sender.port.counters().priorities)[1]; };
  const auto of_receiver = [&]() -> const ib::PriorityCounts& { return (*pair.receiver.port.counters().priorities)[1]; };
  EXPECT_EQ(of_sender().rcv_pauses.total(at(paused + 1'000)), Duration(1'000));
  EXPECT_EQ(of_sender().rcv_pauses.ended, 0u);
  pair.simulation.engine.run_until(at(1'000'000));
  pair.release(4, 1);
  pair.simulation.engine.run();
  EXPECT_EQ(of_sender().xmit_packets, 5u);
  EXPECT_EQ(of_sender().xmit_bytes, 5 * kPacketBytes);
  EXPECT_EQ(of_receiver().rcv_packets, 5u);
  EXPECT_EQ(of_receiver().rcv_bytes, 5 * kPacketBytes);
  for (const ib::PriorityCounts::Pauses& pauses : {of_sender().rcv_pauses, of_receiver().xmit_pauses}) {
    EXPECT_EQ(pauses.frames, 2u);
    EXPECT_EQ(pauses.ended, 1u);
    EXPECT_EQ(pauses.total(pair.simulation.engine.now()), Duration(1'000'000 + kFrameTime + kWayPs - paused));
  }
  EXPECT_EQ(of_sender().xmit_pauses, ib::PriorityCounts::Pauses{});
  EXPECT_EQ((*pair.sender.port.counters().priorities)[0], ib::PriorityCounts{});
}

// A frame is repeated when half of its 65,535 quanta have passed, each of 64 bytes.
TEST(Pause, repeated_frames_count_at_both_ends) {
  PausedPair pair(4 * kPacketBlocks, 100);
  pair.sender.port.count_priorities();
  pair.receiver.port.count_priorities();
  pair.send(5);
  const std::int64_t interval = 65'535ll * 64 * 80 / 2, first = 3 * kLineTime + kHeadTime + kWayPs;
  pair.simulation.engine.run_until(at(first + 3 * interval + 2 * kWayPs));
  // A cable between parts reports them with its next window.
  EXPECT_EQ((*pair.sender.port.counters().priorities)[0].rcv_pauses.frames, kInWindows ? 1u : 4u);
  EXPECT_EQ((*pair.receiver.port.counters().priorities)[0].xmit_pauses.frames, 4u);
}

// After the link has failed no port is paused.
TEST(Pause, a_counted_pause_ends_with_its_link) {
  PausedPair pair(4 * kPacketBlocks, 100);
  pair.sender.port.count_priorities();
  pair.send(5);
  pair.simulation.engine.run_until(at(2'000'000));
  set_link(pair.sender.port, false);
  pair.simulation.engine.run_until(at(5'000'000));
  const ib::PriorityCounts::Pauses& pauses = (*pair.sender.port.counters().priorities)[0].rcv_pauses;
  EXPECT_EQ(pauses.total(at(5'000'000)), Duration(2'000'000 - (3 * kLineTime + kHeadTime + kWayPs + kFrameTime + kWayPs)));
}

// The fifth packet has waited for the receiver, number 1.
TEST(Pause, a_message_waits_for_the_port_that_pauses) {
  PausedPair pair(4 * kPacketBlocks, 100);
  pair.send(4);
  ib::PacketPtr packet = make_packet(1, kPayloadBytes, 4, 0);
  packet->trail = Trail(at(0));
  pair.sender.port.send(std::move(packet));
  pair.simulation.engine.run_until(at(1'000'000));
  pair.release(4);
  pair.simulation.engine.run();
  const auto steps = pair.receiver.kept.back()->trail.steps();
  const auto paused = std::ranges::find(steps, TrailKind::kWaitFor, [](const TrailStep& step) { return step.part.kind; });
  ASSERT_NE(paused, steps.end());
  EXPECT_STREQ(paused->part.name, "output: paused by the far end");
  EXPECT_EQ(paused->part.where, ComponentId{0});
  EXPECT_EQ(paused->part.amount, 1u);
  EXPECT_EQ(paused->end, at(1'000'000 + kFrameTime + kWayPs));
}

// A receiver that had a storm has paused without need.
TEST(Pause, a_message_names_a_storm) {
  PausedPair pair(4 * kPacketBlocks, 100);
  pair.receiver.port.set_pause_storm(1);
  pair.simulation.engine.run_until(at(100'000));
  ib::PacketPtr packet = make_packet(1, kPayloadBytes, 0, 0);
  packet->trail = Trail(at(100'000));
  pair.sender.port.send(std::move(packet));
  pair.simulation.engine.run_until(at(1'000'000));
  pair.receiver.port.set_pause_storm(0);
  pair.simulation.engine.run();
  ASSERT_EQ(pair.receiver.kept.size(), 1u);
  const auto steps = pair.receiver.kept.back()->trail.steps();
  const auto paused = std::ranges::find(steps, TrailKind::kWaitFor, [](const TrailStep& step) { return step.part.kind; });
  ASSERT_NE(paused, steps.end());
  EXPECT_STREQ(paused->part.name, "output: paused by the far end, which had a pause storm");
}

TEST(Pause, a_sender_stays_paused_while_headroom_is_in_use) {
  PausedPair pair(4 * kPacketBlocks, 100, 100'000);
  pair.send(6);
  pair.simulation.engine.run_until(at(1'000'000));
  ASSERT_EQ(pair.receiver.arrivals.size(), 5u);
  pair.release(1);
  pair.simulation.engine.run_until(at(2'000'000));
  EXPECT_EQ(pair.receiver.arrivals.size(), 5u) << "four packets are still in the reserve";
  pair.release(1);
  pair.simulation.engine.run();
  EXPECT_EQ(pair.receiver.arrivals.size(), 6u);
}

// The receiver's own packet starts in the instant of the decision, and the frame waits for it.
TEST(Pause, a_frame_goes_behind_a_packet_of_its_instant_and_before_the_next) {
  PausedPair pair(4 * kPacketBlocks, 100);
  const std::int64_t decision = 3 * kLineTime + kHeadTime + kWayPs;
  pair.receiver.port.send(make_packet(1, kPayloadBytes, 50), at(decision));
  pair.receiver.port.send(make_packet(1, kPayloadBytes, 51), at(decision));
  pair.send(100);
  pair.simulation.engine.run();
  const auto frames = pair.frames_of(1);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].time_ps, decision + kLineTime);
  ASSERT_EQ(pair.sender.arrivals.size(), 2u);
  EXPECT_EQ(pair.sender.arrivals[1].head, at(decision + kLineTime + kFrameLineTime + kHeadTime + kWayPs));
}

TEST(Pause, each_priority_is_paused_for_itself) {
  PausedPair pair(4 * kPacketBlocks, 100, 0, 8);
  pair.send(10, 3);
  pair.send(3, 5);
  pair.simulation.engine.run();
  std::size_t of_five = 0;
  for (const auto& packet : pair.receiver.kept) of_five += packet->lrh.lane.value == 5;
  EXPECT_EQ(of_five, 3u);
  EXPECT_LT(pair.receiver.arrivals.size(), 13u);
  EXPECT_EQ(pair.sender.port.paused_lanes(), 1u << 3);
}

TEST(Pause, a_lossy_priority_is_not_paused_and_drops) {
  Simulation simulation;
  Host sender(simulation, 0, ports_with(100, 2)), receiver(simulation, 1, ports_with(100, 2));
  LinkParams link = pausing_cable(20);
  link.lossless_lanes = 1 << 1;
  simulation.connect(sender.port, receiver.port, link);
  receiver.release = false;
  for (std::uint32_t i = 0; i < 10; ++i) sender.port.send(make_packet(1, kPayloadBytes, i, 0));
  simulation.engine.run();
  EXPECT_EQ(receiver.arrivals.size(), 6u) << "of 16 blocks each, into 100";
  EXPECT_EQ(receiver.dropped, 4u);
  EXPECT_TRUE(simulation.trace.of(TraceEvent::kPauseFrame).empty());
}

// The receiver's own packet is on the line when the reserve is full. All room is given back at the instant at which the line is
// free: one frame leaves, and it reports that.
TEST(Pause, a_frame_reports_the_departures_of_its_instant) {
  PausedPair pair(4 * kPacketBlocks, 100);
  constexpr std::int64_t kDecision = 3 * kLineTime + kHeadTime + kWayPs, kFree = kDecision - 1'000 + kLineTime;
  pair.receiver.port.send(make_packet(1, kPayloadBytes, 50), at(kDecision - 1'000));
  pair.send(4);
  pair.simulation.engine.run_until(at(kFree - 1));
  for (int i = 0; i < 4; ++i) pair.receiver.port.release(ib::VirtualLane{0}, kPacketBytes, at(kFree));
  pair.simulation.engine.run();
  const auto frames = pair.frames_of(1);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].time_ps, kFree);
  EXPECT_EQ(frames[0].values[0], 1u) << "priorities";
  EXPECT_EQ(frames[0].values[1], 0u) << "paused";
}

// Lane 0 of the switch's first port is paused while its packets wait for a receiver that has paused the switch. Packets of
// another port leave, which would give it room. Lane 1 fills: that does not resume lane 0, of which nothing has left.
TEST(Pause, a_lane_that_no_packet_leaves_is_not_resumed) {
  constexpr std::uint32_t kCell = 1'024, kHeadroomCells = 20, kPoolCells = 100, kPorts = 4, kLanes = 2;
  Simulation simulation;
  SwitchProfile profile;
  profile.virtual_lanes = kLanes;
  profile.shared_memory = {.bytes = (kPorts * kLanes * kHeadroomCells + kPoolCells) * kCell, .cell_bytes = kCell};
  Switch middle(simulation.engine, simulation.tracer, ComponentId{0}, profile,
                {ComponentId{1}, ComponentId{2}, ComponentId{3}, ComponentId{4}});
  middle.set_forwarding_table({Switch::kNoRoute, PortNumber{1}, PortNumber{2}, PortNumber{3}, PortNumber{4}});
  const PortParams ports = ports_with(kHeadroomCells * kCell / kCreditBlockBytes + 4 * kPacketBlocks, kLanes);
  std::vector<std::unique_ptr<Host>> hosts;
  for (std::uint32_t i = 1; i <= kPorts; ++i) {
    LinkParams link = pausing_cable(kHeadroomCells * kCell / kCreditBlockBytes);
    if (i == kPorts) link.byte_time = {100'000, 1};
    hosts.push_back(std::make_unique<Host>(simulation, 4 + i, ports));
    simulation.connect(hosts.back()->port, middle.port(PortNumber{static_cast<std::uint8_t>(i)}), link);
  }
  Host &sender = *hosts[0], &receiver = *hosts[1], &other = *hosts[2];
  receiver.release = false;
  for (std::uint32_t i = 0; i < 40; ++i) other.port.send(make_packet(4, kPayloadBytes, i));
  simulation.engine.run_until(at(10'000'000));
  // 40 of 100 cells are in use. The receiver takes 4 of these packets; the last of the others leaves as much free as they have.
  for (std::uint32_t i = 0; i < 34; ++i) sender.port.send(make_packet(2, kPayloadBytes, i));
  simulation.engine.run_until(at(5'000'000'000));
  EXPECT_EQ(hosts[3]->arrivals.size(), 40u);
  EXPECT_EQ(sender.port.paused_lanes(), 1u);
  // As many as are free when 35 of them have arrived.
  for (std::uint32_t i = 0; i < 39; ++i) sender.port.send(make_packet(2, kPayloadBytes, i, 1));
  simulation.engine.run_until(at(6'000'000'000));
  const SharedBuffer& memory = *middle.buffer().groups();
  const std::size_t first_group = middle.buffer().group_of(PortNumber{1}, ib::VirtualLane{0});
  EXPECT_EQ(memory.used_cells(first_group), 30u);
  EXPECT_EQ(memory.used_cells(first_group + 1), 35u);
  EXPECT_TRUE(memory.has_room_again(first_group));
  EXPECT_EQ(sender.port.paused_lanes(), 3u);
}

// A pause is repeated each 65,535 x 64 bytes / 2 = 167.7696 us: 59 times in 10 ms. Nothing of it is an event.
TEST(Pause, a_pause_that_lasts_is_repeated_without_events) {
  PausedPair pair(4 * kPacketBlocks, 100);
  pair.send(100);
  pair.simulation.engine.run();
  const std::uint64_t events = pair.simulation.engine.events_executed();
  pair.simulation.engine.run_until(at(10'000'000'000));
  pair.receiver.port.send(make_packet(1, kPayloadBytes, 50));
  pair.simulation.engine.run();
  EXPECT_EQ(pair.receiver.port.flow_control_packets(), 1u + 59u);
  EXPECT_EQ(pair.simulation.engine.events_executed(), events + 1) << "the arrival of the receiver's packet";
}

// Frames in flight are lost when the link fails, and the pause ends. When it comes up, the receiver pauses
// again.
TEST(Pause, a_pause_is_asked_for_again_when_the_link_comes_up) {
  PausedPair pair(4 * kPacketBlocks, 100);
  pair.send(4);
  pair.simulation.engine.run_until(at(1'000'000));
  EXPECT_EQ(pair.sender.port.paused_lanes(), 1u);
  set_link(pair.sender.port, false);
  EXPECT_EQ(pair.sender.port.paused_lanes(), 0u);
  pair.simulation.engine.run_until(at(2'000'000));
  set_link(pair.sender.port, true);
  pair.send(10);
  pair.simulation.engine.run();
  EXPECT_EQ(pair.sender.port.paused_lanes(), 1u);
  const auto frames = pair.frames_of(1);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[1].time_ps, 2'000'000);
  EXPECT_LT(pair.receiver.arrivals.size(), 14u);
}

// The worst case of equal packets: the receiver's own largest packet starts at the instant of the decision,
// and a packet of the sender a picosecond before the pause has effect. The fourth packet finds one block too
// little in the reserve.
TEST(Headroom, the_exact_bound_of_equal_packets_is_enough_and_a_block_less_is_not) {
  constexpr std::int64_t kDecision = 3 * kLineTime + kHeadTime + kWayPs;
  const std::int64_t response = 6 * kLineTime + 1 - (kDecision + kLineTime + kFrameTime + kWayPs);
  const std::uint32_t exact =
      config::headroom_of_equal_packets(pausing_cable(0, response), kPacketBytes, kPacketBytes, kCreditBlockBytes);
  EXPECT_EQ(exact, 4 * kPacketBlocks * kCreditBlockBytes) << "those that start at 3, 4, 5 and 6 x 83,360";
  for (const std::uint32_t less : {0u, 1u}) {
    const std::uint32_t headroom = exact / kCreditBlockBytes - less;
    Simulation simulation;
    Host sender(simulation, 0, ports_with(4 * kPacketBlocks - 1 + headroom));
    Switch middle(simulation.engine, simulation.tracer, ComponentId{1},
                  {.cut_through_cycles = 1'000'000,
                   .input_buffer_bytes = (4 * kPacketBlocks - 1 + headroom) * kCreditBlockBytes},
                  {ComponentId{2}, ComponentId{3}});
    Host far(simulation, 4, ports_with(4 * kPacketBlocks - 1 + headroom));
    middle.set_forwarding_table({Switch::kNoRoute, PortNumber{2}, PortNumber{1}});
    simulation.connect(sender.port, middle.port(PortNumber{1}), pausing_cable(headroom, response));
    simulation.connect(middle.port(PortNumber{2}), far.port, pausing_cable(headroom, response));
    middle.port(PortNumber{1}).send(make_packet(2, kPayloadBytes, 99), at(kDecision));
    for (std::uint32_t i = 0; i < 20; ++i) sender.port.send(make_packet(1, kPayloadBytes, i));
    simulation.engine.run_until(at(2'000'000));
    EXPECT_EQ(simulation.trace.of(TraceEvent::kPacketDropped).size(), less);
    simulation.engine.run();
    EXPECT_EQ(far.arrivals.size(), 20u - less);
  }
}

TEST(Headroom, the_bound_covers_packets_of_any_size) {
  const LinkParams link = pausing_cable(0, 100'000);
  const std::uint32_t bound = config::headroom_bound(link, 64, 4'200, 144);
  for (std::uint32_t size = 64; size <= 4'200; ++size) {
    ASSERT_LE(config::headroom_of_equal_packets(link, size, 4'200, 144), bound) << size;
  }
  EXPECT_LT(bound, 2 * config::headroom_of_equal_packets(link, 4'200, 4'200, 144));
}

// The table of section 1.2 of the facts: cells of 144 bytes, all packets small, an MTU of 9,100 bytes, 1,024
// of lossless ones.
TEST(Headroom, the_formula_of_sonic) {
  const auto of = [](std::uint64_t rate_mbps, std::uint32_t metres) {
    return config::sonic_headroom({.rate_mbps = rate_mbps, .cable_mm = metres * 1'000});
  };
  EXPECT_EQ(of(100'000, 5), 81'920u);
  EXPECT_EQ(of(100'000, 40), 92'160u);
  EXPECT_EQ(of(100'000, 300), 163'840u);
  EXPECT_EQ(of(200'000, 5), 92'160u);
  EXPECT_EQ(of(200'000, 40), 111'616u);
  EXPECT_EQ(of(200'000, 300), 256'000u);
  EXPECT_EQ(of(400'000, 5), 159'744u);
  EXPECT_EQ(of(400'000, 40), 198'656u);
  EXPECT_EQ(of(400'000, 300), 487'424u);
  EXPECT_EQ(of(123, 5), 0u) << "not in the table";
}

// A receiver that takes nothing stops a chain of switches one after the other. Switch k pauses the one before
// it when its reserve of `kReserve` packets is full. Worked out here by hand: of packet n, a[n] is the
// arrival of its head, d[n] its start.
TEST(Pause, a_receiver_that_takes_nothing_stops_a_chain_hop_by_hop) {
  constexpr std::uint32_t kReserve = 4, kHops = 3;
  constexpr std::int64_t kThrough = 100'000;  // 40 cycles of 2.5 ns
  Simulation simulation;
  const std::uint32_t blocks = kReserve * kPacketBlocks + 1'000;
  Host sender(simulation, 0, ports_with(blocks));
  std::vector<std::unique_ptr<Switch>> switches;
  const SwitchProfile profile{.cut_through_cycles = 40, .input_buffer_bytes = blocks * kCreditBlockBytes};
  for (std::uint32_t k = 0; k < kHops; ++k) {
    switches.push_back(
        std::make_unique<Switch>(simulation.engine, simulation.tracer, ComponentId{10 * k + 10}, profile,
                                 std::vector{ComponentId{10 * k + 11}, ComponentId{10 * k + 12}}));
    switches.back()->set_forwarding_table({Switch::kNoRoute, PortNumber{2}});
  }
  Host receiver(simulation, 90, ports_with(blocks));
  receiver.release = false;
  simulation.connect(sender.port, switches[0]->port(PortNumber{1}), pausing_cable(1'000));
  for (std::uint32_t k = 0; k + 1 < kHops; ++k) {
    simulation.connect(switches[k]->port(PortNumber{2}), switches[k + 1]->port(PortNumber{1}),
                       pausing_cable(1'000));
  }
  simulation.connect(switches.back()->port(PortNumber{2}), receiver.port, pausing_cable(1'000));
  for (std::uint32_t i = 0; i < 200; ++i) sender.port.send(make_packet(1, kPayloadBytes, i));
  simulation.engine.run();
  EXPECT_TRUE(simulation.trace.of(TraceEvent::kPacketDropped).empty());

  std::vector<std::vector<std::int64_t>> arrive(kHops + 1),
      start(kHops + 1);  // at a hop; the last is the receiver
  for (std::int64_t n = 0; n < 200; ++n) {
    std::int64_t leaves = n * kLineTime;
    for (std::uint32_t k = 0; k < kHops; ++k) {
      arrive[k].push_back(leaves + kHeadTime + kWayPs);
      const std::int64_t edge = (arrive[k].back() + 2'499) / 2'500 * 2'500;
      leaves = std::max(edge + kThrough, n == 0 ? 0 : start[k].back() + kLineTime);
      start[k].push_back(leaves);
    }
    arrive[kHops].push_back(leaves + kHeadTime + kWayPs);
  }
  std::int64_t decision = arrive[kHops][kReserve - 1];
  std::vector<std::pair<std::uint32_t, std::int64_t>> expected{{90, decision}};
  for (std::uint32_t k = kHops; k-- > 0;) {
    const std::int64_t effect = decision + kFrameTime + kWayPs;
    std::size_t started = 0;
    while (start[k][started] < effect) ++started;
    decision = arrive[k][started + kReserve - 1];
    expected.push_back({10 * k + 11, decision});
  }
  std::vector<std::pair<std::uint32_t, std::int64_t>> frames;
  for (const TraceRecord& record : simulation.trace.of(TraceEvent::kPauseFrame))
    frames.push_back({record.component, record.time_ps});
  EXPECT_EQ(frames, expected);
}

// Two inputs of a switch share its memory: with alpha 1/4 of 400 cells less what both take, each is full at a
// sixth of the pool.
TEST(Pause, ports_of_a_switch_share_its_memory) {
  Simulation simulation;
  constexpr std::uint32_t kCell = 64;
  SwitchProfile profile;
  profile.shared_memory = {
      .bytes = (400 + 2 * 1'000 + 1'000) * kCell, .cell_bytes = kCell, .lossless_alpha_log2 = -2};
  Host a(simulation, 0, ports_with(4'000)), b(simulation, 1, ports_with(4'000)),
      receiver(simulation, 2, ports_with(1'100));
  receiver.release = false;
  Switch middle(simulation.engine, simulation.tracer, ComponentId{10}, profile,
                {ComponentId{11}, ComponentId{12}, ComponentId{13}});
  middle.set_forwarding_table({Switch::kNoRoute, PortNumber{3}});
  for (const auto& [host, port] : {std::pair(&a, 1), std::pair(&b, 2), std::pair(&receiver, 3)}) {
    simulation.connect(host->port, middle.port(PortNumber{static_cast<std::uint8_t>(port)}),
                       pausing_cable(1'000));
  }
  for (std::uint32_t i = 0; i < 200; ++i) {
    a.port.send(make_packet(1, kPayloadBytes, 2 * i));
    b.port.send(make_packet(1, kPayloadBytes, 2 * i + 1));
  }
  simulation.engine.run();
  EXPECT_TRUE(simulation.trace.of(TraceEvent::kPacketDropped).empty());
  EXPECT_EQ(middle.port(PortNumber{1}).asked_pauses(), 1u);
  EXPECT_EQ(middle.port(PortNumber{2}).asked_pauses(), 1u);
  // n packets each: 16 n <= (400 - 32 n) / 4 fits four of each and, behind those of a, no fifth one of b.
  const SharedBuffer& memory = *middle.buffer().groups();
  EXPECT_GE(memory.used_cells(0), 64u);
  EXPECT_LE(memory.free_pool_cells(), 400u - 2 * 64);
}

}  // namespace
}  // namespace verbatim::fabric
