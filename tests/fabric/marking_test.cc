// Marks of congestion: by how much waits in an output queue.
#include "sim/fabric/marking.h"

#include <gtest/gtest.h>

#include "sim/ib/ecn.h"
#include "tests/fabric/net.h"

namespace verbatim::fabric {
namespace {

std::shared_ptr<MarkingParams> curve(std::uint64_t least, std::uint64_t most, std::uint32_t ppm) {
  auto params = std::make_shared<MarkingParams>();
  params->curves[0] = {least, most, ppm};
  return params;
}

TEST(Marking, nothing_below_everything_above_and_a_share_between) {
  Marking marking(curve(1'000, 3'000, 200'000), Rng(1, "marking"));
  int marked = 0;
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_FALSE(marking.marks(0, 1'000));
    EXPECT_TRUE(marking.marks(0, 3'001));
    marked += marking.marks(0, 2'000);
  }
  // Half of the maximum 20 %: 1,000 of 10,000, with a standard deviation of 30.
  EXPECT_NEAR(marked, 1'000, 150);
}

TEST(Marking, a_step_marks_all_or_nothing) {
  Marking marking(curve(1'000, 1'000, 1'000'000), Rng(1, "marking"));
  EXPECT_FALSE(marking.marks(0, 1'000));
  EXPECT_TRUE(marking.marks(0, 1'001));
}

TEST(Marking, a_queue_without_a_curve_marks_nothing) {
  Marking marking(curve(0, 0, 1'000'000), Rng(1, "marking"));
  EXPECT_FALSE(marking.marks(1, 1'000'000));
  EXPECT_FALSE(marking.marks(14, 1'000'000));
}

ib::PacketPtr make_ip_packet(std::uint32_t number, ib::Ecn ecn) {
  ib::PacketPtr packet = make_packet(1, 1'000, number);
  packet->grh.emplace().traffic_class = ib::with_ecn(0x60, ecn);
  packet->ethernet.emplace().destination = ib::MacAddress{1};
  return packet;
}

// Three packets wait behind one on the line. When a packet joins its queue it finds those before it; when it
// starts it leaves those behind it. Each has 1,066 bytes.
TEST(Marking, at_the_end_or_the_beginning_of_the_queue) {
  for (const auto where : {MarkingParams::Where::kEnqueue, MarkingParams::Where::kDequeue}) {
    Simulation simulation;
    Host sender(simulation, 0), receiver(simulation, 4);
    Switch middle(simulation.engine, simulation.tracer, ComponentId{1}, {}, {ComponentId{2}, ComponentId{3}});
    const std::vector<PortNumber> routes{Switch::kNoRoute, PortNumber{2}};
    middle.set_ethernet_routes(ib::MacAddress{}, std::make_shared<const RouteTable>(routes));
    LinkParams fast{kEdr4x, kWay}, slow{kQdr4x, kWay};
    simulation.connect(sender.port, middle.port(PortNumber{1}), fast);
    simulation.connect(middle.port(PortNumber{2}), receiver.port, slow);
    auto params = curve(1'500, 1'500, 1'000'000);
    params->where = where;
    middle.port(PortNumber{2}).set_marking(params, Rng(1, "marking"));
    for (std::uint32_t i = 0; i < 6; ++i)
      sender.port.send(make_ip_packet(i, i == 3 ? ib::Ecn::kNotCapable : ib::Ecn::kCapable0));
    simulation.engine.run();
    std::vector<std::uint64_t> marked;
    for (const TraceRecord& record : simulation.trace.of(TraceEvent::kPacketMarked))
      marked.push_back(record.values[2]);
    ASSERT_EQ(receiver.kept.size(), 6u);
    for (const auto& packet : receiver.kept) {
      const bool is_marked = std::find(marked.begin(), marked.end(), packet->bth.psn.value) != marked.end();
      EXPECT_EQ(ib::ecn_of(*packet) == ib::Ecn::kCongestionExperienced, is_marked)
          << packet->bth.psn.value;
      EXPECT_EQ(packet->grh->traffic_class & ~ib::kEcnBits, 0x60);
    }
    // Arrivals every 85,280 ps, departures every 266,500: when packet n arrives, about min(n, ceil(n x 0.68))
    // wait.
    if (where == MarkingParams::Where::kEnqueue) {
      EXPECT_EQ(marked, (std::vector<std::uint64_t>{4, 5}))
          << "the fourth finds two, and does not know of marks";
    } else {
      EXPECT_EQ(marked, (std::vector<std::uint64_t>{1, 2}))
          << "the fourth leaves two, and does not know of marks";
    }
  }
}

}  // namespace
}  // namespace verbatim::fabric
