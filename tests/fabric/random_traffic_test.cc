// Random traffic over random trees of switches: every packet arrives exactly once and in order per flow, no
// input buffer exceeds its size, nothing deadlocks. A seed gives the same trace for any order of construction
// and connection, and with and without windows between ends of cables. Cables may fail.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "sim/core/rng.h"
#include "sim/config/headroom.h"
#include "sim/subnet/subnet.h"
#include "tests/fabric/conservation.h"
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
  SharedMemoryParams memory;         // of each switch
  std::uint8_t lossless_lanes = 0;   // of links with pauses
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

constexpr std::uint32_t kLargestPacket = 26 + 4096;

// The same with pauses, and memory that the ports of each switch share in every second case.
Shape with_pauses(Shape shape, std::uint64_t seed) {
  Rng rng(seed, "pauses");
  std::uint32_t most_headroom = 0;
  shape.lossless_lanes = static_cast<std::uint8_t>((1u << shape.lanes) - 1);
  if (rng.chance(1, 2)) shape.lossless_lanes &= static_cast<std::uint8_t>(rng.below(4));
  for (LinkParams& link : shape.links) {
    link.flow_control = FlowControlKind::kPause;
    link.bytes_before = 8;
    link.bytes_after = 12;
    link.credit_update_interval = Duration(0);
    link.lossless_lanes = shape.lossless_lanes;
    link.pause_response = Duration(static_cast<std::int64_t>(rng.chance(1, 2) ? 0 : rng.below(2'000'000)));
    link.pause_quanta = static_cast<std::uint16_t>(rng.chance(1, 2) ? 65'535 : 1'000);
    link.headroom_bytes = config::headroom_bound(link, 26, kLargestPacket, kCreditBlockBytes);
    most_headroom = std::max(most_headroom, link.headroom_bytes);
  }
  shape.buffer_bytes += most_headroom;
  if (rng.chance(1, 2)) {
    constexpr std::uint32_t kPorts = 16;
    const std::uint32_t cell = rng.chance(1, 2) ? 64 : 144;
    const std::uint32_t per_group = most_headroom + cell + 1'000 + cell;
    shape.memory = {.bytes = std::uint64_t{kPorts} * shape.lanes * per_group + 2'000 + rng.below(60'000),
                    .cell_bytes = cell,
                    .reserved_bytes = static_cast<std::uint32_t>(rng.below(1'000)),
                    .lossless_alpha_log2 = static_cast<int>(rng.below(6)) - 4,
                    .lossy_alpha_log2 = static_cast<int>(rng.below(6)) - 4,
                    .output_alpha_log2 = static_cast<int>(rng.below(6)) - 4,
                    .resume_offset_bytes = static_cast<std::uint32_t>(rng.below(2'000))};
  }
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
      if (!port.is_up() || !port.has_room(packet->lrh.lane)) {
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
    if (!port.admit(*packet)) {
      lost_lanes |= 1u << packet->lrh.lane.value;
      return;
    }
    const Instant release =
        times.tail + Duration(static_cast<std::int64_t>(rng.chance(1, 5) ? rng.below(2'000'000) : 0));
    port.release(packet->lrh.lane, packet->wire_bytes(), release);
    arrived.push_back({packet->lrh.source.value, packet->lrh.service_level.value, packet->bth.psn.value});
    released[packet->bth.psn.value] = release;
  }

  void link_changed(PortNumber, bool up) override {
    if (up && stopped) send_next();
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
  std::uint32_t lost_lanes = 0;  // bit n: a packet of lane n was dropped for want of space
  std::map<std::uint32_t, Instant> released;  // by packet number
};

// A cable that fails or is repaired, or one of its ends that is disabled or enabled.
struct LinkChange {
  Instant when;
  std::size_t cable = 0;
  int end = 0;  // 0 or 1; kBothEnds: the cable
  bool up = false;

  static constexpr int kBothEnds = 2;
};

// Changes of one end of a cable, in events of its own.
struct ChangingEnd {
  ChangingEnd(Engine& engine, Port& port, int end)
      : engine(engine),
        port(port),
        end(end),
        timer(Timer::of<&ChangingEnd::fire>(engine, port.id(), EventClass::kTimeout, this)) {}

  void add(const LinkChange& change) {
    if (change.end == end || change.end == LinkChange::kBothEnds) changes.push_back(change);
    if (!changes.empty() && !timer.scheduled()) timer.schedule_at(changes.front().when);
  }
  void fire() {
    for (; next < changes.size() && changes[next].when == engine.now(); ++next) {
      if (changes[next].end == LinkChange::kBothEnds) {
        port.set_cable(changes[next].up);
      } else {
        port.set_enabled(changes[next].up);
      }
    }
    if (next < changes.size()) timer.schedule_at(changes[next].when);
  }

  Engine& engine;
  Port& port;
  const int end;
  std::vector<LinkChange> changes;  // by time
  std::size_t next = 0;
  Timer timer;
};

struct Fabric {
  Fabric(const Shape& shape, std::uint64_t seed, bool reversed, bool in_windows = false,
         const std::vector<LinkChange>& changes = {})
      : shape(shape), windows(simulation.engine, in_windows) {
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
      profile.shared_memory = shape.memory;
      switches[i] = std::make_unique<Switch>(simulation.engine, simulation.tracer, components.id(node.name),
                                             profile, ids);
      switches[i]->set_forwarding_table(plan.nodes[i].forwarding_table);
      conservation.add_switch(components.id(node.name), ids);
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
      conservation.add_cable(a.id(), b.id());
      if (changes.empty()) continue;
      for (const int end : {0, 1}) {
        ChangingEnd& changing = *ends.emplace_back(std::make_unique<ChangingEnd>(simulation.engine, end == 0 ? a : b, end));
        for (const LinkChange& change : changes) {
          if (change.cable == i) changing.add(change);
        }
      }
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
    simulation.tracer.add(conservation);
    windows.run();
    conservation.expect_rest();
  }

  static std::string port_name(const std::string& node, std::uint32_t port) {
    return node + "/p" + (port < 10 ? "0" : "") + std::to_string(port);
  }
  Port& port(const subnet::Attachment& end) {
    return hosts[end.node] ? hosts[end.node]->port : switches[end.node]->port(end.port);
  }

  const Shape& shape;
  Conservation conservation;
  Simulation simulation;
  Windows windows;
  std::vector<std::unique_ptr<RandomHost>> hosts;
  std::vector<std::unique_ptr<Switch>> switches;
  std::vector<std::unique_ptr<ChangingEnd>> ends;
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
    bool operator<(const Change& other) const {  // at one instant, departures precede
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

// Changes at any time, and at those at which something happens in a fabric without them: a packet is on the cable, or one starts
// or arrives anywhere, or a window may end.
std::vector<LinkChange> random_changes(const Shape& shape, std::uint64_t seed) {
  Fabric undisturbed(shape, seed, false);
  const std::vector<TraceRecord>& records = undisturbed.simulation.trace.records;
  const std::vector<TraceRecord> starts = undisturbed.simulation.trace.of(TraceEvent::kPacketTransmitted);
  std::map<std::uint32_t, std::size_t> cables;  // by component of the port
  Duration window = Duration::max();
  for (std::size_t i = 0; i < shape.cables.size(); ++i) {
    cables[undisturbed.port(shape.cables[i].a).id().value] = cables[undisturbed.port(shape.cables[i].b).id().value] = i;
    if (shape.links[i].propagation > Duration(0)) window = std::min(window, shape.links[i].propagation);
  }
  Rng rng(seed, "changes");
  const auto below = [&rng](std::int64_t bound) {
    return Duration(static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(bound))));
  };
  std::vector<LinkChange> changes;
  for (std::size_t i = 0; i < 16; ++i) {
    LinkChange down{at(0) + below(records.back().time_ps), rng.below(shape.cables.size())};
    if (rng.chance(2, 3)) {
      const TraceRecord& start = starts[rng.below(starts.size())];
      down.cable = cables.at(start.component);
      down.when = at(start.time_ps) + below(1 + shape.links[down.cable].propagation / Duration(1));
    } else if (rng.chance(2, 3)) {
      const Instant happens = at(records[rng.below(records.size())].time_ps);
      down.when = std::max(at(0), happens + below(3) - Duration(1) + (rng.chance(1, 2) ? window : Duration(0)));
    }
    down.end = rng.chance(1, 2) ? LinkChange::kBothEnds : static_cast<int>(rng.below(2));
    LinkChange up = down;
    up.up = true;
    // Often before the far end knows of it, or before packets and grants on the line have arrived.
    if (!rng.chance(1, 4)) up.when += below(rng.chance(1, 2) ? 100'000 : 5'000'000);
    changes.push_back(down);
    changes.push_back(up);
  }
  std::stable_sort(changes.begin(), changes.end(), [](const LinkChange& a, const LinkChange& b) { return a.when < b.when; });
  return changes;
}

TEST_P(RandomTraffic, a_packet_arrives_or_is_dropped_once_whatever_fails_and_all_credits_return) {
  const Shape shape = random_tree(GetParam());
  Fabric fabric(shape, GetParam(), false, false, random_changes(shape, GetParam()));
  std::multiset<std::uint64_t> ended, all;
  for (const auto& [flow, numbers] : fabric.expected) all.insert(numbers.begin(), numbers.end());
  for (const TraceRecord& drop : fabric.simulation.trace.of(TraceEvent::kPacketDropped)) ended.insert(drop.values[2]);
  for (const auto& host : fabric.hosts) {
    if (host == nullptr) continue;
    for (const RandomHost::Arrival& arrival : host->arrived) ended.insert(arrival.number);
  }
  EXPECT_EQ(ended, all);
  fabric.simulation.engine.run_until(fabric.simulation.engine.now() + Duration(10'000'000));
  for (const auto& end : fabric.ends) {
    EXPECT_TRUE(end->port.is_up());
    for (std::uint8_t lane = 0; lane < shape.lanes; ++lane) {
      EXPECT_EQ(end->port.credits(ib::VirtualLane{lane}), shape.buffer_bytes / kCreditBlockBytes);
    }
  }
}

TEST_P(RandomTraffic, gives_the_same_losses_when_ends_of_cables_meet_between_windows_alone) {
  const Shape shape = random_tree(GetParam());
  const std::vector<LinkChange> changes = random_changes(shape, GetParam());
  Fabric at_once(shape, GetParam(), false, false, changes), in_windows(shape, GetParam(), false, true, changes);
  EXPECT_EQ(at_once.simulation.trace.records, in_windows.simulation.trace.records);
  ASSERT_EQ(at_once.ends.size(), in_windows.ends.size());
  const Instant end = std::max(at_once.simulation.engine.now(), in_windows.simulation.engine.now());
  at_once.simulation.engine.run_until(end);
  in_windows.simulation.engine.run_until(end);
  for (std::size_t i = 0; i < at_once.ends.size(); ++i) {
    EXPECT_TRUE(at_once.ends[i]->port.counters() == in_windows.ends[i]->port.counters()) << "end " << i;
  }
}

// The seeds above meet losses in queues, at switches and on lines, at both ends of a cable and at one.
TEST(RandomChanges, lose_packets_everywhere) {
  std::map<std::uint64_t, std::uint64_t> drops;  // by reason
  std::uint64_t lost_between_switches = 0;
  for (std::uint64_t seed = 1; seed < 41; ++seed) {
    const Shape shape = random_tree(seed);
    Fabric fabric(shape, seed, false, false, random_changes(shape, seed));
    std::set<std::uint32_t> at_hosts;
    for (const auto& host : fabric.hosts) {
      if (host != nullptr) at_hosts.insert(host->port.id().value);
    }
    for (const TraceRecord& drop : fabric.simulation.trace.of(TraceEvent::kPacketDropped)) {
      ++drops[drop.values[3]];
      const bool is_lost = drop.values[3] == static_cast<std::uint64_t>(DropReason::kLostOnLink);
      lost_between_switches += is_lost && at_hosts.count(drop.component) == 0;
    }
  }
  EXPECT_GT(drops[static_cast<std::uint64_t>(DropReason::kLinkDown)], 100u);
  EXPECT_GT(drops[static_cast<std::uint64_t>(DropReason::kLostOnLink)], 50u);
  EXPECT_GT(lost_between_switches, 20u);
}

// With the computed headroom no lossless packet is lost, whatever the receivers keep; pauses of each end
// agree with its buffer.
TEST_P(RandomTraffic, loses_nothing_lossless_where_priorities_are_paused) {
  const Shape shape = with_pauses(random_tree(GetParam()), GetParam());
  Fabric fabric(shape, GetParam(), false);
  std::set<std::uint32_t> dropped;
  for (const TraceRecord& record : fabric.simulation.trace.of(TraceEvent::kPacketDropped)) {
    dropped.insert(fabric.lanes[static_cast<std::uint32_t>(record.values[2])]);
  }
  for (const auto& host : fabric.hosts) {
    for (std::uint32_t lane = 0; host && lane < shape.lanes; ++lane) {
      if ((host->lost_lanes >> lane & 1) != 0) dropped.insert(lane);
    }
  }
  for (const std::uint32_t lane : dropped) EXPECT_EQ(shape.lossless_lanes >> lane & 1, 0) << "lane " << lane;
  std::map<std::tuple<std::uint16_t, std::uint16_t, std::uint8_t>, std::vector<std::uint32_t>> got;
  for (std::size_t i = 0; i < fabric.hosts.size(); ++i) {
    if (!fabric.hosts[i]) continue;
    EXPECT_EQ(fabric.hosts[i]->sent, fabric.hosts[i]->outgoing.size());
    EXPECT_EQ(fabric.hosts[i]->port.paused_lanes(), 0) << "everything has been taken in the end";
    for (const RandomHost::Arrival& a : fabric.hosts[i]->arrived) got[{a.from, fabric.lids[i], a.level}].push_back(a.number);
  }
  for (const auto& [flow, numbers] : fabric.expected) {
    const std::uint32_t lane = LaneTable({}).of(ib::ServiceLevel{std::get<2>(flow)}, shape.lanes).value;
    if ((shape.lossless_lanes >> lane & 1) == 0) continue;
    EXPECT_EQ(got[flow], numbers);
  }
}

TEST_P(RandomTraffic, gives_the_same_pauses_between_windows_and_whatever_fails) {
  const Shape shape = with_pauses(random_tree(GetParam()), GetParam());
  for (const bool fails : {false, true}) {
    const std::vector<LinkChange> changes = fails ? random_changes(shape, GetParam()) : std::vector<LinkChange>{};
    const Fabric at_once(shape, GetParam(), false, false, changes), in_windows(shape, GetParam(), false, true, changes);
    EXPECT_EQ(at_once.simulation.trace.records, in_windows.simulation.trace.records) << fails;
    const Fabric reversed(shape, GetParam(), true, false, changes);
    EXPECT_EQ(at_once.simulation.trace.records, reversed.simulation.trace.records) << fails;
  }
}

// The seeds above pause, use headroom, and drop what is lossy.
TEST(RandomPauses, come_in_most_fabrics) {
  std::size_t with_frames = 0, with_drops = 0;
  for (std::uint64_t seed = 1; seed < 41; ++seed) {
    const Shape shape = with_pauses(random_tree(seed), seed);
    const Fabric fabric(shape, seed, false);
    with_frames += !fabric.simulation.trace.of(TraceEvent::kPauseFrame).empty();
    const bool drops_at_hosts =
        std::any_of(fabric.hosts.begin(), fabric.hosts.end(), [](const auto& host) { return host && host->lost_lanes != 0; });
    with_drops += drops_at_hosts || !fabric.simulation.trace.of(TraceEvent::kPacketDropped).empty();
  }
  EXPECT_GT(with_frames, 20u);
  EXPECT_GT(with_drops, 3u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTraffic, testing::Range<std::uint64_t>(1, 41));

}  // namespace
}  // namespace verbatim::fabric
