// Links that are slow for a while, and datagrams that are lost or overtaken.
#include "sim/faults/drawn_disturbances.h"

#include <algorithm>

#include "sim/faults/fault_script.h"
#include "sim/ib/opcode.h"
#include "tests/fabric/net.h"

namespace verbatim::faults {
namespace {

using fabric::make_packet;

struct DisturbedLine {
  explicit DisturbedLine(std::uint64_t seed) : choices(seed, {"a", "b"}) {
    simulation.connect(a.port, b.port, {fabric::kEdr4x, Duration(1'000)});
    drawn.add(a.port);
  }
  void send(std::uint32_t packets, ib::Opcode opcode, std::uint32_t queue_pair) {
    for (std::uint32_t i = 0; i < packets; ++i) {
      ib::PacketPtr packet = make_packet(2, 0, i);
      packet->bth.opcode = opcode;
      packet->bth.destination.value = queue_pair;
      a.port.send(std::move(packet));
    }
    simulation.engine.run();
  }
  std::uint64_t faults() const { return simulation.trace.of(TraceEvent::kFault).size(); }

  fabric::Simulation simulation;
  SeededChoices choices;
  fabric::Host a{simulation, 0}, b{simulation, 1};
  FaultScript script{simulation.engine, simulation.tracer};
  DrawnDisturbances drawn{simulation.engine, choices, simulation.tracer, script};
};

constexpr std::uint32_t kPackets = 300, kProgram = 72;
constexpr ib::Opcode kConnected = ib::make_opcode(ib::Transport::kRc, ib::Operation::kSendOnly);
constexpr ib::Opcode kDatagram = ib::make_opcode(ib::Transport::kUd, ib::Operation::kSendOnly);

TEST(DrawnDisturbances, packets_of_a_slow_link_keep_their_order_and_none_is_lost) {
  std::uint64_t slow = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    DisturbedLine line(seed);
    line.send(kPackets, kConnected, kProgram);
    EXPECT_EQ(line.b.numbers.size(), kPackets);
    EXPECT_TRUE(std::ranges::is_sorted(line.b.numbers));
    EXPECT_LE(line.faults(), 2u);
    slow += line.faults();
  }
  EXPECT_GT(slow, 10u);
}

TEST(DrawnDisturbances, both_delays_of_a_run_together_stay_below_the_patience_of_connections) {
  constexpr Duration kPatience(40'000'000);
  bool is_delayed = false;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    DisturbedLine usual(seed), line(seed);
    usual.drawn.set_patience([] { return Duration::zero(); });
    line.drawn.set_patience([=] { return kPatience; });
    usual.send(kPackets, kConnected, kProgram);
    line.send(kPackets, kConnected, kProgram);
    EXPECT_LT(line.simulation.engine.now() - usual.simulation.engine.now(), kPatience / 2);
    is_delayed = is_delayed || line.simulation.engine.now() > usual.simulation.engine.now();
  }
  EXPECT_TRUE(is_delayed);
}

TEST(DrawnDisturbances, at_most_one_datagram_of_a_run_is_lost_and_one_overtaken) {
  std::uint64_t lost = 0, overtaken = 0;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    DisturbedLine line(seed);
    line.drawn.disturb_datagrams(false);
    line.send(kPackets, kDatagram, kProgram);
    ASSERT_GE(line.b.numbers.size(), kPackets - 1);
    ASSERT_LE(line.b.numbers.size(), kPackets);
    lost += kPackets - line.b.numbers.size();
    overtaken += std::ranges::is_sorted(line.b.numbers) ? 0 : 1;
  }
  EXPECT_GT(lost, 10u);
  EXPECT_GT(overtaken, 5u);
}

TEST(DrawnDisturbances, datagrams_are_undisturbed_unless_asked_and_so_are_connections_and_management) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    DisturbedLine unasked(seed), connection(seed), management(seed);
    connection.drawn.disturb_datagrams(true);
    management.drawn.disturb_datagrams(true);
    unasked.send(kPackets, kDatagram, kProgram);
    connection.send(kPackets, kConnected, kProgram);
    management.send(kPackets, kDatagram, 1);
    for (const DisturbedLine* line : {&unasked, &connection, &management}) {
      EXPECT_EQ(line->b.numbers.size(), kPackets);
      EXPECT_TRUE(std::ranges::is_sorted(line->b.numbers));
    }
  }
}

TEST(DrawnDisturbances, a_datagram_arrives_twice_only_where_that_is_asked_for) {
  std::uint64_t twice = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    DisturbedLine line(seed);
    line.drawn.disturb_datagrams(true);
    line.send(kPackets, kDatagram, kProgram);
    std::vector<std::uint32_t> numbers(line.b.numbers.begin(), line.b.numbers.end());
    std::ranges::sort(numbers);
    twice += std::ranges::adjacent_find(numbers) == numbers.end() ? 0 : 1;
  }
  EXPECT_GT(twice, 5u);
}

}  // namespace
}  // namespace verbatim::faults
