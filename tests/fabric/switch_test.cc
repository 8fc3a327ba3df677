// Timing gates of the switch, and what it does with packets that compete or have nowhere to go.
#include "sim/fabric/switch.h"

#include "tests/fabric/net.h"

namespace verbatim::fabric {
namespace {

// Core clock 400 MHz: edges every 2500 ps. Hosts 1 … n hang on ports 1 … n with LID = port number.
struct Star {
  Star(const SwitchProfile& profile, const std::vector<LinkParams>& links,
       const PortParams& host_params = {}) {
    std::vector<ComponentId> ids;
    for (std::uint32_t i = 0; i < links.size(); ++i) ids.push_back(ComponentId{100 + i});
    hub = std::make_unique<Switch>(simulation.engine, simulation.tracer, ComponentId{99}, profile, ids);
    std::vector<PortNumber> table{PortNumber{0}};
    for (std::uint32_t i = 0; i < links.size(); ++i) {
      const PortNumber number{static_cast<std::uint8_t>(i + 1)};
      table.push_back(number);
      hosts.push_back(std::make_unique<Host>(simulation, i + 1, host_params));
      simulation.connect(hosts.back()->port, hub->port(number), links[i]);
    }
    hub->set_forwarding_table(table);
  }
  Host& host(std::size_t lid) { return *hosts[lid - 1]; }
  void send(std::size_t from, std::uint16_t to, std::uint32_t payload, std::uint32_t number = 0) {
    host(from).port.send(make_packet(to, payload, number));
  }

  Simulation simulation;
  std::unique_ptr<Switch> hub;
  std::vector<std::unique_ptr<Host>> hosts;
};

SwitchProfile profile_400mhz(std::uint32_t latency, std::uint32_t interval = 1) {
  SwitchProfile profile;
  profile.core_clock_hz = 400'000'000;
  profile.cut_through_cycles = latency;
  profile.lookup_interval_cycles = interval;
  return profile;
}

std::int64_t edge_after(std::int64_t ps) { return (ps + 2499) / 2500 * 2500; }

const LinkParams kEdrLink{kEdr4x, Duration(10'000)};
const LinkParams kQdrLink{kQdr4x, Duration(10'000)};

// A copy for every port of the tree except the input, all at the time of a unicast packet.
TEST(Switch, replicates_multicast_packets_to_the_other_ports_of_the_tree) {
  Star star(profile_400mhz(36), {kEdrLink, kEdrLink, kEdrLink, kEdrLink});
  star.hub->set_multicast_ports({PortNumber{1}, PortNumber{2}, PortNumber{4}});
  star.send(1, 0xc001, 1024, 7);
  const std::int64_t start = edge_after(8 * 80 + 10'000) + 36 * 2500;
  expect_arrival_at(star.simulation, star.host(2), 1, at(start + 8 * 80 + 10'000));
  star.simulation.engine.run();
  EXPECT_EQ(star.host(4).numbers, std::vector<std::uint32_t>{7});
  EXPECT_EQ(star.host(4).arrivals[0].head, star.host(2).arrivals[0].head);
  EXPECT_TRUE(star.host(1).arrivals.empty());
  EXPECT_TRUE(star.host(3).arrivals.empty());
}

// The input buffer is free when the last copy has left: here the one behind 4 KB for the slow host.
TEST(Switch, a_multicast_packet_stays_in_its_input_buffer_until_the_last_copy_has_left) {
  Star star(profile_400mhz(0), {kEdrLink, kEdrLink, kQdrLink});
  star.hub->set_multicast_ports({PortNumber{1}, PortNumber{2}, PortNumber{3}});
  star.send(2, 3, 4096);
  star.simulation.engine.run_until(at(100'000));
  star.send(1, 0xc001, 4096);
  star.simulation.engine.run_until(at(1'030'000));
  EXPECT_EQ(star.host(2).arrivals.size(), 1u) << "one copy has left";
  EXPECT_LT(star.host(1).port.credits(ib::VirtualLane{0}), 65536u / 64);
  star.simulation.engine.run_until(at(10'000'000));
  EXPECT_EQ(star.host(3).arrivals.size(), 2u);
  EXPECT_EQ(star.host(1).port.credits(ib::VirtualLane{0}), 65536u / 64);
}

TEST(Switch, drops_multicast_packets_without_a_tree) {
  Star star(profile_400mhz(36), {kEdrLink, kEdrLink});
  star.send(1, 0xc001, 64);
  star.simulation.engine.run_until(at(10'000'000));
  EXPECT_TRUE(star.host(2).arrivals.empty());
  EXPECT_EQ(star.simulation.trace.of(TraceEvent::kPacketDropped).size(), 1u);
  EXPECT_EQ(star.host(1).port.credits(ib::VirtualLane{0}), 65536u / 64);
}

// Cut-through: head in at 8 * 80 + 10000, next edge, latency, then 8 * 80 + 10000 again.
TEST(Switch, cuts_through_after_its_latency_in_cycles_from_the_next_edge) {
  for (const std::uint32_t latency : {0u, 1u, 36u}) {
    Star star(profile_400mhz(latency), {kEdrLink, kEdrLink});
    star.send(1, 2, 4096);
    const std::int64_t head_in = 8 * 80 + 10'000;
    const std::int64_t start = edge_after(head_in) + latency * 2500;
    expect_arrival_at(star.simulation, star.host(2), 1, at(start + 8 * 80 + 10'000));
    EXPECT_EQ(star.host(2).arrivals[0].tail, at(start + 4122 * 80 + 10'000));
  }
}

TEST(Switch, cuts_through_to_a_slower_output) {
  Star star(profile_400mhz(36), {kEdrLink, kQdrLink});
  star.send(1, 2, 4096);
  const std::int64_t start = edge_after(8 * 80 + 10'000) + 36 * 2500;
  expect_arrival_at(star.simulation, star.host(2), 1, at(start + 8 * 250 + 10'000));
}

// To a faster output the latency counts from the tail: the output would run dry otherwise.
TEST(Switch, stores_and_forwards_to_a_faster_output) {
  Star star(profile_400mhz(36), {kQdrLink, kEdrLink});
  star.send(1, 2, 4096);
  const std::int64_t start = edge_after(4122 * 250 + 10'000) + 36 * 2500;
  expect_arrival_at(star.simulation, star.host(2), 1, at(start + 8 * 80 + 10'000));
}

// Two packets of 26 bytes arrive 26 * 80 = 2080 ps apart; with an interval of 4 cycles the second is looked
// up 4 cycles after the first.
TEST(Switch, an_input_looks_up_one_packet_per_interval) {
  for (const std::uint32_t interval : {1u, 4u}) {
    Star star(profile_400mhz(36, interval), {kEdrLink, kEdrLink});
    star.send(1, 2, 0, 0);
    star.send(1, 2, 0, 1);
    star.simulation.engine.run();
    const std::int64_t first = edge_after(8 * 80 + 10'000);
    const std::int64_t second = std::max(edge_after((26 + 8) * 80 + 10'000), first + interval * 2500);
    EXPECT_EQ(star.host(2).arrivals[0].head, at(first + 36 * 2500 + 8 * 80 + 10'000));
    EXPECT_EQ(star.host(2).arrivals[1].head, at(second + 36 * 2500 + 8 * 80 + 10'000));
  }
}

TEST(Switch, an_interval_of_one_input_does_not_delay_another) {
  Star star(profile_400mhz(36, 1000), {kEdrLink, kEdrLink, kEdrLink, kEdrLink});
  star.send(1, 3, 64);
  star.send(2, 4, 64);
  star.simulation.engine.run();
  EXPECT_EQ(star.host(3).arrivals[0].head, star.host(4).arrivals[0].head);
}

// The second of two simultaneous packets starts when the first has left: start + wire * byte time. Ties are
// resolved by the ports' component numbers.
TEST(Switch, an_output_serves_simultaneous_packets_by_input_and_one_after_the_other) {
  for (const bool reversed : {false, true}) {
    Star star(profile_400mhz(36), {kEdrLink, kEdrLink, kEdrLink});
    star.send(reversed ? 2 : 1, 3, 1024, reversed ? 2 : 1);
    star.send(reversed ? 1 : 2, 3, 1024, reversed ? 1 : 2);
    star.simulation.engine.run();
    const std::int64_t start = edge_after(8 * 80 + 10'000) + 36 * 2500;
    EXPECT_EQ(star.host(3).numbers, (std::vector<std::uint32_t>{1, 2}));
    EXPECT_EQ(star.host(3).arrivals[1].head, at(start + 1050 * 80 + 8 * 80 + 10'000));
  }
}

TEST(Switch, an_output_serves_packets_in_the_order_in_which_they_become_ready) {
  // The packet of the slow input is stored first, so a later one of the fast input overtakes it.
  Star star(profile_400mhz(36), {kQdrLink, kEdrLink, kEdrLink});
  star.send(1, 3, 4096, 1);
  star.simulation.engine.run_until(at(100'000));
  star.send(2, 3, 64, 2);
  star.simulation.engine.run();
  EXPECT_EQ(star.host(3).numbers, (std::vector<std::uint32_t>{2, 1}));
}

// Input buffer of one packet: the second enters the switch's cable when the first has left by the output and
// its credits are back: start + wire * byte time + 8 * 80 + 10000.
TEST(Switch, a_packet_occupies_its_input_buffer_until_its_last_byte_has_left) {
  SwitchProfile profile = profile_400mhz(36);
  profile.input_buffer_bytes = kLeastInputBufferBytes;
  Star star(profile, {kEdrLink, kEdrLink});
  star.send(1, 2, 4096, 0);
  star.send(1, 2, 4096, 1);
  const std::int64_t start = edge_after(8 * 80 + 10'000) + 36 * 2500;
  const std::int64_t credits_back = start + 4122 * 80 + 8 * 80 + 10'000;
  const std::int64_t second_start = edge_after(credits_back + 8 * 80 + 10'000) + 36 * 2500;
  expect_arrival_at(star.simulation, star.host(2), 1, at(start + 8 * 80 + 10'000));
  expect_arrival_at(star.simulation, star.host(2), 2, at(second_start + 8 * 80 + 10'000));
}

TEST(Switch, back_pressure_reaches_the_sender_and_no_further_packet_moves) {
  PortParams host_params;
  host_params.input_buffer_bytes = 2 * 65 * 64;
  SwitchProfile profile = profile_400mhz(36);
  profile.input_buffer_bytes = 3 * 65 * 64;
  Star star(profile, {kEdrLink, kEdrLink}, host_params);
  star.host(2).release = false;
  for (std::uint32_t i = 0; i < 20; ++i) star.send(1, 2, 4096, i);
  star.simulation.engine.run();
  EXPECT_EQ(star.host(2).arrivals.size(), 2u);
  // Two have arrived, three fill the switch's buffer, fifteen wait at the sender.
  EXPECT_EQ(star.host(1).port.queued_bytes(ib::VirtualLane{0}), 15u * 4122);
  for (std::size_t i = 0; i < 20; ++i) {
    star.host(2).port.release(*star.host(2).kept.at(i));
    star.simulation.engine.run();
  }
  EXPECT_EQ(star.host(2).arrivals.size(), 20u);
}

TEST(Switch, a_blocked_output_does_not_stop_packets_for_another) {
  PortParams host_params;
  host_params.input_buffer_bytes = kLeastInputBufferBytes;
  Star star(profile_400mhz(36), {kEdrLink, kEdrLink, kEdrLink}, host_params);
  star.host(2).release = false;
  for (std::uint32_t i = 0; i < 4; ++i) star.send(1, 2, 4096, i);
  star.send(1, 3, 64, 9);
  star.simulation.engine.run();
  EXPECT_EQ(star.host(2).arrivals.size(), 1u);
  EXPECT_EQ(star.host(3).numbers, std::vector<std::uint32_t>{9});
}

// Three inputs keep one output busy: while all have packets, none is ever more than one packet behind
// another.
TEST(Switch, saturated_inputs_share_an_output_evenly) {
  SwitchProfile profile = profile_400mhz(36);
  profile.input_buffer_bytes = 4 * 65 * 64;
  Star star(profile, {kEdrLink, kEdrLink, kEdrLink, kEdrLink});
  for (std::uint32_t i = 0; i < 100; ++i) {
    for (std::uint32_t from = 1; from <= 3; ++from) star.send(from, 4, 4096, from);
  }
  star.simulation.engine.run();
  ASSERT_EQ(star.host(4).numbers.size(), 300u);
  int counts[4] = {};
  for (std::size_t i = 0; i < 290; ++i) {
    ++counts[star.host(4).numbers[i]];
    for (int from = 1; from < 3; ++from) EXPECT_LE(std::abs(counts[from] - counts[from + 1]), 1) << i;
  }
  // And the output never pauses.
  for (std::size_t i = 1; i < 300; ++i) {
    EXPECT_EQ(star.host(4).arrivals[i].head - star.host(4).arrivals[i - 1].head, Duration(4122 * 80));
  }
}

// Host 1 has one lane; host 2 and the switch have four: each packet uses the lane of its service level on the
// second link, and its buffer space on the first link is returned on the lane of its arrival.
TEST(Switch, each_link_has_its_own_lane_for_a_service_level) {
  Simulation simulation;
  SwitchProfile profile = profile_400mhz(36);
  profile.virtual_lanes = 4;
  profile.input_buffer_bytes = kLeastInputBufferBytes;
  Switch hub(simulation.engine, simulation.tracer, ComponentId{9}, profile,
             {ComponentId{10}, ComponentId{11}});
  hub.set_forwarding_table({PortNumber{0}, PortNumber{1}, PortNumber{2}});
  PortParams four;
  four.virtual_lanes = 4;
  Host one(simulation, 0), other(simulation, 1, four);
  simulation.connect(one.port, hub.port(PortNumber{1}), kEdrLink);
  simulation.connect(other.port, hub.port(PortNumber{2}), kEdrLink);
  for (std::uint8_t level = 0; level < 16; ++level) {
    ib::PacketPtr packet = make_packet(2, 4096, level);
    packet->lrh.service_level = ib::ServiceLevel{level};
    one.port.send(std::move(packet));
  }
  simulation.engine.run();
  ASSERT_EQ(other.kept.size(), 16u);
  for (std::uint8_t level = 0; level < 16; ++level) EXPECT_EQ(other.kept[level]->lrh.lane.value, level % 4);
  simulation.engine.run_until(simulation.engine.now() +
                              Duration(1'000'000));  // the last credits need no event
  EXPECT_EQ(one.port.credits(ib::VirtualLane{0}), kLeastInputBufferBytes / 64);
}

TEST(Switch, drops_what_it_cannot_route_and_gives_the_space_back) {
  SwitchProfile profile = profile_400mhz(36);
  profile.input_buffer_bytes = kLeastInputBufferBytes;
  Star star(profile, {kEdrLink, kEdrLink});
  star.hub->set_forwarding_table(
      {PortNumber{0}, PortNumber{1}, PortNumber{2}, Switch::kNoRoute, PortNumber{0}, PortNumber{7}});
  const std::uint16_t lids[] = {0, 3, 4, 5, 6, 0xc000, 0xffff};
  for (const std::uint16_t lid : lids) star.send(1, lid, 4096, lid);
  star.send(1, 2, 4096, 2);
  star.simulation.engine.run();
  EXPECT_EQ(star.host(2).numbers, std::vector<std::uint32_t>{2});
  const auto drops = star.simulation.trace.of(TraceEvent::kPacketDropped);
  ASSERT_EQ(drops.size(), std::size(lids));
  for (const TraceRecord& drop : drops) {
    EXPECT_EQ(drop.component, 99u);
    const bool own = drop.values[2] == 0 || drop.values[2] == 4;
    EXPECT_EQ(drop.values[3], static_cast<std::uint64_t>(own ? DropReason::kOwnLid : DropReason::kNoRoute));
  }
}

TEST(Switch, drops_what_should_leave_by_a_port_without_a_cable) {
  Simulation simulation;
  Switch hub(simulation.engine, simulation.tracer, ComponentId{9}, profile_400mhz(36),
             {ComponentId{10}, ComponentId{11}});
  hub.set_forwarding_table({PortNumber{0}, PortNumber{1}, PortNumber{2}});
  Host host(simulation, 0);
  simulation.connect(host.port, hub.port(PortNumber{1}), kEdrLink);
  host.port.send(make_packet(2, 64));
  simulation.engine.run();
  ASSERT_EQ(simulation.trace.of(TraceEvent::kPacketDropped).size(), 1u);
  EXPECT_EQ(simulation.trace.of(TraceEvent::kPacketDropped)[0].values[3],
            static_cast<std::uint64_t>(DropReason::kLinkDown));
}

TEST(Switch, an_uncontended_packet_costs_two_events_per_link) {
  Star star(profile_400mhz(36), {kEdrLink, kEdrLink});
  for (std::uint32_t i = 0; i < 500; ++i) star.send(1, 2, 1024, i);
  star.simulation.engine.run();
  EXPECT_LE(star.simulation.engine.events_executed(), 500u * 2 * 2);
}

}  // namespace
}  // namespace verbatim::fabric
