// Ports that send pauses without need, and the watchdog of an output that they stop.
#include <algorithm>

#include "tests/fabric/pausing.h"

namespace verbatim::fabric {
namespace {

constexpr std::int64_t kFrameEffect = kFrameTime + kWayPs;  // of a frame that leaves at 0
constexpr std::int64_t kHeadArrival = kHeadTime + kWayPs;   // of a packet that starts at 0

// The sender has begun 13 packets when the frame of 1 us has effect.
TEST(PauseStorm, pauses_whatever_room_there_is_until_it_ends) {
  PausedPair pair(1'000, 100);
  pair.receiver.release = true;
  pair.send(100);
  pair.simulation.engine.run_until(at(1'000'000));
  pair.receiver.port.set_pause_storm(1);
  pair.simulation.engine.run_until(at(5'000'000));
  ASSERT_EQ(pair.receiver.arrivals.size(), static_cast<std::size_t>((1'000'000 + kFrameEffect) / kLineTime + 1));
  pair.receiver.port.set_pause_storm(0);
  pair.simulation.engine.run_until(at(5'000'000 + kFrameEffect + kHeadArrival));
  ASSERT_EQ(pair.receiver.arrivals.size(), 14u);
  EXPECT_EQ(pair.receiver.arrivals.back().head, at(5'000'000 + kFrameEffect + kHeadArrival));
  pair.simulation.engine.run();
  EXPECT_EQ(pair.receiver.arrivals.size(), 100u);
  const auto frames = pair.frames_of(1);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].time_ps, 1'000'000);
  EXPECT_EQ(frames[0].values[1], 1u);
  EXPECT_EQ(frames[1].time_ps, 5'000'000);
  EXPECT_EQ(frames[1].values[1], 0u);
}

TEST(PauseStorm, concerns_its_priorities_alone) {
  PausedPair pair(1'000, 100, 0, 8);
  pair.receiver.release = true;
  pair.receiver.port.set_pause_storm(1u << 3);
  pair.simulation.engine.run_until(at(1'000'000));
  pair.send(5, 3);
  pair.send(5, 4);
  pair.simulation.engine.run();
  EXPECT_EQ(pair.receiver.arrivals.size(), 5u);
  EXPECT_EQ(pair.sender.port.paused_lanes(), 1u << 3);
}

TEST(PauseStorm, leaves_a_full_buffer_paused_when_it_ends) {
  PausedPair pair(4 * kPacketBlocks, 100);
  pair.receiver.port.set_pause_storm(1);
  pair.simulation.engine.run_until(at(1'000'000));
  pair.receiver.port.set_pause_storm(0);
  pair.send(10);
  pair.simulation.engine.run_until(at(2'000'000));
  ASSERT_EQ(pair.receiver.arrivals.size(), 4u);
  pair.receiver.port.set_pause_storm(1);
  pair.simulation.engine.run_until(at(3'000'000));
  pair.receiver.port.set_pause_storm(0);
  pair.simulation.engine.run();
  EXPECT_EQ(pair.receiver.arrivals.size(), 4u);
  pair.receiver.release = true;
  pair.release(4);
  pair.simulation.engine.run();
  EXPECT_EQ(pair.receiver.arrivals.size(), 10u);
}

// A host sends by a switch to one that pauses without end, and to a victim. The switch has room for four packets of an input.
constexpr std::uint16_t kBroken = 1, kVictim = 2;

struct Watched {
  explicit Watched(WatchdogParams::Action action, bool storms = true)
      : sender(simulation, 0, ports_with(4 * kPacketBlocks + 1'000)),
        broken(simulation, 1, ports_with(2'000)),
        victim(simulation, 2, ports_with(2'000)),
        middle(simulation.engine, simulation.tracer, ComponentId{10}, profile(),
               {ComponentId{11}, ComponentId{12}, ComponentId{13}}) {
    middle.set_forwarding_table({Switch::kNoRoute, PortNumber{2}, PortNumber{3}});
    for (const auto& [host, port] : {std::pair(&sender, 1), std::pair(&broken, 2), std::pair(&victim, 3)})
      simulation.connect(host->port, out(port), pausing_cable(1'000));
    out(2).set_watchdog({Duration(kDetection), Duration(kRestoration), action});
    if (storms) broken.port.set_pause_storm(1);
  }
  static SwitchProfile profile() {
    SwitchProfile profile;
    profile.cut_through_cycles = 40;
    profile.input_buffer_bytes = (4 * kPacketBlocks + 1'000) * kCreditBlockBytes;
    return profile;
  }
  Port& out(int port) { return middle.port(PortNumber{static_cast<std::uint8_t>(port)}); }
  void send(std::uint16_t lid, std::uint32_t number) { sender.port.send(make_packet(lid, kPayloadBytes, number)); }
  // Times and second values.
  std::vector<std::pair<std::int64_t, std::uint64_t>> storms() const {
    std::vector<std::pair<std::int64_t, std::uint64_t>> all;
    for (const TraceRecord& record : simulation.trace.of(TraceEvent::kPauseWatchdog)) {
      EXPECT_EQ(record.component, 12u);
      EXPECT_EQ(record.values[0], 0u);
      all.emplace_back(record.time_ps, record.values[1]);
    }
    return all;
  }
  std::size_t dropped() const {
    std::size_t count = 0;
    for (const TraceRecord& record : simulation.trace.of(TraceEvent::kPacketDropped)) {
      EXPECT_EQ(record.values[3], static_cast<std::uint64_t>(DropReason::kPauseWatchdog));
      EXPECT_EQ(record.component, 12u);
      ++count;
    }
    return count;
  }

  static constexpr std::int64_t kDetection = 10'000'000, kRestoration = 5'000'000;
  // When the first packet that the host sends at 0 is ready at its output: the edge behind its head, and 40 cycles.
  static constexpr std::int64_t kReady = (kHeadArrival + 2'499) / 2'500 * 2'500 + 100'000;
  static constexpr std::int64_t kFound = kReady + kDetection;

  Simulation simulation;
  Host sender, broken, victim;
  Switch middle;
};

using Action = WatchdogParams::Action;
using Storms = std::vector<std::pair<std::int64_t, std::uint64_t>>;

// Five packets for the broken host fill the input, so the host is paused, and with it what it sends to the victim.
TEST(PauseWatchdog, drops_the_queue_and_so_the_victim_goes_on) {
  Watched net(Action::kDrop);
  for (std::uint32_t i = 0; i < 4; ++i) net.send(kBroken, i);
  net.send(kVictim, 100);
  net.simulation.engine.run_until(at(Watched::kFound - 1));
  EXPECT_TRUE(net.storms().empty());
  EXPECT_EQ(net.dropped(), 0u);
  EXPECT_TRUE(net.victim.arrivals.empty());
  net.simulation.engine.run();
  EXPECT_EQ(net.storms(), (Storms{{Watched::kFound, 1}}));
  EXPECT_EQ(net.dropped(), 4u);
  ASSERT_EQ(net.victim.arrivals.size(), 1u);
  // The frame that resumes the host leaves at once.
  const std::int64_t head = Watched::kFound + kFrameEffect + kHeadArrival;
  EXPECT_EQ(net.victim.arrivals.back().head, at((head + 2'499) / 2'500 * 2'500 + 100'000 + kHeadArrival));
  EXPECT_TRUE(net.broken.arrivals.empty());
}

// Packets that arrive meanwhile are dropped, and the victim is no longer blocked.
TEST(PauseWatchdog, drops_what_comes_while_there_is_a_storm) {
  Watched net(Action::kDrop);
  net.send(kBroken, 0);
  net.simulation.engine.run_until(at(Watched::kFound));
  ASSERT_EQ(net.dropped(), 1u);
  for (std::uint32_t i = 0; i < 20; ++i) {
    net.send(kBroken, i);
    net.send(kVictim, i);
  }
  net.simulation.engine.run();
  EXPECT_EQ(net.dropped(), 21u);
  EXPECT_EQ(net.victim.arrivals.size(), 20u);
  EXPECT_EQ(net.out(1).asked_pauses(), 0u);
}

// The storm ends at 20 us: the pause does 15,760 ps later, the restoration 5 us after that.
TEST(PauseWatchdog, sends_again_when_no_pause_was_seen_for_the_restoration_time) {
  constexpr std::int64_t kEnd = 20'000'000, kRestored = kEnd + kFrameEffect + Watched::kRestoration;
  for (const std::int64_t late : {-1, 0}) {
    Watched net(Action::kDrop);
    net.send(kBroken, 0);
    net.simulation.engine.run_until(at(kEnd));
    ASSERT_EQ(net.dropped(), 1u);
    net.broken.port.set_pause_storm(0);
    net.simulation.engine.run_until(at(kRestored + late - kHeadArrival));
    net.send(kBroken, 1);
    net.simulation.engine.run();
    EXPECT_EQ(net.dropped(), late < 0 ? 2u : 1u);
    EXPECT_EQ(net.broken.arrivals.size(), late < 0 ? 0u : 1u);
    EXPECT_EQ(net.storms(), late < 0 ? (Storms{{Watched::kFound, 1}}) : (Storms{{Watched::kFound, 1}, {kRestored, 0}}));
  }
}

// Pauses for ever, with 4 us in between, are one storm.
TEST(PauseWatchdog, counts_the_restoration_time_from_the_last_pause) {
  Watched net(Action::kDrop);
  net.send(kBroken, 0);
  for (std::int64_t us = 20; us < 60; us += 10) {
    net.simulation.engine.run_until(at(us * 1'000'000));
    net.broken.port.set_pause_storm(0);
    net.simulation.engine.run_until(at((us + 4) * 1'000'000));
    net.broken.port.set_pause_storm(1);
  }
  net.simulation.engine.run_until(at(70'000'000));
  net.send(kBroken, 1);
  net.simulation.engine.run();
  EXPECT_EQ(net.dropped(), 2u);
  EXPECT_EQ(net.storms(), (Storms{{Watched::kFound, 1}}));
}

TEST(PauseWatchdog, finds_a_second_storm_the_detection_time_after_its_pause) {
  Watched net(Action::kDrop);
  net.send(kBroken, 0);
  net.simulation.engine.run_until(at(20'000'000));
  net.broken.port.set_pause_storm(0);
  net.simulation.engine.run_until(at(40'000'000));
  net.broken.port.set_pause_storm(1);
  net.simulation.engine.run_until(at(41'000'000));
  net.send(kBroken, 1);
  net.simulation.engine.run();
  const std::int64_t ready = (41'000'000 + kHeadArrival + 2'499) / 2'500 * 2'500 + 100'000;
  EXPECT_EQ(net.dropped(), 2u);
  EXPECT_EQ(net.storms(), (Storms{{Watched::kFound, 1}, {41'000'000 + kHeadArrival, 0}, {ready + Watched::kDetection, 1}}));
}

// The pause ends in the instant in which the detection time is over, or a picosecond later.
TEST(PauseWatchdog, does_not_see_a_storm_in_a_pause_that_ends_in_time) {
  for (const std::int64_t later : {0, 1}) {
    Watched net(Action::kDrop);
    net.send(kBroken, 0);
    net.simulation.engine.run_until(at(Watched::kFound - kFrameEffect + later));
    net.broken.port.set_pause_storm(0);
    net.simulation.engine.run();
    EXPECT_EQ(net.dropped(), static_cast<std::size_t>(later));
    EXPECT_EQ(net.broken.arrivals.size(), static_cast<std::size_t>(1 - later));
  }
}

TEST(PauseWatchdog, forwards_as_if_nothing_paused) {
  Watched net(Action::kForward);
  for (std::uint32_t i = 0; i < 6; ++i) net.send(kBroken, i);
  net.simulation.engine.run();
  EXPECT_EQ(net.dropped(), 0u);
  EXPECT_EQ(net.storms(), (Storms{{Watched::kFound, 1}}));
  ASSERT_EQ(net.broken.arrivals.size(), 6u);
  EXPECT_EQ(net.broken.arrivals.front().head, at(Watched::kFound + kHeadArrival));
}

TEST(PauseWatchdog, reports_alone_with_the_action_alert) {
  Watched net(Action::kAlert);
  for (std::uint32_t i = 0; i < 6; ++i) net.send(kBroken, i);
  net.simulation.engine.run_until(at(50'000'000));
  EXPECT_EQ(net.dropped(), 0u);
  EXPECT_EQ(net.storms(), (Storms{{Watched::kFound, 1}}));
  EXPECT_TRUE(net.broken.arrivals.empty());
  net.broken.port.set_pause_storm(0);
  net.simulation.engine.run();
  EXPECT_EQ(net.broken.arrivals.size(), 6u);
}

TEST(PauseWatchdog, costs_no_event_without_a_packet) {
  Watched net(Action::kDrop);
  net.simulation.engine.run();
  EXPECT_LT(net.simulation.engine.now(), at(Watched::kDetection));
  EXPECT_TRUE(net.storms().empty());
}

// A chain of three switches, and a storm at its end: without a watchdog packets to the victim at the first switch wait for ever.
TEST(PauseWatchdog, cuts_a_storm_at_the_first_switch) {
  for (const bool has_watchdog : {false, true}) {
    Simulation simulation;
    const std::uint32_t blocks = 4 * kPacketBlocks + 1'000;
    Host sender(simulation, 0, ports_with(blocks)), victim(simulation, 80, ports_with(blocks));
    Host broken(simulation, 90, ports_with(blocks));
    std::vector<std::unique_ptr<Switch>> switches;
    for (std::uint32_t k = 0; k < 3; ++k) {
      const std::vector ids{ComponentId{10 * k + 11}, ComponentId{10 * k + 12}, ComponentId{10 * k + 13}};
      switches.push_back(
          std::make_unique<Switch>(simulation.engine, simulation.tracer, ComponentId{10 * k + 10}, Watched::profile(), ids));
      switches.back()->set_forwarding_table({Switch::kNoRoute, PortNumber{2}, PortNumber{3}});
    }
    const auto port = [&](std::size_t k, std::uint8_t number) -> Port& { return switches[k]->port(PortNumber{number}); };
    simulation.connect(sender.port, port(0, 1), pausing_cable(1'000));
    simulation.connect(port(0, 3), victim.port, pausing_cable(1'000));
    for (std::size_t k = 0; k < 2; ++k) simulation.connect(port(k, 2), port(k + 1, 1), pausing_cable(1'000));
    simulation.connect(port(2, 2), broken.port, pausing_cable(1'000));
    const WatchdogParams params{Duration(Watched::kDetection), Duration(Watched::kRestoration), Action::kDrop};
    if (has_watchdog) port(2, 2).set_watchdog(params);
    broken.port.set_pause_storm(1);
    for (std::uint32_t i = 0; i < 300; ++i) {
      sender.port.send(make_packet(kBroken, kPayloadBytes, i));
      sender.port.send(make_packet(kVictim, kPayloadBytes, i));
    }
    simulation.engine.run();
    EXPECT_EQ(victim.arrivals.size() == 300, has_watchdog);
    EXPECT_EQ(simulation.trace.of(TraceEvent::kPauseWatchdog).size(), has_watchdog ? 1u : 0u);
    for (const TraceRecord& record : simulation.trace.of(TraceEvent::kPacketDropped)) EXPECT_EQ(record.component, 32u);
  }
}

// The ends of a cable, of which one has no pauses.
struct MismatchedPair {
  MismatchedPair(bool sender_pauses, bool receiver_pauses)
      : sender(simulation, 0, ports_with(14 * kPacketBlocks)), receiver(simulation, 1, ports_with(14 * kPacketBlocks)) {
    const auto params = [](bool pauses) {
      LinkParams link = pausing_cable(10 * kPacketBlocks);
      if (!pauses) link.flow_control = FlowControlKind::kNone;
      return std::make_shared<const LinkParams>(link);
    };
    connect(sender.port, receiver.port, params(sender_pauses), params(receiver_pauses), CableKind::kWithinPart);
    receiver.release = false;
    for (std::uint32_t i = 0; i < 20; ++i) sender.port.send(make_packet(1, kPayloadBytes, i));
    simulation.engine.run();
  }
  Simulation simulation;
  Host sender, receiver;
};

TEST(PauseMismatch, an_end_without_pauses_drops_when_it_is_full) {
  const MismatchedPair pair(true, false);
  EXPECT_EQ(pair.receiver.arrivals.size(), 14u);
  EXPECT_EQ(pair.receiver.dropped, 6u);
  EXPECT_TRUE(pair.simulation.trace.of(TraceEvent::kPauseFrame).empty());
}

TEST(PauseMismatch, a_sender_without_pauses_overruns_the_headroom) {
  const MismatchedPair pair(false, true);
  EXPECT_EQ(pair.receiver.arrivals.size(), 14u);
  EXPECT_EQ(pair.receiver.dropped, 6u);
  EXPECT_EQ(pair.simulation.trace.of(TraceEvent::kPauseFrame).size(), 1u);
}

}  // namespace
}  // namespace verbatim::fabric
