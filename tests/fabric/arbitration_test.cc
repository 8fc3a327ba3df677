// Lane arbitration (IBA 7.6.9) and the cost of flow control packets (IBA 7.9.4). Packets here have 64 bytes
// of payload: 90 on the wire, of which 88 count as weight.
#include <string>

#include "sim/core/rng.h"
#include "sim/fabric/vl_arbiter.h"
#include "tests/fabric/net.h"

namespace verbatim::fabric {
namespace {

// The lanes in the order in which they send `count` packets, when those of `eligible` always have one.
std::string order(const ArbitrationTables& tables, std::uint32_t eligible, int count,
                  std::uint32_t wire_bytes = 90) {
  VlArbiter arbiter(tables.or_default());
  std::string lanes;
  for (int i = 0; i < count; ++i) {
    lanes += std::to_string(arbiter.pick(eligible).value) + " ";
    arbiter.charge(wire_bytes);
  }
  return lanes;
}

TEST(Arbitration, a_lane_alone_always_sends) {
  EXPECT_EQ(order({}, 0b1, 4), "0 0 0 0 ");
  EXPECT_EQ(order({}, 0b1000, 4), "3 3 3 3 ");
}

// By default one packet of lane 0, which has high priority, then one of another lane; each of those has 256
// bytes, which ends with the third packet.
TEST(Arbitration, defaults_are_those_of_opensm) {
  EXPECT_EQ(order({}, 0b111, 14), "0 1 0 1 0 1 0 2 0 2 0 2 0 1 ");
}

// Weight 2 is 128 bytes: the second packet begins with 40 left. Weight 1 is used up by one.
TEST(Arbitration, weights_are_units_of_64_bytes_and_end_with_the_packet_that_exceeds_them) {
  EXPECT_EQ(order({0, {}, {{0, 2}, {1, 1}, {2, 0}}}, 0b11, 7), "0 0 1 0 0 1 0 ");
  EXPECT_EQ(order({0, {}, {{0, 2}, {1, 1}}}, 0b11, 6, 130), "0 1 0 1 0 1 ")
      << "128 of them count: exactly 2 units";
  EXPECT_EQ(order({0, {}, {{0, 2}, {1, 1}}}, 0b11, 6, 126), "0 0 1 0 0 1 ") << "124: four are left";
}

TEST(Arbitration, a_lane_may_have_several_entries) {
  EXPECT_EQ(order({0, {}, {{0, 1}, {1, 1}, {0, 1}, {2, 1}}}, 0b111, 8), "0 1 0 2 0 1 0 2 ");
}

// 4096 bytes: the 47th packet begins with 4096 - 46 * 88 = 48 left.
TEST(Arbitration, high_priority_gives_way_after_its_limit) {
  std::string expected;
  for (int i = 0; i < 47; ++i) expected += "0 ";
  expected += "1 ";
  EXPECT_EQ(order({1, {{0, 1}}, {{1, 1}}}, 0b11, 96), expected + expected);
  EXPECT_EQ(order({0, {{0, 1}}, {{1, 1}}}, 0b11, 4), "0 1 0 1 ");
  EXPECT_EQ(order({255, {{0, 1}}, {{1, 1}}}, 0b11, 12'000).find('1'), std::string::npos) << "more than 255 x 4096 bytes";
}

ArbitrationTables shares(std::uint32_t strict, std::vector<ArbitrationEntry> entries) {
  ArbitrationTables tables;
  tables.strict_lanes = strict;
  tables.shares = std::move(entries);
  return tables;
}

TEST(Arbitration, a_strict_lane_goes_before_all_others_and_the_highest_first) {
  const ArbitrationTables tables = shares(0b1100'0000, {{0, 1}, {1, 1}});
  EXPECT_EQ(order(tables, 0b1100'0011, 3), "7 7 7 ");
  EXPECT_EQ(order(tables, 0b0100'0011, 3), "6 6 6 ");
  EXPECT_EQ(order(shares(0b111, {}), 0b011, 3), "1 1 1 ") << "all may be strict";
}

// 128 and 64 bytes a turn for packets of 90. Lanes 0 and 1 owe, behind their turns: 52 and 26, 14 and 52, 66 and 78, 28 and (in
// a turn without a packet) 14, 80 and 40.
TEST(Arbitration, bytes_beyond_a_share_count_against_the_next_turn) {
  EXPECT_EQ(order(shares(0, {{0, 2}, {1, 1}}), 0b11, 12), "0 0 1 0 1 0 0 1 0 0 0 1 ");
}

// Whatever the sizes: one lane has packets of 4,190 bytes, the other of 90, far more and far less than a turn.
TEST(Arbitration, shares_are_shares_of_bytes) {
  for (const auto& [first, second] : {std::pair(1u, 1u), std::pair(14u, 15u), std::pair(1u, 3u)}) {
    VlArbiter arbiter(shares(0, {{0, first}, {1, second}}));
    std::int64_t sent[2] = {};
    for (int i = 0; i < 200'000; ++i) {
      const std::uint32_t lane = arbiter.pick(0b11).value;
      const std::uint32_t bytes = lane == 0 ? 4190 : 90;
      arbiter.charge(bytes);
      sent[lane] += bytes;
    }
    // A lane is off by one of its packets and one turn at most.
    EXPECT_NEAR(static_cast<double>(sent[0]) * second, static_cast<double>(sent[1]) * first, (4190.0 + 960) * (first + second));
  }
}

TEST(Arbitration, a_lane_that_had_nothing_to_send_gets_no_share_for_that_time) {
  VlArbiter arbiter(shares(0, {{0, 1}, {1, 1}}));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(arbiter.pick(0b01).value, 0);
    arbiter.charge(90);
  }
  std::string lanes;
  for (int i = 0; i < 6; ++i) {
    lanes += std::to_string(arbiter.pick(0b11).value) + " ";
    arbiter.charge(90);
  }
  // 140 turns of 64 bytes brought 100 packets of 90: lane 0 owes 40. Behind its turns it owes 66, 2, 28, lane 1 26, 52, 78, 14.
  EXPECT_EQ(lanes, "1 0 1 1 0 0 ") << "it does not catch up for what it did not send";
}

// Goes round the low table entry by entry.
class WalkedTable {
 public:
  explicit WalkedTable(std::vector<ArbitrationEntry> entries, bool keeps_deficits)
      : entries_(std::move(entries)), deficits_(entries_.size()), keeps_deficits_(keeps_deficits), left_(weight(0)) {}

  std::uint32_t pick(std::uint32_t eligible) {
    while (left_ <= 0 || !sends(eligible)) {
      if (keeps_deficits_) deficits_[current_] = left_ < 0 ? -left_ : 0;
      current_ = (current_ + 1) % entries_.size();
      left_ = (sends(eligible) ? weight(current_) : 0) - deficits_[current_];
    }
    return entries_[current_].lane;
  }
  void charge(std::uint32_t bytes) { left_ -= static_cast<int>(keeps_deficits_ ? bytes : bytes / 4 * 4); }

 private:
  bool sends(std::uint32_t eligible) const { return (eligible >> entries_[current_].lane & 1) != 0; }
  int weight(std::size_t place) const { return static_cast<int>(entries_[place].weight * 64); }

  std::vector<ArbitrationEntry> entries_;
  std::vector<int> deficits_;
  const bool keeps_deficits_;
  std::size_t current_ = 0;
  int left_;
};

TEST(Arbitration, is_that_of_a_table_walked_entry_by_entry_whichever_lanes_can_send) {
  const std::vector<ArbitrationEntry> once = {{0, 4}, {1, 1}, {2, 40}, {3, 4}}, twice = {{0, 4}, {1, 1}, {0, 9}, {2, 3}, {3, 1}};
  for (const auto& entries : {once, twice}) {
    for (const bool is_ethernet : {false, true}) {
      VlArbiter arbiter(is_ethernet ? shares(0, entries) : ArbitrationTables{0, {}, entries});
      WalkedTable walked(entries, is_ethernet);
      Rng random(1, "arbitration");
      std::uint32_t eligible = 1;
      for (int i = 0; i < 20'000; ++i) {
        if (random.below(4) == 0) eligible = static_cast<std::uint32_t>(random.below(15)) + 1;
        ASSERT_EQ(arbiter.pick(eligible).value, walked.pick(eligible)) << i;
        const auto bytes = static_cast<std::uint32_t>(66 + random.below(4000));
        arbiter.charge(bytes);
        walked.charge(bytes);
      }
    }
  }
}

TEST(Arbitration, a_pause_gives_high_priority_its_limit_again) {
  VlArbiter arbiter({0, {{0, 1}}, {{1, 1}}});
  EXPECT_EQ(arbiter.pick(0b11).value, 0);
  arbiter.charge(90);
  arbiter.pause();
  EXPECT_EQ(arbiter.pick(0b11).value, 0);
}

TEST(Arbitration, management_goes_before_all) {
  VlArbiter arbiter({255, {{0, 1}}, {}});
  EXPECT_EQ(arbiter.pick(1u << 15 | 1), kManagementLane);
}

// Management packets take no credits: with the far buffer full they still go, before data that could.
TEST(Port, management_packets_need_no_credits_and_go_first) {
  Simulation simulation;
  PortParams params;
  params.virtual_lanes = 2;
  params.input_buffer_bytes = 66 * 64;
  Host a(simulation, 0, params), b(simulation, 1, params);
  b.release = false;
  simulation.connect(a.port, b.port, {kEdr4x, kWay});
  a.port.send(make_packet(2, 4096, 0, 0));
  a.port.send(make_packet(2, 4096, 1, 0));
  a.port.send(make_packet(2, 256, 2, 1));
  a.port.send(make_packet(2, 256, 3, 15));
  simulation.engine.run();
  EXPECT_EQ(b.numbers, (std::vector<std::uint32_t>{0, 3, 2}));
  b.port.release(*b.kept[1]);
  EXPECT_EQ(a.port.credits(ib::VirtualLane{0}), 1u);
}

struct TwoWays {
  Simulation simulation;
  Host a, b;
  explicit TwoWays(const LinkParams& link, std::uint32_t lanes = 1)
      : a(simulation, 0, of(lanes)), b(simulation, 1, of(lanes)) {
    simulation.connect(a.port, b.port, link);
  }
  static PortParams of(std::uint32_t lanes) {
    PortParams params;
    params.virtual_lanes = lanes;
    return params;
  }
  // a's packet of 26 bytes is released by b at its tail, 26 * 80 + kWayPs; b's own packet is sent at `when`.
  Instant head_of_answer(std::int64_t when) {
    a.port.send(make_packet(2, 0));
    simulation.engine.run_until(at(when));
    b.port.send(make_packet(1, 0));
    simulation.engine.run();
    return a.arrivals.at(0).head;
  }
};

// The flow control packet takes 8 bytes from the release at r on: a data packet sent at r precedes it, one
// sent in (r, r + 8 * byte time) waits for its end.
TEST(FlowControl, takes_its_bytes_on_the_way_back) {
  const std::int64_t r = 26 * 80 + kWayPs;
  EXPECT_EQ(TwoWays({kEdr4x, kWay}).head_of_answer(r), at(r + 8 * 80 + kWayPs));
  EXPECT_EQ(TwoWays({kEdr4x, kWay}).head_of_answer(r + 1), at(r + 8 * 80 + 8 * 80 + kWayPs));
  EXPECT_EQ(TwoWays({kEdr4x, kWay}).head_of_answer(r + 639), at(r + 8 * 80 + 8 * 80 + kWayPs));
  EXPECT_EQ(TwoWays({kEdr4x, kWay}).head_of_answer(r + 640), at(r + 640 + 8 * 80 + kWayPs));
}

// After a data packet that started before: the credits arrive with its end, plus 8 bytes.
TEST(FlowControl, waits_for_the_packet_on_the_line) {
  for (const bool other_way_is_busy : {false, true}) {
    Simulation simulation;
    PortParams small;
    small.input_buffer_bytes = 66 * 64;
    Host a(simulation, 0), b(simulation, 1, small);
    b.release = false;
    simulation.connect(a.port, b.port, {kEdr4x, kWay});
    a.port.send(make_packet(2, 4096, 0));
    a.port.send(make_packet(2, 4096, 1));
    simulation.engine.run_until(at(1'000'000));
    if (other_way_is_busy) b.port.send(make_packet(1, 1024));
    simulation.engine.run_until(at(1'000'001));
    b.port.release(*b.kept[0]);
    const std::int64_t leaves = other_way_is_busy ? 1'000'000 + 1050 * 80 : 1'000'001;
    expect_arrival_at(simulation, b, 2, at(leaves + 8 * 80 + 8 * 80 + 2 * kWayPs));
  }
}

// With a refresh interval R an update leaves at R, 2 R, … even without new credits; each delays later
// packets.
TEST(FlowControl, is_repeated_at_the_refresh_interval) {
  LinkParams link{kEdr4x, kWay};
  link.credit_refresh_interval = Duration(20'971'520);
  for (const std::int64_t round : {1, 2, 1000}) {
    const std::int64_t due = round * 20'971'520;
    for (const std::int64_t sent : {due, due + 1, due + 639, due + 640}) {
      TwoWays two(link);
      two.simulation.engine.run_until(at(sent));
      two.b.port.send(make_packet(1, 0));
      two.simulation.engine.run();
      const std::int64_t start = sent == due ? due : due + 640;
      EXPECT_EQ(two.a.arrivals.at(0).head, at(start + 8 * 80 + kWayPs)) << round << " " << sent - due;
    }
  }
}

TEST(FlowControl, costs_no_event_while_nobody_waits) {
  LinkParams link{kEdr4x, kWay};
  link.credit_refresh_interval = Duration(20'971'520);
  TwoWays two(link, 4);
  for (std::uint32_t i = 0; i < 10; ++i)
    two.a.port.send(make_packet(2, 64, i, static_cast<std::uint8_t>(i % 4)));
  two.simulation.engine.run();
  EXPECT_TRUE(two.simulation.engine.empty());
  EXPECT_LE(two.simulation.engine.events_executed(), 20u);
}

// Three releases while the line is busy are reported by one packet.
TEST(FlowControl, tells_everything_at_once) {
  Simulation simulation;
  Host a(simulation, 0), b(simulation, 1);
  b.release = false;
  simulation.connect(a.port, b.port, {kEdr4x, kWay});
  for (std::uint32_t i = 0; i < 3; ++i) a.port.send(make_packet(2, 64, i));
  simulation.engine.run();
  b.port.send(make_packet(1, 4096));
  for (const ib::PacketPtr& packet : b.kept) {
    simulation.engine.run_until(simulation.engine.now() + Duration(1'000));
    b.port.release(*packet);
  }
  simulation.engine.run_until(at(1'000'000));
  EXPECT_EQ(a.port.credits(ib::VirtualLane{0}), 65536u / 64);
  EXPECT_EQ(b.port.flow_control_packets(), 1u);
}

// Two packets of one input for two outputs: with a speed-up of 1 the second leaves when the first has left.
TEST(Crossbar, reads_as_many_packets_of_an_input_as_its_speedup) {
  for (const std::uint32_t speedup : {0u, 1u, 2u}) {
    Simulation simulation;
    SwitchProfile profile;
    profile.core_clock_hz = 400'000'000;
    profile.crossbar_speedup = speedup;
    Host one(simulation, 0), two(simulation, 1), three(simulation, 2);
    Switch hub(simulation.engine, simulation.tracer, ComponentId{9}, profile,
               {ComponentId{3}, ComponentId{4}, ComponentId{5}});
    hub.set_forwarding_table({PortNumber{0}, PortNumber{1}, PortNumber{2}, PortNumber{3}});
    simulation.connect(one.port, hub.port(PortNumber{1}), {kEdr4x, Duration(10'000)});
    simulation.connect(two.port, hub.port(PortNumber{2}), {kQdr4x, Duration(10'000)});
    simulation.connect(three.port, hub.port(PortNumber{3}), {kQdr4x, Duration(10'000)});
    one.port.send(make_packet(2, 1024));
    one.port.send(make_packet(3, 1024));
    simulation.engine.run();
    const auto edge_after = [](std::int64_t ps) { return (ps + 2499) / 2500 * 2500; };
    const std::int64_t first = edge_after(8 * 80 + 10'000) + 36 * 2500;
    const std::int64_t second = edge_after((1050 + 8) * 80 + 10'000) + 36 * 2500;
    const std::int64_t waits = speedup == 1 ? first + 1050 * 250 : second;
    EXPECT_EQ(two.arrivals.at(0).head, at(first + 8 * 250 + 10'000));
    EXPECT_EQ(three.arrivals.at(0).head, at(waits + 8 * 250 + 10'000));
  }
}

// Two hosts at one switch, the second of which never gives its buffer back, which holds one packet.
struct BlockedSwitch {
  explicit BlockedSwitch(const SwitchProfile& profile)
      : hub(simulation.engine, simulation.tracer, ComponentId{9}, profile, {ComponentId{3}, ComponentId{4}}) {
    two.release = false;
    hub.set_forwarding_table({PortNumber{0}, PortNumber{1}, PortNumber{2}});
    simulation.connect(one.port, hub.port(PortNumber{1}), {kEdr4x, kWay});
    simulation.connect(two.port, hub.port(PortNumber{2}), {kEdr4x, kWay});
  }
  static PortParams least_buffer() {
    PortParams params;
    params.input_buffer_bytes = kLeastInputBufferBytes;
    return params;
  }

  Simulation simulation;
  Host one{simulation, 0}, two{simulation, 1, least_buffer()};
  Switch hub;
};

// The far end never returns buffer space: the first packet fills it. Each other packet becomes the head of
// its lane at the start of the previous one, or when that is dropped, and is dropped a lifetime L later.
// After two drops the lane stalls for 8 L: the fourth packet is dropped at once, and so is a later one; after
// the stall the next one waits again.
TEST(HeadLifetime, drops_what_blocks_an_output_and_stalls_its_lane) {
  SwitchProfile profile;
  profile.core_clock_hz = 400'000'000;
  profile.head_lifetime = Duration(4'096'000);
  profile.stall_count = 2;
  BlockedSwitch blocked(profile);
  auto& [simulation, one, two, hub] = blocked;
  for (std::uint32_t i = 0; i < 4; ++i) one.port.send(make_packet(2, 4096, i));
  const auto ready = [](std::int64_t sent) { return (sent + 8 * 80 + kWayPs + 2499) / 2500 * 2500 + 36 * 2500; };
  simulation.engine.run();
  const std::int64_t first = ready(4122 * 80) + 4'096'000, second = first + 4'096'000;
  simulation.engine.run_until(at(second + 8 * 4'096'000 - 200'000));
  one.port.send(make_packet(2, 0, 4));
  const std::int64_t late = second + 8 * 4'096'000;
  simulation.engine.run_until(at(late));
  one.port.send(make_packet(2, 4096, 5));
  simulation.engine.run();
  const auto drops = simulation.trace.of(TraceEvent::kPacketDropped);
  const std::vector<std::int64_t> times = {first, second, second, ready(second + 8 * 4'096'000 - 200'000),
                                           ready(late) + 4'096'000};
  ASSERT_EQ(drops.size(), times.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_EQ(drops[i].time_ps, times[i]) << i;
    EXPECT_EQ(drops[i].component, 4u);
    EXPECT_EQ(drops[i].values[2], i + 1);
    EXPECT_EQ(drops[i].values[3], static_cast<std::uint64_t>(DropReason::kHeadLifetime));
  }
  simulation.engine.run_until(simulation.engine.now() + Duration(1'000'000));
  EXPECT_EQ(one.port.credits(ib::VirtualLane{0}), 65536u / 64) << "the space is free again";
}

// The stall ends in the instant in which the last packet becomes ready: it waits for a lifetime of its own.
TEST(HeadLifetime, a_stall_is_over_in_the_instant_in_which_it_ends) {
  constexpr std::int64_t kLifetime = 4'000'000;  // whole cycles of 2500 ps
  SwitchProfile profile;
  profile.core_clock_hz = 400'000'000;
  profile.head_lifetime = Duration(kLifetime);
  profile.stall_count = 1;
  BlockedSwitch blocked(profile);
  auto& [simulation, one, two, hub] = blocked;
  for (std::uint32_t i = 0; i < 2; ++i) one.port.send(make_packet(2, 4096, i));
  const std::int64_t dropped = (4122 * 80 + 8 * 80 + kWayPs + 2499) / 2500 * 2500 + 36 * 2500 + kLifetime;
  const std::int64_t over = dropped + 8 * kLifetime;
  simulation.engine.run_until(at(over - 36 * 2500 - 8 * 80 - kWayPs));
  one.port.send(make_packet(2, 4096, 2));
  simulation.engine.run();
  const auto drops = simulation.trace.of(TraceEvent::kPacketDropped);
  ASSERT_EQ(drops.size(), 2u);
  EXPECT_EQ(drops[0].time_ps, dropped);
  EXPECT_EQ(drops[1].time_ps, over + kLifetime);
}

// Packets of 290 bytes, five blocks each, arrive back to back and wait for a slow output: two fit. When the
// third arrives the first is gone only if the third's head arrives after the first's last byte has left.
TEST(Vl15, drops_what_finds_no_room_in_its_buffer) {
  for (const bool first_has_left : {false, true}) {
    Simulation simulation;
    SwitchProfile profile;
    profile.core_clock_hz = 400'000'000;
    profile.cut_through_cycles = 0;
    profile.vl15_buffer_bytes = 14 * 64;
    Host from(simulation, 0), to(simulation, 1);
    Switch hub(simulation.engine, simulation.tracer, ComponentId{9}, profile, {ComponentId{3}, ComponentId{4}});
    hub.set_forwarding_table({PortNumber{0}, PortNumber{1}, PortNumber{2}});
    simulation.connect(from.port, hub.port(PortNumber{1}), {kEdr4x, kWay});
    simulation.connect(to.port, hub.port(PortNumber{2}), {kQdr4x, kWay});
    for (std::uint32_t i = 0; i < 2; ++i) from.port.send(make_packet(2, 264, i, 15));
    // The first head arrives at 640 ps + kWayPs and starts at the next edge; its last byte leaves 290 x 250
    // ps later.
    constexpr std::int64_t kFirstLeaves = 12'500 + 290 * 250;
    simulation.engine.run_until(at(kFirstLeaves - 8 * 80 - kWayPs + (first_has_left ? 1 : 0)));
    from.port.send(make_packet(2, 264, 2, 15));
    simulation.engine.run();
    EXPECT_EQ(to.numbers.size(), first_has_left ? 3u : 2u);
    const auto drops = simulation.trace.of(TraceEvent::kPacketDropped);
    ASSERT_EQ(drops.size(), first_has_left ? 0u : 1u);
    if (first_has_left) continue;
    EXPECT_EQ(drops[0].component, 3u);
    EXPECT_EQ(drops[0].values[2], 2u);
    EXPECT_EQ(drops[0].values[3], static_cast<std::uint64_t>(DropReason::kManagementBuffer));
  }
}

// Lifetimes are for lanes that wait for credits: a packet of VL15 behind a long one is neither dropped nor held for ever.
TEST(Vl15, has_no_lifetime) {
  Simulation simulation;
  SwitchProfile profile;
  profile.core_clock_hz = 400'000'000;
  profile.head_lifetime = profile.lifetime = Duration(100'000);
  Host from(simulation, 0), other(simulation, 1), to(simulation, 2);
  Switch hub(simulation.engine, simulation.tracer, ComponentId{9}, profile,
             {ComponentId{3}, ComponentId{4}, ComponentId{5}});
  hub.set_forwarding_table({PortNumber{0}, PortNumber{1}, PortNumber{2}, PortNumber{3}});
  simulation.connect(from.port, hub.port(PortNumber{1}), {kEdr4x, kWay});
  simulation.connect(other.port, hub.port(PortNumber{2}), {kEdr4x, kWay});
  simulation.connect(to.port, hub.port(PortNumber{3}), {kQdr4x, kWay});
  from.port.send(make_packet(3, 4096));
  simulation.engine.run_until(at(10'000));
  other.port.send(make_packet(3, 264, 1, 15));
  simulation.engine.run_until(at(5'000'000));
  EXPECT_EQ(to.numbers, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_TRUE(simulation.engine.empty());
}

// The far end never returns buffer space: the first packet fills it, and each other packet is dropped a
// lifetime after the arrival of its own head.
TEST(SwitchLifetime, drops_what_has_been_in_the_switch_for_so_long) {
  SwitchProfile profile;
  profile.lifetime = Duration(4'096'000);
  BlockedSwitch blocked(profile);
  auto& [simulation, one, two, hub] = blocked;
  for (std::uint32_t i = 0; i < 4; ++i) one.port.send(make_packet(2, 4096, i));
  simulation.engine.run();
  const auto drops = simulation.trace.of(TraceEvent::kPacketDropped);
  ASSERT_EQ(drops.size(), 3u);
  for (std::size_t i = 0; i < drops.size(); ++i) {
    EXPECT_EQ(drops[i].time_ps, static_cast<std::int64_t>((i + 1) * 4122 + 8) * 80 + kWayPs + 4'096'000) << i;
    EXPECT_EQ(drops[i].component, 4u);
    EXPECT_EQ(drops[i].values[2], i + 1);
    EXPECT_EQ(drops[i].values[3], static_cast<std::uint64_t>(DropReason::kSwitchLifetime));
  }
  simulation.engine.run_until(simulation.engine.now() + Duration(1'000'000));
  EXPECT_EQ(one.port.credits(ib::VirtualLane{0}), 65536u / 64) << "the space is free again";
}

TEST(LaneTable, is_that_of_opensm_but_for_what_is_given) {
  const LaneTable table({{3, 1}, {4, 15}});
  EXPECT_EQ(table.of(ib::ServiceLevel{2}, 15), ib::VirtualLane{2});
  EXPECT_EQ(table.of(ib::ServiceLevel{3}, 15), ib::VirtualLane{1});
  EXPECT_EQ(table.of(ib::ServiceLevel{4}, 1), kManagementLane) << "dropped";
  EXPECT_EQ(table.of(ib::ServiceLevel{14}, 15), ib::VirtualLane{14});
  EXPECT_EQ(table.of(ib::ServiceLevel{14}, 4), ib::VirtualLane{2}) << "of lanes that both ends have";
  EXPECT_EQ(table.of(ib::ServiceLevel{15}, 15), ib::VirtualLane{7});
}

TEST(LaneTable, of_a_switch_s_output_chooses_the_lane_or_drops) {
  Simulation simulation;
  SwitchProfile profile;
  profile.virtual_lanes = 4;
  profile.sl_to_vl = {{1, 3}, {2, 15}};
  PortParams four;
  four.virtual_lanes = 4;
  Host one(simulation, 0, four), two(simulation, 1, four);
  Switch hub(simulation.engine, simulation.tracer, ComponentId{9}, profile, {ComponentId{3}, ComponentId{4}});
  hub.set_forwarding_table({PortNumber{0}, PortNumber{1}, PortNumber{2}});
  simulation.connect(one.port, hub.port(PortNumber{1}), {kEdr4x, kWay});
  simulation.connect(two.port, hub.port(PortNumber{2}), {kEdr4x, kWay});
  for (std::uint8_t level = 0; level < 3; ++level) one.port.send(make_packet(2, 64, level, level));
  simulation.engine.run();
  EXPECT_EQ(two.numbers, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(two.kept.at(1)->lrh.lane, ib::VirtualLane{3});
  const auto drops = simulation.trace.of(TraceEvent::kPacketDropped);
  ASSERT_EQ(drops.size(), 1u);
  EXPECT_EQ(drops[0].values[2], 2u);
  EXPECT_EQ(drops[0].values[3], static_cast<std::uint64_t>(DropReason::kNoLane));
  simulation.engine.run_until(simulation.engine.now() + Duration(1'000'000));
  EXPECT_EQ(one.port.credits(ib::VirtualLane{2}), 65536u / 64) << "its space is free again";
}

}  // namespace
}  // namespace verbatim::fabric
