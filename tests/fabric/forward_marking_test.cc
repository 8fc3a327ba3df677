// Marks with FECN: by how much waits behind a packet that starts, and by whether the port could send more.
#include "sim/fabric/forward_marking.h"

#include <gtest/gtest.h>

#include "tests/fabric/net.h"

namespace verbatim::fabric {
namespace {

struct OneMarking {
  explicit OneMarking(const ib::MarkingSetting& setting, std::uint32_t lane_bytes = 65'536)
      : marking(Rng(1, "fecn"), lane_bytes, log) {
    marking.set(setting);
  }
  ib::MarkingLog log;
  ForwardMarking marking;
};

TEST(ForwardMarking, a_threshold_is_a_share_of_the_buffer_and_0_is_none) {
  EXPECT_FALSE(OneMarking({}).marking.is_congested(1'000'000));
  for (std::uint8_t threshold = 1; threshold < 16; ++threshold) {
    OneMarking one({.threshold = threshold});
    const std::uint64_t bytes = 4'096u * (16u - threshold);
    EXPECT_FALSE(one.marking.is_congested(bytes)) << int{threshold};
    EXPECT_TRUE(one.marking.is_congested(bytes + 1)) << int{threshold};
  }
}

TEST(ForwardMarking, the_root_marks_and_a_victim_only_with_its_bit) {
  OneMarking root({.threshold = 15}), victim({.threshold = 15, .marks_victims = true});
  EXPECT_TRUE(root.marking.marks(1'000, true));
  EXPECT_FALSE(root.marking.marks(1'000, false));
  EXPECT_TRUE(victim.marking.marks(1'000, false));
}

TEST(ForwardMarking, short_packets_are_not_marked) {
  OneMarking one({.threshold = 15, .packet_size = 8});
  EXPECT_FALSE(one.marking.marks(448, true)) << "7 blocks";
  EXPECT_TRUE(one.marking.marks(449, true)) << "8 blocks, as credits count them";
}

// 1 of 4 with a rate of 3: 2,500 of 10,000, with a standard deviation of 43. 0 draws nothing.
TEST(ForwardMarking, the_rate_is_the_mean_number_of_packets_between_marks) {
  OneMarking one({.threshold = 15, .marking_rate = 3}), all({.threshold = 15});
  int marked = 0;
  for (int i = 0; i < 10'000; ++i) {
    marked += one.marking.marks(1'000, true);
    EXPECT_TRUE(all.marking.marks(1'000, true));
  }
  EXPECT_NEAR(marked, 2'500, 215);
}

// Packets of 1,066 bytes arrive faster than they leave. The input buffer has 16,896 bytes, so threshold 15 is
// at 1,056 and threshold 14 at 2,112: a packet is marked if it leaves at least one, or at least two, behind.
struct Congested {
  Congested(const ib::MarkingSetting& setting, std::uint32_t far_buffer, bool is_released, std::uint32_t count = 6)
      : sender(simulation, 0),
        receiver(simulation, 4, {.input_buffer_bytes = far_buffer}),
        middle(simulation.engine, simulation.tracer, ComponentId{1}, {.input_buffer_bytes = kLeastInputBufferBytes * 4},
               {ComponentId{2}, ComponentId{3}}) {
    receiver.release = is_released;
    middle.set_forwarding_table({Switch::kNoRoute, PortNumber{2}});
    simulation.connect(sender.port, middle.port(PortNumber{1}), {kEdr4x, kWay});
    simulation.connect(middle.port(PortNumber{2}), receiver.port, {kQdr4x, kWay});
    middle.port(PortNumber{2}).forward_marking(Rng(1, "fecn"), log).set(setting);
    for (std::uint32_t i = 0; i < count; ++i) sender.port.send(make_packet(1, 1'040, i));
  }
  std::vector<std::uint32_t> marked() {
    simulation.engine.run();
    std::vector<std::uint32_t> numbers;
    for (const auto& packet : receiver.kept) {
      if (packet->bth.fecn) numbers.push_back(packet->bth.psn.value);
    }
    std::vector<std::uint32_t> recorded;
    for (const TraceRecord& record : simulation.trace.of(TraceEvent::kPacketMarked)) {
      recorded.push_back(static_cast<std::uint32_t>(record.values[2]));
    }
    EXPECT_EQ(recorded, numbers);
    return numbers;
  }

  ib::MarkingLog log;
  Simulation simulation;
  Host sender, receiver;
  Switch middle;
};

// Arrivals each 85,280 ps, departures each 266,500, the first 90,000 ps behind its arrival, when the second one is there and not
// ready. The second one leaves two behind that are, the last but one the last.
TEST(ForwardMarking, a_packet_that_leaves_more_than_the_threshold_behind_is_marked_when_it_starts) {
  EXPECT_EQ(Congested({.threshold = 15}, 65'536, true).marked(), (std::vector<std::uint32_t>{1, 2, 3, 4}));
  EXPECT_EQ(Congested({.threshold = 14}, 65'536, true).marked(), (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_TRUE(Congested({}, 65'536, true).marked().empty());
}

// The far end has 66 blocks, of which each packet takes 17, and releases none: behind the third there are 15.
TEST(ForwardMarking, a_port_without_credits_for_the_next_packet_is_a_victim) {
  EXPECT_EQ(Congested({.threshold = 15}, kLeastInputBufferBytes, false).marked(), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(Congested({.threshold = 15, .marks_victims = true}, kLeastInputBufferBytes, false).marked(),
            (std::vector<std::uint32_t>{1, 2}));
}

// When it releases two at a time, the fourth packet leaves credits for the next one, and has waited itself; the fifth leaves
// none. When it releases three, the fifth has not waited and leaves some.
TEST(ForwardMarking, a_packet_that_has_waited_for_credits_is_not_marked) {
  for (const std::size_t released : {2u, 3u}) {
    Congested net({.threshold = 15}, kLeastInputBufferBytes, false, 12);
    net.simulation.engine.run();
    ASSERT_EQ(net.receiver.kept.size(), 3u);
    for (std::size_t i = 0; i < released; ++i) net.receiver.port.release(*net.receiver.kept[i]);
    std::vector<std::uint32_t> expected = {1};
    if (released == 3) expected.push_back(4);
    EXPECT_EQ(net.marked(), expected) << released;
    EXPECT_EQ(net.receiver.kept.size(), 3 + released);
  }
}

TEST(ForwardMarking, the_log_has_the_newest_events_and_the_ports) {
  Congested net({.threshold = 15}, 65'536, true, 30);
  const std::size_t count = net.marked().size();
  EXPECT_EQ(net.log.events.unread(), count);
  ASSERT_GT(count, 15u);
  std::vector<std::int64_t> times;
  net.log.events.visit([&](const ib::MarkingEvent& event) {
    EXPECT_EQ(event.destination, ib::Lid{1});
    times.push_back(to_ps(event.when));
  });
  EXPECT_EQ(times.size(), 15u);
  EXPECT_TRUE(std::ranges::is_sorted(times, std::greater<>()));
  EXPECT_EQ(times.front(), static_cast<std::int64_t>(net.simulation.trace.of(TraceEvent::kPacketMarked).back().time_ps));
  EXPECT_EQ(net.log.ports.count(), 1u);
  EXPECT_TRUE(net.log.ports[2]);
}

}  // namespace
}  // namespace verbatim::fabric
