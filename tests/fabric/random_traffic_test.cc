// Random traffic over random trees of switches: every packet arrives exactly once and in order per flow, no
// input buffer ever holds more than its size, nothing deadlocks; the same seed gives the same trace whatever
// the order of construction and connection.
#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "sim/core/rng.h"
#include "sim/subnet/subnet.h"
#include "tests/fabric/net.h"
#include "tests/fabric/windows.h"

namespace verbatim::fabric {
namespace {

struct Shape {
  std::vector<subnet::Node> nodes;
  std::vector<subnet::Cable> cables;
  std::vector<LinkParams> links;  // by cable
  std::uint32_t lanes = 1;
  std::uint32_t buffer_bytes = 0;
};

Shape random_tree(std::uint64_t seed) {
  Rng rng(seed, "tree");
  Shape shape;
  const std::size_t switches = 1 + rng.below(5), hosts = 2 + rng.below(7);
  std::vector<std::uint8_t> used(switches, 0);
  const auto free_port = [&](std::size_t node) { return subnet::Attachment{node, PortNumber{++used[node]}}; };
  for (std::size_t i = 0; i < switches; ++i) {
    shape.nodes.push_back({"s" + std::to_string(i), subnet::NodeKind::kSwitch, 16});
    if (i > 0) shape.cables.push_back({free_port(rng.below(i)), free_port(i)});
  }
  for (std::size_t i = 0; i < hosts; ++i) {
    shape.nodes.push_back({"h" + std::to_string(i), subnet::NodeKind::kAdapter, 1});
    shape.cables.push_back({{switches + i, PortNumber{1}}, free_port(rng.below(switches))});
  }
  // Whole picoseconds per byte, so that the checks below can compute when a packet has left.
  constexpr ByteTime kRates[] = {{80, 1}, {40, 1}, {250, 1}};
  const bool mixed = rng.chance(1, 2);
  for (std::size_t i = 0; i < shape.cables.size(); ++i) {
    LinkParams link{kRates[mixed ? rng.below(3) : 0], Duration(static_cast<std::int64_t>(rng.below(30'000)))};
    if (rng.chance(1, 4)) link.credit_update_interval = Duration(1'000'000);
    shape.links.push_back(link);
  }
  shape.lanes = 1 + static_cast<std::uint32_t>(rng.below(3));
  shape.buffer_bytes = kLeastInputBufferBytes + static_cast<std::uint32_t>(rng.below(16'384));
  return shape;
}

// An end node that sends its list at random times, and keeps arrived packets for random times.
struct RandomHost final : PacketSink {
  RandomHost(Simulation& simulation, ComponentId id, const PortParams& params, std::uint64_t seed,
             const std::string& name)
      : engine(simulation.engine),
        rng(seed, name + "/traffic"),
        port(simulation.engine, simulation.tracer, id, PortNumber{1}, params, *this),
        next(Timer::of<&RandomHost::send_next>(simulation.engine, id, EventClass::kStage, this)) {
    port.set_room_listener(this, [](void* self, ib::VirtualLane) {
      auto& host = *static_cast<RandomHost*>(self);
      if (host.stopped) host.send_next();
    });
  }

  void start(std::vector<ib::PacketPtr> packets) {
    outgoing = std::move(packets);
    next.schedule_at(at(static_cast<std::int64_t>(rng.below(100'000))));
  }

  void send_next() {
    stopped = false;
    while (sent < outgoing.size()) {
      ib::PacketPtr& packet = outgoing[sent];
      packet->lrh.lane = port.lane_of(packet->lrh.service_level);
      if (!port.has_room(packet->lrh.lane)) {
        stopped = true;
        return;
      }
      port.send(std::move(packet));
      ++sent;
      if (rng.chance(1, 10)) {
        if (!next.scheduled()) next.schedule_after(Duration(static_cast<std::int64_t>(rng.below(1'000'000))));
        return;
      }
    }
  }

  void receive(PortNumber, ib::PacketPtr packet, ArrivalTimes times) override {
    const Instant release =
        times.tail + Duration(static_cast<std::int64_t>(rng.chance(1, 5) ? rng.below(2'000'000) : 0));
    port.release(packet->lrh.lane, packet->wire_bytes(), release);
    arrived.push_back({packet->lrh.source.value, packet->lrh.service_level.value, packet->bth.psn.value});
    released[packet->bth.psn.value] = release;
  }

  struct Arrival {
    std::uint16_t from;
    std::uint8_t level;
    std::uint32_t number;
  };
  Engine& engine;
  Rng rng;
  Port port;
  Timer next;
  bool stopped = false;
  std::size_t sent = 0;
  std::vector<ib::PacketPtr> outgoing;
  std::vector<Arrival> arrived;
  std::map<std::uint32_t, Instant> released;  // by packet number
};

struct Fabric {
  Fabric(const Shape& shape, std::uint64_t seed, bool reversed, bool in_windows = false) : shape(shape), windows(in_windows) {
    const subnet::Plan plan = subnet::plan(shape.nodes, shape.cables);
    std::vector<std::string> names;
    for (const subnet::Node& node : shape.nodes) {
      names.push_back(node.name);
      for (std::uint32_t port = 1; port <= node.ports; ++port) names.push_back(port_name(node.name, port));
    }
    const ComponentTable components(names);
    hosts.resize(shape.nodes.size());
    switches.resize(shape.nodes.size());
    std::vector<std::size_t> order(shape.nodes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (reversed) std::reverse(order.begin(), order.end());
    for (const std::size_t i : order) {
      const subnet::Node& node = shape.nodes[i];
      std::vector<ComponentId> ids;
      for (std::uint32_t port = 1; port <= node.ports; ++port)
        ids.push_back(components.id(port_name(node.name, port)));
      if (node.kind == subnet::NodeKind::kAdapter) {
        PortParams params;
        params.virtual_lanes = shape.lanes;
        params.input_buffer_bytes = shape.buffer_bytes;
        hosts[i] = std::make_unique<RandomHost>(simulation, ids[0], params, seed, node.name);
        continue;
      }
      SwitchProfile profile;
      profile.core_clock_hz = 300'000'000;
      profile.virtual_lanes = shape.lanes;
      profile.input_buffer_bytes = shape.buffer_bytes;
      switches[i] = std::make_unique<Switch>(simulation.engine, simulation.tracer, components.id(node.name),
                                             profile, ids);
      switches[i]->set_forwarding_table(plan.nodes[i].forwarding_table);
    }
    std::vector<std::size_t> cables(shape.cables.size());
    std::iota(cables.begin(), cables.end(), std::size_t{0});
    if (reversed) std::reverse(cables.begin(), cables.end());
    for (const std::size_t i : cables) {
      const subnet::Cable& cable = shape.cables[i];
      Port& a = port(cable.a);
      Port& b = port(cable.b);
      if (reversed) {
        windows.connect(b, a, shape.links[i]);
      } else {
        windows.connect(a, b, shape.links[i]);
      }
      rates[a.id().value] = rates[b.id().value] = shape.links[i].byte_time;
    }

    Rng rng(seed, "packets");
    std::uint32_t number = 0;
    std::vector<std::vector<ib::PacketPtr>> outgoing(hosts.size());
    for (int i = 0; i < 400; ++i) {
      std::size_t from = 0, to = 0;
      while (from == to || !hosts[from] || !hosts[to])
        from = rng.below(hosts.size()), to = rng.below(hosts.size());
      ib::PacketPtr packet =
          make_packet(plan.nodes[to].ports[0].lid.value,
                      static_cast<std::uint32_t>(rng.chance(1, 2) ? 4096 : rng.below(4096)), number++);
      packet->lrh.source = plan.nodes[from].ports[0].lid;
      packet->lrh.service_level = ib::ServiceLevel{static_cast<std::uint8_t>(rng.below(16))};
      expected[{plan.nodes[from].ports[0].lid.value, packet->lrh.destination.value,
                packet->lrh.service_level.value}]
          .push_back(packet->bth.psn.value);
      lids[to] = packet->lrh.destination.value;
      blocks[packet->bth.psn.value] = blocks_of(packet->wire_bytes());
      lanes[packet->bth.psn.value] = LaneTable({}).of(packet->lrh.service_level, shape.lanes).value;
      outgoing[from].push_back(std::move(packet));
    }
    for (const std::size_t i : order) {
      if (hosts[i]) hosts[i]->start(std::move(outgoing[i]));
    }
    windows.run(simulation.engine);
  }

  static std::string port_name(const std::string& node, std::uint32_t port) {
    return node + "/p" + (port < 10 ? "0" : "") + std::to_string(port);
  }
  Port& port(const subnet::Attachment& end) {
    return hosts[end.node] ? hosts[end.node]->port : switches[end.node]->port(end.port);
  }

  const Shape& shape;
  Simulation simulation;
  Windows windows;
  std::vector<std::unique_ptr<RandomHost>> hosts;
  std::vector<std::unique_ptr<Switch>> switches;
  std::map<std::uint32_t, ByteTime> rates;  // by component of the port
  std::map<std::tuple<std::uint16_t, std::uint16_t, std::uint8_t>, std::vector<std::uint32_t>> expected;
  std::map<std::size_t, std::uint16_t> lids;
  std::map<std::uint32_t, std::int64_t> blocks;  // by packet number
  std::map<std::uint32_t, std::uint32_t> lanes;  // by packet number
};

class RandomTraffic : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomTraffic, arrives_exactly_once_and_in_order_per_flow) {
  const Shape shape = random_tree(GetParam());
  Fabric fabric(shape, GetParam(), false);
  std::map<std::tuple<std::uint16_t, std::uint16_t, std::uint8_t>, std::vector<std::uint32_t>> got;
  for (std::size_t i = 0; i < fabric.hosts.size(); ++i) {
    if (!fabric.hosts[i]) continue;
    for (const RandomHost::Arrival& a : fabric.hosts[i]->arrived)
      got[{a.from, fabric.lids[i], a.level}].push_back(a.number);
  }
  EXPECT_EQ(got, fabric.expected);
}

// Follows each packet by the trace: it fills a buffer from the arrival of its head until it has left by the
// next link, or until the host gave it back.
TEST_P(RandomTraffic, never_overfills_an_input_buffer_and_never_runs_dry) {
  const Shape shape = random_tree(GetParam());
  Fabric fabric(shape, GetParam(), false);
  struct Change {
    std::int64_t time;
    std::int64_t blocks;
    bool operator<(const Change& other) const {  // at one instant, what leaves goes first
      return std::tie(time, blocks) < std::tie(other.time, other.blocks);
    }
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Change>> changes;  // by port and lane
  std::map<std::uint32_t, std::uint32_t> where;                                    // packet to port
  std::map<std::uint32_t, std::int64_t> complete;                                  // packet's tail there
  for (const TraceRecord& record : fabric.simulation.trace.records) {
    const auto number = static_cast<std::uint32_t>(record.values[2]);
    const auto wire_bytes = static_cast<std::uint32_t>(record.values[3]);
    const std::uint32_t lane = fabric.lanes[number];
    if (record.event == TraceEvent::kPacketReceived) {
      where[number] = record.component;
      complete[number] = record.time_ps + to_ps(fabric.rates[record.component].time_for(wire_bytes - 8));
      changes[{record.component, lane}].push_back({record.time_ps, blocks_of(wire_bytes)});
    } else if (record.event == TraceEvent::kPacketTransmitted && where.count(number) != 0) {
      const std::int64_t left = record.time_ps + to_ps(fabric.rates[record.component].time_for(wire_bytes));
      EXPECT_GE(left, complete[number]) << "the output ran dry";
      changes[{where[number], lane}].push_back({left, -static_cast<std::int64_t>(blocks_of(wire_bytes))});
      where.erase(number);
    }
  }
  for (const auto& host : fabric.hosts) {
    if (!host) continue;
    for (const auto& [number, time] : host->released) {
      ASSERT_EQ(where.at(number), host->port.id().value);
      auto& list = changes[{host->port.id().value, fabric.lanes[number]}];
      list.push_back({to_ps(time), -fabric.blocks.at(number)});
    }
  }
  std::int64_t most = 0;
  for (auto& [key, list] : changes) {
    std::sort(list.begin(), list.end());
    std::int64_t blocks = 0;
    for (const Change& change : list) {
      blocks += change.blocks;
      most = std::max(most, blocks);
      ASSERT_GE(blocks, 0);
      ASSERT_LE(blocks, shape.buffer_bytes / kCreditBlockBytes)
          << "port " << key.first << " at " << change.time;
    }
    EXPECT_EQ(blocks, 0) << "everything has left in the end";
  }
  EXPECT_GT(most, 0);
}

TEST_P(RandomTraffic, gives_the_same_trace_whatever_the_order_of_construction) {
  const Shape shape = random_tree(GetParam());
  const Fabric one(shape, GetParam(), false), same(shape, GetParam(), false),
      reversed(shape, GetParam(), true);
  EXPECT_EQ(one.simulation.trace.records, same.simulation.trace.records);
  EXPECT_EQ(one.simulation.trace.records, reversed.simulation.trace.records);
  const Fabric other(shape, GetParam() + 1'000'000, false);
  EXPECT_NE(one.simulation.trace.records, other.simulation.trace.records);
}

TEST_P(RandomTraffic, gives_the_same_trace_when_ends_of_cables_meet_between_windows_alone) {
  const Shape shape = random_tree(GetParam());
  const Fabric at_once(shape, GetParam(), false), in_windows(shape, GetParam(), false, true);
  EXPECT_GT(in_windows.windows.count(), 10u);
  EXPECT_EQ(at_once.simulation.trace.records, in_windows.simulation.trace.records);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTraffic, testing::Range<std::uint64_t>(1, 41));

}  // namespace
}  // namespace verbatim::fabric
