// Links of an Ethernet switch that fail: a port leaves its groups after a delay and returns, flows elsewhere stay where they are.
#include "sim/fabric/rerouting.h"

#include <gtest/gtest.h>

#include <map>

#include "sim/core/rng.h"
#include "tests/fabric/net.h"

namespace verbatim::fabric {
namespace {

constexpr Duration kDelay{5'000'000};
constexpr std::uint32_t kFlows = 60;
constexpr std::uint64_t kDestination = 5;

ib::PacketPtr packet_of(std::uint32_t flow) {
  ib::PacketPtr packet = make_packet(0, 100, flow);
  packet->grh.emplace().destination.raw[15] = kDestination;
  packet->ethernet = ib::Ethernet{ib::MacAddress{1}, ib::MacAddress{kDestination}, static_cast<std::uint16_t>(0xc000 + flow)};
  return packet;
}

// A sender, and a switch with three equally good outputs.
struct Group {
  explicit Group(Duration delay = kDelay) : hub(simulation.engine, simulation.tracer, ComponentId{9}, profile(delay), ids()) {
    connect(sender, 1);
    for (std::uint8_t i = 0; i < 3; ++i) connect(outputs[i], static_cast<std::uint8_t>(i + 2));
    hub.set_ethernet_routes(ib::MacAddress{kDestination}, routes({2, 3, 4}), 77);
  }
  static SwitchProfile profile(Duration delay) {
    SwitchProfile profile;
    profile.withdrawal_delay = delay;
    return profile;
  }
  static std::vector<ComponentId> ids() { return {ComponentId{10}, ComponentId{11}, ComponentId{12}, ComponentId{13}}; }
  static std::shared_ptr<const RouteTable> routes(const std::vector<std::uint8_t>& ports) {
    std::vector<PortNumber> numbers;
    for (const std::uint8_t port : ports) numbers.push_back(PortNumber{port});
    RouteTable table(1);
    table.set(0, table.add(numbers));
    return std::make_shared<const RouteTable>(std::move(table));
  }
  void connect(Host& host, std::uint8_t port) {
    LinkParams link;
    link.byte_time = kEdr4x;
    link.propagation = kWay;
    link.header_bytes = 62;
    simulation.connect(host.port, hub.port(PortNumber{port}), link);
  }

  // By which output each flow leaves now; a flow that is dropped has none.
  std::map<std::uint32_t, int> ways() {
    for (Host& output : outputs) output.numbers.clear();
    for (std::uint32_t flow = 0; flow < kFlows; ++flow) sender.port.send(packet_of(flow));
    simulation.engine.run_until(simulation.engine.now() + Duration(3'000'000));
    std::map<std::uint32_t, int> ways;
    for (int i = 0; i < 3; ++i) {
      for (const std::uint32_t flow : outputs[i].numbers) ways[flow] = i;
    }
    return ways;
  }
  // One flow, looked up at `when`.
  bool arrives(std::uint32_t flow, Instant when) {
    for (Host& output : outputs) output.numbers.clear();
    const Duration way = kWay + kEdr4x.time_for(62);
    simulation.engine.run_until(when - way);
    sender.port.send(packet_of(flow));
    simulation.engine.run_until(when + Duration(2'000'000));
    return outputs[0].numbers.size() + outputs[1].numbers.size() + outputs[2].numbers.size() == 1;
  }
  void set(int output, bool up) { set_link(outputs[output].port, up); }
  void pass(Duration time) { simulation.engine.run_until(simulation.engine.now() + time); }

  Simulation simulation;
  Switch hub;
  Host sender{simulation, 0};
  Host outputs[3] = {{simulation, 1}, {simulation, 2}, {simulation, 3}};
};

std::uint32_t first_flow_of(const std::map<std::uint32_t, int>& ways, int output) {
  for (const auto& [flow, way] : ways) {
    if (way == output) return flow;
  }
  ADD_FAILURE() << "no flow leaves by output " << output;
  return 0;
}

TEST(Rerouting, flows_of_a_dead_output_move_and_the_others_stay_and_all_return) {
  Group group;
  const std::map<std::uint32_t, int> before = group.ways();
  ASSERT_EQ(before.size(), kFlows);
  group.set(1, false);
  group.pass(kDelay);
  const std::map<std::uint32_t, int> without = group.ways();
  ASSERT_EQ(without.size(), kFlows) << "none is lost";
  std::map<int, int> moved;
  for (const auto& [flow, way] : before) {
    EXPECT_NE(without.at(flow), 1);
    if (way == 1) {
      ++moved[without.at(flow)];
    } else {
      EXPECT_EQ(without.at(flow), way) << flow;
    }
  }
  EXPECT_GT(moved[0], 3) << "of about 20, over both that are left";
  EXPECT_GT(moved[2], 3);
  group.set(1, true);
  group.pass(kDelay);
  EXPECT_EQ(group.ways(), before);
}

TEST(Rerouting, a_port_leaves_its_group_and_returns_the_delay_after_its_link_changed) {
  Group group;
  const std::map<std::uint32_t, int> before = group.ways();
  const std::uint32_t flow = first_flow_of(before, 1);
  const Instant down = group.simulation.engine.now();
  group.set(1, false);
  EXPECT_FALSE(group.arrives(flow, down + kDelay - Duration(1)));
  {
    Group again;
    again.ways();
    again.set(1, false);
    EXPECT_TRUE(again.arrives(flow, down + kDelay));
    const Instant up = again.simulation.engine.now();
    again.set(1, true);
    EXPECT_TRUE(again.arrives(flow, up + kDelay - Duration(1)));
    EXPECT_TRUE(again.outputs[1].numbers.empty());
  }
  {
    Group again;
    again.ways();
    again.set(1, false);
    again.arrives(flow, down + kDelay);
    const Instant up = again.simulation.engine.now();
    again.set(1, true);
    EXPECT_TRUE(again.arrives(flow, up + kDelay));
    EXPECT_EQ(again.outputs[1].numbers.size(), 1u);
  }
}

// Its record is of the port, at the time of the first packet that leaves by another one, or by it again.
TEST(Rerouting, a_port_that_leaves_its_group_or_returns_is_recorded_once) {
  Group group;
  const auto records = [&] { return group.simulation.trace.of(TraceEvent::kRoutesChanged); };
  group.ways();
  group.set(1, false);
  group.ways();
  EXPECT_EQ(records().size(), 0u) << "the delay has not passed";
  group.pass(kDelay);
  EXPECT_EQ(records().size(), 0u) << "nothing is sent";
  const Instant before = group.simulation.engine.now();
  group.ways();
  ASSERT_EQ(records().size(), 1u);
  EXPECT_EQ(records()[0].component, 12u) << "of the second output";
  EXPECT_GT(records()[0].time_ps, to_ps(before));
  group.set(1, true);
  group.pass(kDelay);
  group.ways();
  ASSERT_EQ(records().size(), 2u);
  EXPECT_EQ(records()[1].component, 12u);
  group.ways();
  EXPECT_EQ(records().size(), 2u);
}

TEST(Rerouting, a_link_that_is_back_before_the_delay_has_passed_was_never_withdrawn) {
  Group group;
  const std::map<std::uint32_t, int> before = group.ways();
  group.set(1, false);
  group.pass(kDelay - Duration(1));
  group.set(1, true);
  EXPECT_EQ(group.ways(), before);
  group.pass(kDelay);
  EXPECT_EQ(group.ways(), before);
  // Nor is one that is down again for a moment used before it has been up for the delay.
  group.set(1, false);
  group.pass(kDelay);
  group.set(1, true);
  group.pass(kDelay - Duration(1));
  group.set(1, false);
  group.set(1, true);
  EXPECT_EQ(group.ways().size(), kFlows);
  EXPECT_TRUE(group.outputs[1].numbers.empty());
}

TEST(Rerouting, without_a_delay_the_group_changes_with_the_link) {
  Group group(Duration(0));
  const std::map<std::uint32_t, int> before = group.ways();
  group.set(0, false);
  EXPECT_EQ(group.ways().size(), kFlows);
  group.set(0, true);
  EXPECT_EQ(group.ways(), before);
}

TEST(Rerouting, where_no_output_is_left_packets_are_dropped_as_at_a_dead_link) {
  Group group;
  for (int i = 0; i < 3; ++i) group.set(i, false);
  group.pass(kDelay);
  EXPECT_TRUE(group.ways().empty());
  const auto drops = group.simulation.trace.of(TraceEvent::kPacketDropped);
  ASSERT_EQ(drops.size(), kFlows);
  for (const TraceRecord& drop : drops) EXPECT_EQ(drop.values[3], static_cast<std::uint64_t>(DropReason::kLinkDown));
  // A port that returns gets all flows.
  group.set(2, true);
  group.pass(kDelay);
  EXPECT_EQ(group.ways().size(), kFlows);
  EXPECT_EQ(group.outputs[2].numbers.size(), kFlows);
}

TEST(Rerouting, routes_change_at_their_time_and_flows_on_outputs_that_stay_do_not_move) {
  Group group;
  const Instant change = at(50'000'000), end = at(100'000'000);
  group.hub.set_route_changes({{change, Group::routes({2, 4}), {}}, {end, nullptr, {}}});
  const std::map<std::uint32_t, int> before = group.ways();
  const std::uint32_t flow = first_flow_of(before, 1);
  EXPECT_TRUE(group.arrives(flow, change - Duration(1)));
  EXPECT_EQ(group.outputs[1].numbers.size(), 1u);
  const std::map<std::uint32_t, int> without = group.ways();
  ASSERT_EQ(without.size(), kFlows);
  for (const auto& [each, way] : before) {
    if (way == 1) {
      EXPECT_NE(without.at(each), 1);
    } else {
      EXPECT_EQ(without.at(each), way);
    }
  }
  group.simulation.engine.run_until(end);
  EXPECT_EQ(group.ways(), before);
}

TEST(Rerouting, routes_that_change_at_a_time_are_there_from_that_time_on) {
  Group group;
  const std::uint32_t flow = first_flow_of(group.ways(), 1);
  group.hub.set_route_changes({{at(50'000'000), Group::routes({2}), {}}});
  EXPECT_TRUE(group.arrives(flow, at(50'000'000)));
  EXPECT_EQ(group.outputs[0].numbers.size(), 1u);
}

TEST(Rerouting, nothing_of_it_is_an_event) {
  Group group;
  group.hub.set_route_changes({{at(1'000'000'000), Group::routes({2}), {}}});
  group.set(1, false);
  group.set(1, true);
  EXPECT_TRUE(group.simulation.engine.empty());
}

// Two switches with three cables between them, which fail and are repaired at random, and a host at each; routes change, too.
struct FailingCables {
  static constexpr std::uint32_t kPackets = 3'000, kCables = 3;

  struct End {
    End(Simulation& simulation, Port& port)
        : port(port), timer(Timer::of<&End::on_time>(simulation.engine, port.id(), EventClass::kTimeout, this)) {}
    void on_time() {
      port.set_cable(port.is_up() ? false : true);
      if (++next < times.size()) timer.schedule_at(times[next]);
    }
    Port& port;
    std::vector<Instant> times;
    std::size_t next = 0;
    Timer timer;
  };
  struct Sender {
    Sender(FailingCables& owner, Host& host) : owner(owner), host(host), timer(Timer::of<&Sender::on_time>(
        owner.simulation.engine, host.port.id(), EventClass::kStage, this)) {
      timer.schedule_at(at(0));
    }
    void on_time() {
      ib::PacketPtr packet = packet_of(sent % kFlows);
      packet->bth.psn = ib::Psn{sent};
      host.port.send(std::move(packet));
      if (++sent < kPackets) timer.schedule_after(Duration(20'000));
    }
    FailingCables& owner;
    Host& host;
    std::uint32_t sent = 0;
    Timer timer;
  };

  FailingCables(std::uint64_t seed, bool in_windows) : windows(simulation.engine, in_windows) {
    LinkParams link;
    link.byte_time = kEdr4x;
    link.propagation = kWay;
    link.header_bytes = 62;
    windows.connect(from.port, left.port(PortNumber{1}), link);
    windows.connect(to.port, right.port(PortNumber{1}), link);
    Rng rng(seed, "cables");
    for (std::uint8_t port = 2; port < 2 + kCables; ++port) {
      Port &a = left.port(PortNumber{port}), &b = right.port(PortNumber{port});
      windows.connect(a, b, link);
      std::vector<Instant> times;
      for (Instant when{}; times.size() < 12;) {
        times.push_back(when += Duration(1 + static_cast<std::int64_t>(rng.below(12'000'000))));
      }
      for (Port* const end : {&a, &b}) {
        End& changing = *ends.emplace_back(std::make_unique<End>(simulation, *end));
        changing.times = times;
        changing.timer.schedule_at(times[0]);
      }
    }
    left.set_ethernet_routes(ib::MacAddress{kDestination}, Group::routes({2, 3, 4}), 77);
    right.set_ethernet_routes(ib::MacAddress{kDestination}, Group::routes({1}), 78);
    left.set_route_changes({{at(20'000'000), Group::routes({2, 4}), {}}, {at(40'000'000), nullptr, {}}});
    windows.run();
  }

  Simulation simulation;
  Windows windows;
  Switch left{simulation.engine, simulation.tracer, ComponentId{9}, Group::profile(Duration(2'000'000)), Group::ids()};
  Switch right{simulation.engine, simulation.tracer, ComponentId{20}, Group::profile(Duration(3'000'000)),
               {ComponentId{21}, ComponentId{22}, ComponentId{23}, ComponentId{24}}};
  Host from{simulation, 0}, to{simulation, 1};
  std::vector<std::unique_ptr<End>> ends;
  Sender sender{*this, from};
};

TEST(Rerouting, random_failures_give_the_same_records_in_windows) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    const FailingCables at_once(seed, false), in_windows(seed, true);
    EXPECT_GT(in_windows.windows.count(), 10u);
    EXPECT_EQ(at_once.simulation.trace.records, in_windows.simulation.trace.records);
    EXPECT_GT(at_once.to.numbers.size(), FailingCables::kPackets / 4);
    EXPECT_LT(at_once.to.numbers.size(), FailingCables::kPackets);
    const std::size_t dropped = at_once.simulation.trace.of(TraceEvent::kPacketDropped).size();
    EXPECT_EQ(at_once.to.numbers.size() + dropped, FailingCables::kPackets);
  }
}

}  // namespace
}  // namespace verbatim::fabric
