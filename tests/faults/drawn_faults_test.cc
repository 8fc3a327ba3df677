// Faults of packets, chosen by the run's choices within a budget.
#include "sim/faults/drawn_faults.h"

#include "sim/faults/fault_script.h"
#include "tests/fabric/net.h"

namespace verbatim::faults {
namespace {

using fabric::make_packet;

struct DrawnLine {
  DrawnLine(std::uint64_t seed, std::uint64_t budget) : choices(seed, {"a", "b"}) {
    simulation.connect(a.port, b.port, {fabric::kEdr4x, Duration(1'000)});
    drawn.add(a.port);
    drawn.set_budget(budget);
  }
  void send(std::uint32_t packets) {
    for (std::uint32_t i = 0; i < packets; ++i) {
      a.port.send(make_packet(2, 0, i));
      simulation.engine.run();
    }
  }

  fabric::Simulation simulation;
  SeededChoices choices;
  fabric::Host a{simulation, 0}, b{simulation, 1};
  FaultScript script{simulation.engine, simulation.tracer};
  DrawnFaults drawn{choices, simulation.tracer, script};
};

TEST(DrawnFaults, no_more_packets_are_hit_than_the_budget_allows) {
  std::uint64_t of_kind[3] = {};
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    DrawnLine line(seed, 2);
    line.send(500);
    EXPECT_LE(line.drawn.fired(), 2u);
    EXPECT_EQ(line.simulation.trace.of(TraceEvent::kFault).size(), line.drawn.fired());
    std::int64_t lost = 0, twice = 0;
    for (const TraceRecord& record : line.simulation.trace.of(TraceEvent::kFault)) {
      const std::uint64_t kind = record.values[3] - kFirstDrawnRule;
      ASSERT_LT(kind, 3u);
      ++of_kind[kind];
      (kind == 0 ? lost : twice) += kind < 2 ? 1 : 0;
    }
    EXPECT_EQ(static_cast<std::int64_t>(line.b.numbers.size()), 500 - lost + twice);
  }
  for (const std::uint64_t count : of_kind) EXPECT_GT(count, 5u);
}

TEST(DrawnFaults, without_a_budget_nothing_is_hit) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    DrawnLine line(seed, 0);
    line.send(100);
    EXPECT_EQ(line.b.numbers.size(), 100u);
  }
}

TEST(DrawnFaults, the_same_seed_hits_the_same_packets) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    DrawnLine first(seed, 3), again(seed, 3);
    first.send(200);
    again.send(200);
    EXPECT_EQ(first.b.numbers, again.b.numbers);
  }
}

}  // namespace
}  // namespace verbatim::faults
