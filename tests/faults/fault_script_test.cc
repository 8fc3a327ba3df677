// The packets that a rule hits, the effect, and its time.
#include "sim/faults/fault_script.h"

#include <algorithm>

#include "tests/fabric/pausing.h"

namespace verbatim::faults {
namespace {

using fabric::make_packet;

// Two nodes and a cable of 1 ns, EDR 4x.
struct Line {
  explicit Line(const std::vector<Rule>& rules) {
    simulation.connect(a.port, b.port, {fabric::kEdr4x, Duration(1'000)});
    for (const Rule& rule : rules) script.add(rule, a.port);
  }
  void send(std::uint32_t packets, std::uint32_t payload = 0) {
    for (std::uint32_t i = 0; i < packets; ++i) a.port.send(make_packet(2, payload, i));
    simulation.engine.run();
  }
  // All credits have been returned.
  bool is_whole() {
    simulation.engine.run_until(simulation.engine.now() + Duration(1'000'000));
    return a.port.credits(ib::VirtualLane{0}) == 65536 / fabric::kCreditBlockBytes;
  }

  fabric::Simulation simulation;
  fabric::Host a{simulation, 0}, b{simulation, 1};
  FaultScript script{simulation.engine, simulation.tracer};
};

using Numbers = std::vector<std::uint32_t>;

Rule drop(Selection selection) {
  Rule rule;
  rule.selection = selection;
  return rule;
}

TEST(FaultScript, numbers_select_the_first_then_every_so_many_th_so_many_in_all) {
  const std::pair<Selection, Numbers> kCases[] = {
      {{1, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9}},
      {{3, 1, 1}, {0, 1, 3, 4, 5, 6, 7, 8, 9}},
      {{3, 1, 4}, {0, 1, 6, 7, 8, 9}},
      {{2, 3, 0}, {0, 2, 3, 5, 6, 8, 9}},
      {{2, 3, 2}, {0, 2, 3, 5, 6, 7, 8, 9}},
      {{11, 1, 0}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
      {{1, 1, 0}, {}},
  };
  for (const auto& [selection, arriving] : kCases) {
    Line line({drop(selection)});
    line.send(10);
    EXPECT_EQ(line.b.numbers, arriving)
        << selection.first << " " << selection.every << " " << selection.count;
    EXPECT_EQ(line.script.fired(0), 10 - arriving.size());
    EXPECT_EQ(line.script.seen(0), 10u);
    EXPECT_EQ(line.simulation.trace.of(TraceEvent::kFault).size(), 10 - arriving.size());
    EXPECT_TRUE(line.is_whole());
  }
}

// Numbers of the packets that a rule hits, of so many.
std::vector<std::uint32_t> hits_of(const Rule& rule, std::uint32_t packets, const std::string& stream = "a") {
  fabric::Simulation simulation;
  fabric::Host a{simulation, 0}, b{simulation, 1};
  simulation.connect(a.port, b.port, {fabric::kEdr4x, Duration(1'000)});
  FaultScript script{simulation.engine, simulation.tracer};
  script.add(rule, a.port, Rng(7, stream));
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < packets; ++i) {
    const ib::PacketPtr packet = make_packet(2, 0, i);
    if (script.on_packet(a.port, *packet).is_lost) numbers.push_back(i);
  }
  EXPECT_EQ(script.fired(0), numbers.size());
  EXPECT_EQ(script.seen(0), packets);
  return numbers;
}

// Lengths of what is hit in a row.
std::vector<std::uint32_t> runs_of(const std::vector<std::uint32_t>& numbers) {
  std::vector<std::uint32_t> runs;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i == 0 || numbers[i] != numbers[i - 1] + 1) runs.push_back(0);
    ++runs.back();
  }
  return runs;
}

Rule drop_by_chance(std::uint64_t parts, std::uint64_t of, Burst burst = {}) {
  Rule rule = drop({1, 1, 0});
  rule.chance = Chance{parts, of};
  rule.burst = burst;
  return rule;
}

// Standard deviation of the number of hits: sqrt(100,000 * 0.01 * 0.99) = 31.
TEST(FaultScript, a_rate_hits_each_packet_with_that_chance) {
  EXPECT_NEAR(static_cast<double>(hits_of(drop_by_chance(1, 100), 100'000).size()), 1000, 4 * 31);
  EXPECT_EQ(hits_of(drop_by_chance(0, 100), 1'000).size(), 0u);
  EXPECT_EQ(hits_of(drop_by_chance(1, 1), 1'000).size(), 1'000u);
}

TEST(FaultScript, what_a_rate_hits_follows_from_its_stream_alone) {
  const Rule rule = drop_by_chance(1, 10);
  EXPECT_EQ(hits_of(rule, 1'000), hits_of(rule, 1'000));
  EXPECT_NE(hits_of(rule, 1'000), hits_of(rule, 1'000, "b"));
}

// Two lines: what is drawn for the packets of one does not depend on those of the other.
TEST(FaultScript, rules_of_other_ports_draw_nothing) {
  fabric::Simulation simulation;
  fabric::Host a{simulation, 0}, b{simulation, 1};
  simulation.connect(a.port, b.port, {fabric::kEdr4x, Duration(1'000)});
  FaultScript script{simulation.engine, simulation.tracer};
  const Rule rule = drop_by_chance(1, 10);
  script.add(rule, b.port, Rng(7, "b"));
  script.add(rule, a.port, Rng(7, "a"));
  Numbers numbers;
  for (std::uint32_t i = 0; i < 1'000; ++i) {
    const ib::PacketPtr packet = make_packet(2, 0, i);
    for (std::uint32_t others = 0; others < i % 3; ++others) script.on_packet(b.port, *packet);
    if (script.on_packet(a.port, *packet).is_lost) numbers.push_back(i);
  }
  EXPECT_EQ(numbers, hits_of(rule, 1'000));
}

TEST(FaultScript, a_rate_begins_at_the_nth_packet_and_ends_after_count_bursts) {
  Rule rule = drop_by_chance(1, 2, {3, false});
  rule.selection = {5, 1, 4};
  const Numbers numbers = hits_of(rule, 1'000);
  EXPECT_EQ(numbers.size(), 12u) << "four bursts of three";
  EXPECT_GE(numbers.front(), 4u) << "the fifth packet is number 4";
}

TEST(FaultScript, a_burst_of_given_length_hits_so_many_in_a_row) {
  Rule rule = drop({3, 10, 2});
  rule.burst = {4, false};
  EXPECT_EQ(hits_of(rule, 100), (Numbers{2, 3, 4, 5, 12, 13, 14, 15}));
  for (const std::uint32_t run : runs_of(hits_of(drop_by_chance(1, 1'000, {5, false}), 100'000))) EXPECT_EQ(run % 5, 0u);
}

// A burst ends behind each packet with chance 1/8; the next may begin at once, with chance 1/1000. 100,000 packets have about
// 100,000 / (1000 + 8) = 99 bursts, whose lengths have the mean 8 and the standard deviation 7.5; that of the mean is 0.75.
TEST(FaultScript, a_geometric_burst_has_that_length_in_the_mean) {
  const Numbers runs = runs_of(hits_of(drop_by_chance(1, 1'000, {8, true}), 100'000));
  EXPECT_NEAR(static_cast<double>(runs.size()), 99, 40);
  std::uint32_t sum = 0;
  for (const std::uint32_t run : runs) sum += run;
  EXPECT_NEAR(static_cast<double>(sum) / static_cast<double>(runs.size()), 8, 3);
  EXPECT_NE(*std::ranges::min_element(runs), *std::ranges::max_element(runs));
}

TEST(FaultScript, operation_and_time_narrow_what_counts) {
  Rule other = drop({1, 1, 0});
  other.operation = ib::Operation::kSendOnly;
  Rule same = drop({2, 1, 1});
  same.operation = ib::Operation::kSendMiddle;
  Rule late = drop({1, 1, 0});
  late.after = at(1);
  Line line({other, same, late});
  line.send(3, 0);
  EXPECT_EQ(line.b.numbers, (Numbers{0})) << "the first starts at 0, the second is `same`, the third is late";
  EXPECT_EQ(line.script.seen(0), 0u);
  EXPECT_EQ(line.script.fired(1), 1u);
  EXPECT_EQ(line.script.fired(2), 2u) << "one packet may be hit by several rules";
}

// A lost packet occupies the line as if it arrived: arrival of the next = (26 + 8) * 80 ps + 1 ns.
TEST(FaultScript, a_dropped_packet_takes_its_time_on_the_line) {
  Line line({drop({1, 1, 1})});
  line.send(2);
  ASSERT_EQ(line.b.arrivals.size(), 1u);
  EXPECT_EQ(line.b.arrivals[0].head, at((26 + 8) * 80 + 1'000));
  const auto dropped = line.simulation.trace.of(TraceEvent::kPacketDropped);
  ASSERT_EQ(dropped.size(), 1u);
  EXPECT_EQ(dropped[0].values[3], static_cast<std::uint64_t>(fabric::DropReason::kFault));
  EXPECT_EQ(line.simulation.trace.of(TraceEvent::kPacketTransmitted).size(), 2u);
}

// The copy follows at once, before what was queued behind: heads at 8, 34 and 60 bytes.
TEST(FaultScript, a_duplicate_follows_its_original_at_once_and_is_no_victim_itself) {
  Rule rule;
  rule.action = Action::kDuplicate;
  rule.selection = {1, 1, 2};
  Line line({rule});
  line.send(3);
  EXPECT_EQ(line.b.numbers, (Numbers{0, 0, 1, 1, 2}));
  for (std::size_t i = 0; i < line.b.arrivals.size(); ++i) {
    EXPECT_EQ(line.b.arrivals[i].head, at((26 * static_cast<std::int64_t>(i) + 8) * 80 + 1'000)) << i;
  }
  EXPECT_EQ(line.script.seen(0), 3u);
  EXPECT_TRUE(line.is_whole());
}

TEST(FaultScript, a_dropped_duplicate_is_what_was_sent) {
  Rule rule;
  rule.action = Action::kDuplicate;
  Line line({rule, drop({1, 1, 1})});
  line.send(1);
  EXPECT_EQ(line.b.numbers, (Numbers{0})) << "the original is lost, its copy comes";
}

TEST(FaultScript, a_delayed_packet_comes_so_much_later_and_is_overtaken) {
  Rule rule;
  rule.action = Action::kDelay;
  rule.delay = Duration(5'000);
  Line line({rule});
  line.send(4);
  EXPECT_EQ(line.b.numbers, (Numbers{1, 2, 0, 3})) << "heads at 3720, 5800, 6640 and 7880 ps";
  EXPECT_EQ(line.b.arrivals[2].head, at(8 * 80 + 1'000 + 5'000));
  EXPECT_TRUE(line.is_whole());
}

// Packets that no switch would mark are left alone, and do not count.
TEST(FaultScript, a_mark_hits_the_ith_packet_that_is_ecn_capable) {
  Rule rule;
  rule.action = Action::kMark;
  rule.selection = {2, 1, 1};
  Line line({rule});
  const std::uint8_t classes[] = {0x30, 0x32, 0x31, 0x33, 0x32};
  std::vector<std::uint8_t> arriving;
  for (std::uint32_t i = 0; i < 5; ++i) {
    ib::PacketPtr packet = make_packet(2, 0, i);
    packet->grh.emplace().traffic_class = classes[i];
    if (i != 4) packet->ethernet.emplace();
    const fabric::PacketFate fate = line.script.on_packet(line.a.port, *packet);
    EXPECT_FALSE(fate.is_lost || fate.is_duplicated);
    arriving.push_back(packet->grh->traffic_class);
  }
  EXPECT_EQ(arriving, (std::vector<std::uint8_t>{0x30, 0x32, 0x33, 0x33, 0x32}));
  EXPECT_EQ(line.script.seen(0), 3u) << "neither the first nor that of InfiniBand";
  EXPECT_EQ(line.script.fired(0), 1u);
}

// The low bits of its opcode are those of a SEND Middle.
TEST(FaultScript, a_congestion_notification_is_a_packet_without_operation) {
  Rule middle = drop({1, 1, 0}), any = drop({1, 1, 0});
  middle.operation = ib::Operation::kSendMiddle;
  Line line({middle, any});
  ib::PacketPtr packet = make_packet(2, 0);
  packet->bth.opcode = ib::Opcode::kCongestionNotification;
  line.script.on_packet(line.a.port, *packet);
  EXPECT_EQ(line.script.seen(0), 0u);
  EXPECT_EQ(line.script.seen(1), 1u);
}

TEST(FaultScript, corruption_is_marked_unless_it_is_hidden) {
  for (const bool hidden : {false, true}) {
    Rule rule;
    rule.action = Action::kCorrupt;
    rule.hidden = hidden;
    rule.byte = 3;
    Line line({rule});
    auto packet = make_packet(2, 4);
    packet->payload.buffer = ib::PayloadBuffer::allocate(8);
    std::fill_n(packet->payload.buffer.fill().begin(), 8, std::byte{7});
    packet->payload.offset = 2;
    const ib::Payload kept = packet->payload;
    line.a.port.send(std::move(packet));
    line.simulation.engine.run();
    const ib::Packet& got = *line.b.kept.at(0);
    EXPECT_EQ(got.corrupted, !hidden);
    EXPECT_NE(got.payload.bytes()[3], std::byte{7});
    EXPECT_EQ(got.payload.bytes()[2], std::byte{7});
    EXPECT_EQ(kept.bytes()[3], std::byte{7}) << "bytes shared with the sender stay";
  }
}

TEST(FaultScript, hidden_corruption_counts_packets_with_payload_only) {
  Rule rule;
  rule.action = Action::kCorrupt;
  rule.hidden = true;
  Line line({rule});
  line.send(3);
  EXPECT_EQ(line.script.seen(0), 0u);
}

// Fails between the head of one packet and that of the next: (26 * n + 8) * 80 ps + 1 ns.
TEST(FaultScript, a_link_that_fails_loses_what_is_queued_and_on_the_line_and_comes_back_whole) {
  for (const std::int64_t shift : {-1, 0, 1}) {
    Rule rule;
    rule.action = Action::kLinkDown;
    rule.down = at((26 * 2 + 8) * 80 + 1'000 + shift);  // the head of packet 2
    rule.up = rule.down + Duration(1'000'000);
    Line line({rule});
    for (std::uint32_t i = 0; i < 10; ++i) line.a.port.send(make_packet(2, 0, i));
    line.simulation.engine.run_until(rule.down);
    const std::size_t through = shift < 0 ? 2 : 3;
    EXPECT_EQ(line.b.numbers.size(), through) << shift;
    EXPECT_FALSE(line.a.port.is_up());
    EXPECT_FALSE(line.b.port.is_up());
    const std::size_t on_line = shift < 0 ? 1 : 0;  // lost at the time at which it would have arrived
    EXPECT_EQ(line.simulation.trace.of(TraceEvent::kPacketDropped).size(), 10 - through - on_line);
    line.a.port.send(make_packet(2, 0, 50));
    line.b.port.send(make_packet(1, 0, 51));
    line.simulation.engine.run_until(rule.up - Duration(1));
    EXPECT_EQ(line.simulation.trace.of(TraceEvent::kPacketDropped).size(), 12 - through);
    line.simulation.engine.run_until(rule.up);
    EXPECT_TRUE(line.a.port.is_up());
    line.a.port.send(make_packet(2, 0, 60));
    line.simulation.engine.run();
    EXPECT_EQ(line.b.numbers.back(), 60u);
    EXPECT_EQ(line.b.arrivals.back().head, rule.up + Duration(8 * 80 + 1'000));
    EXPECT_TRUE(line.is_whole());
    EXPECT_EQ(line.simulation.trace.of(TraceEvent::kLinkState).size(), 4u) << "both ends, down and up";
    EXPECT_EQ(line.script.fired(0), 1u);
  }
}

TEST(FaultScript, buffer_space_in_use_is_not_granted_again_by_a_link_that_comes_back) {
  Line line({});
  line.b.release = false;
  for (std::uint32_t i = 0; i < 3; ++i) line.a.port.send(make_packet(2, 0, i));
  line.simulation.engine.run();
  set_link(line.b.port, false);
  set_link(line.b.port, true);
  EXPECT_EQ(line.a.port.credits(ib::VirtualLane{0}), 65536 / fabric::kCreditBlockBytes - 3);
  for (const auto& packet : line.b.kept) line.b.port.release(*packet);
  EXPECT_TRUE(line.is_whole());
}

TEST(FaultScript, a_full_output_queue_tells_its_sender_when_the_link_fails) {
  Line line({});
  int told = 0;
  line.a.port.set_room_listener(&told, [](void* owner, ib::VirtualLane) { ++*static_cast<int*>(owner); });
  for (std::uint32_t i = 0; line.a.port.has_room(ib::VirtualLane{0}); ++i) {
    line.a.port.send(make_packet(2, 4096, i));
  }
  set_link(line.a.port, false);
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(line.a.port.has_room(ib::VirtualLane{0}));
}

// A storm of 1 us to 3 us, and one of 2 us to 4 us: the sender is paused until the second ends.
TEST(FaultScript, storms_of_a_port_overlap) {
  fabric::PausedPair pair(1'000, 100);
  pair.receiver.release = true;
  FaultScript script(pair.simulation.engine, pair.simulation.tracer);
  for (const std::int64_t us : {1, 2}) {
    Rule rule;
    rule.action = Action::kPauseStorm;
    rule.down = at(us * 1'000'000);
    rule.up = at((us + 2) * 1'000'000);
    rule.priorities = 1;
    script.add(rule, pair.receiver.port);
  }
  pair.send(100);
  pair.simulation.engine.run();
  EXPECT_EQ(script.fired(0) + script.fired(1), 2u);
  const auto frames = pair.frames_of(1);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].time_ps, 1'000'000);
  EXPECT_EQ(frames[1].time_ps, 4'000'000);
  ASSERT_EQ(pair.receiver.arrivals.size(), 100u);
  const std::int64_t effect = 1'000'000 + fabric::kFrameTime + fabric::kWayPs;
  EXPECT_EQ(pair.receiver.arrivals[static_cast<std::size_t>(effect / fabric::kLineTime) + 1].head,
            at(4'000'000 + fabric::kFrameTime + fabric::kWayPs + fabric::kHeadTime + fabric::kWayPs));
}

TEST(FaultScript, a_switch_drops_what_it_cannot_send_and_is_whole_again) {
  fabric::Simulation simulation;
  fabric::Host a(simulation, 0), b(simulation, 1);
  fabric::SwitchProfile profile;
  fabric::Switch middle(simulation.engine, simulation.tracer, ComponentId{2}, profile,
                        {ComponentId{3}, ComponentId{4}});
  middle.set_forwarding_table({fabric::Switch::kNoRoute, fabric::PortNumber{1}, fabric::PortNumber{2}});
  simulation.connect(a.port, middle.port(fabric::PortNumber{1}), {fabric::kEdr4x, Duration(1'000)});
  simulation.connect(b.port, middle.port(fabric::PortNumber{2}), {fabric::kQdr4x, Duration(1'000)});
  for (std::uint32_t i = 0; i < 20; ++i) a.port.send(make_packet(2, 2048, i));
  simulation.engine.run_until(at(3'000'000));
  const std::size_t before = b.numbers.size();
  EXPECT_GT(before, 0u);
  EXPECT_LT(before, 20u);
  set_link(b.port, false);
  simulation.engine.run();
  EXPECT_EQ(b.numbers.size(), before);
  EXPECT_EQ(simulation.trace.of(TraceEvent::kPacketDropped).size(), 20 - before);
  set_link(b.port, true);
  a.port.send(make_packet(2, 2048, 99));
  simulation.engine.run();
  EXPECT_EQ(b.numbers.back(), 99u);
  simulation.engine.run_until(simulation.engine.now() + Duration(1'000'000));
  EXPECT_EQ(a.port.credits(ib::VirtualLane{0}), 65536 / fabric::kCreditBlockBytes);
  EXPECT_EQ(middle.port(fabric::PortNumber{2}).credits(ib::VirtualLane{0}),
            65536 / fabric::kCreditBlockBytes);
}

}  // namespace
}  // namespace verbatim::faults
