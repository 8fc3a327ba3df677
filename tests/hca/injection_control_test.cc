// Injection rate control on InfiniBand: the index of a flow, the delay of its entry to the picosecond, and what FECN and BECN do
// between endpoints, whole and light.
#include "sim/hca/congestion/injection_control.h"

#include <gtest/gtest.h>

#include "sim/hca/congestion/pacer.h"
#include "sim/observe/digest_sink.h"
#include "tests/hca/endpoint_net.h"

namespace verbatim::test {
namespace {

using hca::InjectionControl;
using hca::InjectionState;
using hca::Rate;
using ib::InjectionSetting;

constexpr Instant at(std::int64_t ps) { return instant_from_ps(ps); }
constexpr std::int64_t kTick = 1'024'000;
constexpr ByteTime kEdr{80, 1};  // 100 Gb/s

// Entry n delays by n / 4 of a packet's time.
InjectionSetting evaluated(std::uint16_t limit = 127) {
  InjectionSetting setting;
  setting.levels[0] = {.timer = 150, .increase = 1, .trigger_threshold = 0, .least = 0};
  setting.limit = limit;
  for (std::uint16_t i = 0; i < setting.table.size(); ++i) setting.table[i] = {2, i};
  return setting;
}

TEST(InjectionControl, a_notification_raises_the_index_to_the_limit_and_time_lowers_it_to_the_least) {
  InjectionState state;
  state.setting = evaluated(10);
  state.setting.levels[0].increase = 4;
  state.setting.levels[0].least = 1;
  InjectionControl control(state, 0, kEdr);
  EXPECT_EQ(control.table_index(at(0)), 1);
  control.on_notification(at(7));
  EXPECT_EQ(control.table_index(at(7)), 5);
  control.on_notification(at(8));
  control.on_notification(at(9));
  EXPECT_EQ(control.table_index(at(9)), 10);
  // The timer began with the first notification; later ones leave it alone.
  const std::int64_t period = 150 * kTick;
  EXPECT_EQ(control.table_index(at(7 + period - 1)), 10);
  EXPECT_EQ(control.table_index(at(7 + period)), 9);
  EXPECT_EQ(control.next_increase(at(7 + period)), at(7 + 2 * period));
  EXPECT_EQ(control.table_index(at(7 + 9 * period - 1)), 2);
  EXPECT_EQ(control.table_index(at(7 + 9 * period)), 1);
  EXPECT_EQ(control.next_increase(at(7 + 100 * period)), kNever);
  control.on_notification(at(8 + 200 * period));
  EXPECT_EQ(control.next_increase(at(9 + 200 * period)), at(8 + 201 * period)) << "the timer begins anew";
}

// Looking in between changes nothing.
TEST(InjectionControl, the_index_is_the_same_however_often_it_is_asked_for) {
  InjectionState state;
  state.setting = evaluated();
  InjectionControl seldom(state, 0, kEdr), often(state, 0, kEdr);
  for (const std::int64_t when : {3, 50, 100'000'000, 170'000'000, 170'000'001}) {
    seldom.on_notification(at(when));
    often.on_notification(at(when));
  }
  for (std::int64_t when = 170'000'002; when < 900'000'000; when += 999'983) often.table_index(at(when));
  EXPECT_EQ(often.table_index(at(900'000'000)), seldom.table_index(at(900'000'000)));
}

TEST(InjectionControl, a_timer_of_zero_never_delays) {
  InjectionState state;
  state.setting = evaluated();
  state.setting.levels[0].timer = 0;
  InjectionControl control(state, 0, kEdr);
  control.on_notification(at(5));
  EXPECT_EQ(control.table_index(at(5)), 0);
}

// 4,122 bytes take 329,760 ps at 100 Gb/s: behind them (329,760 >> shift) x multiplier. A byte of FDR 4x takes 440/3 ps.
TEST(InjectionControl, the_delay_of_every_entry_is_exact) {
  InjectionState state;
  state.setting.limit = 127;
  for (std::uint8_t shift = 0; shift < 4; ++shift) {
    for (const std::uint16_t multiplier : {1, 2, 3, 7, 100, 16'383}) {
      state.setting.levels[0] = {.timer = 1, .increase = 0, .trigger_threshold = 0, .least = 1};
      state.setting.table[1] = {shift, multiplier};
      InjectionControl control(state, 0, kEdr);
      constexpr std::int64_t kPacket = 329'760;
      EXPECT_EQ(control.due(at(400'000), {at(1'000), 4'122}), at(1'000 + kPacket + (kPacket >> shift) * multiplier));
      EXPECT_EQ(control.rate(at(0))->kbps, 100'000'000ull * (1u << shift) / ((1u << shift) + multiplier));
    }
  }
  state.setting.table[1] = {1, 1};
  InjectionControl fdr(state, 0, ByteTime{440, 3});
  const std::int64_t packet = ByteTime{440, 3}.time_for(2'074).count();
  EXPECT_EQ(fdr.due(at(0), {at(0), 2'074}), at(packet + packet / 2));
  EXPECT_EQ(fdr.due(at(3), {}), at(3)) << "there is no packet before";
  state.setting.table[1] = {1, 0};
  EXPECT_EQ(fdr.due(at(5), {at(0), 2'074}), at(5)) << "the entry delays nothing";
}

// By service level, flows share the index, and each waits for the last departure of any of them.
TEST(InjectionControl, a_service_level_is_one_flow_if_the_port_is_set_so) {
  InjectionState state;
  state.setting = evaluated();
  state.setting.is_by_level = true;
  InjectionControl one(state, 0, kEdr), other(state, 0, kEdr), elsewhere(state, 1, kEdr);
  for (int i = 0; i < 8; ++i) one.on_notification(at(1));
  EXPECT_EQ(other.table_index(at(2)), 8);
  EXPECT_EQ(elsewhere.table_index(at(2)), 0);
  one.on_sent(at(10), 1'000);
  EXPECT_EQ(other.due(at(20), {}), at(10 + 3 * 80'000)) << "a packet's time, and twice as much";
}

// 4,122 bytes take 329,760 ps on the line, and 1,279,082 ps at 25,781 Mb/s (IBV_RATE_25_GBPS), rounded up.
TEST(InjectionControl, the_later_of_static_rate_and_injection_delay_counts) {
  InjectionState state;
  state.setting = evaluated();
  state.setting.levels[0].timer = 60'000;
  auto control = std::make_unique<InjectionControl>(state, std::uint8_t{0}, kEdr);
  hca::Pacer pacer(Rate::of_mbps(100'000), Rate::of_mbps(25'781), std::move(control));
  pacer.on_sent(at(5), 4'122);
  const std::int64_t by_rate = Rate::of_mbps(25'781).time_for(4'122).count();
  EXPECT_EQ(pacer.due(at(6)), at(5 + by_rate));
  for (int i = 0; i < 11; ++i) EXPECT_TRUE(pacer.on_notification(at(7)));
  EXPECT_EQ(pacer.due(at(8)), at(5 + by_rate)) << "3.75 times the packet's time";
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(pacer.on_notification(at(9)));
  EXPECT_EQ(pacer.due(at(10)), at(5 + 329'760 + 329'760 / 4 * 13)) << "4.25 times";
}

// Packets that leave a port, with FECN in the packets with these numbers, from 0.
struct ForwardMarks final : fabric::PacketFaults {
  std::set<std::size_t> numbers;
  std::vector<ib::Bth> seen;
  std::vector<std::pair<std::uint16_t, std::uint32_t>> places;  // destination, wire bytes
  fabric::PacketFate on_packet(const fabric::Port&, ib::Packet& packet) override {
    if (numbers.contains(seen.size())) packet.bth.fecn = true;
    seen.push_back(packet.bth);
    places.emplace_back(packet.lrh.destination.value, packet.wire_bytes());
    return {};
  }
};

struct InjectionNet : EndpointNet {
  explicit InjectionNet(bool is_light, std::set<std::size_t> numbers, const InjectionSetting& injection = evaluated())
      : EndpointNet({.is_light = is_light, .is_far_end_light = is_light}) {
    marks[0].numbers = std::move(numbers);
    for (std::size_t i = 0; i < 2; ++i) {
      ports[i]->set_faults(&marks[i]);
      ends[i]->set_injection(injection);
    }
    sources[0].each.length = 1 << 20;
  }
  std::vector<std::uint64_t> rates() const {
    std::vector<std::uint64_t> all;
    for (const TraceRecord& record : trace.all(TraceEvent::kRate)) all.push_back(record.values[1]);
    return all;
  }
  std::size_t notifications() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(marks[1].seen, [](const ib::Bth& bth) { return bth.opcode == ib::Opcode::kCongestionPacket; }));
  }

  ForwardMarks marks[2];
};

// A message of 256 packets requests an acknowledgement with its last one only.
TEST(ForwardNotices, a_packet_that_nobody_acknowledges_is_answered_by_one_of_its_own) {
  for (const bool is_light : {false, true}) {
    SCOPED_TRACE(is_light);
    InjectionNet net(is_light, {3});
    net.post(1);
    net.run();
    ASSERT_EQ(net.notifications(), 1u);
    const ib::Bth& cn = net.marks[1].seen[0];
    EXPECT_EQ(static_cast<int>(cn.opcode), 0x80);
    EXPECT_TRUE(cn.becn && !cn.fecn && !cn.ack_request && !cn.solicited);
    EXPECT_EQ(cn.psn.value, 0u);
    EXPECT_EQ(cn.pkey, 0xffff);
    EXPECT_EQ(cn.destination.value, net.at[0].number);
    EXPECT_EQ(net.marks[1].places[0], (std::pair<std::uint16_t, std::uint32_t>(1, 42))) << "8 + 12 + 16 + 4 + 2 bytes";
    for (const ib::Bth& bth : net.marks[1].seen) EXPECT_EQ(bth.becn, &bth == &net.marks[1].seen[0]);
    EXPECT_EQ(net.ends[1]->congestion_counters(), (hca::CongestionCounters{.fecn_received = 1, .cn_sent = 1}));
    EXPECT_EQ(net.ends[0]->congestion_counters(), (hca::CongestionCounters{.becn_handled = 1}));
    EXPECT_EQ(net.rates(), (std::vector<std::uint64_t>{80'000})) << "1 / (1 + 1/4); the run is over before the timer";
  }
}

TEST(ForwardNotices, a_packet_that_is_acknowledged_is_answered_by_that) {
  for (const bool is_light : {false, true}) {
    SCOPED_TRACE(is_light);
    InjectionNet net(is_light, {255});
    net.post(1);
    net.run();
    EXPECT_EQ(net.notifications(), 0u);
    ASSERT_EQ(net.marks[1].seen.size(), 1u);
    EXPECT_TRUE(net.marks[1].seen[0].becn);
    EXPECT_EQ(net.ends[1]->congestion_counters(), (hca::CongestionCounters{.fecn_received = 1}));
    EXPECT_EQ(net.ends[0]->congestion_counters(), (hca::CongestionCounters{.becn_handled = 1}));
  }
}

TEST(ForwardNotices, without_injection_rate_control_a_notification_is_counted_and_ignored) {
  for (const bool is_light : {false, true}) {
    InjectionNet net(is_light, {3}, {});
    net.post(1);
    net.run();
    EXPECT_EQ(net.ends[0]->congestion_counters(), (hca::CongestionCounters{.becn_ignored = 1}));
    EXPECT_TRUE(net.rates().empty());
  }
}

// The index of 40 notifications lowers the rate to 1 / (1 + 40/4) of the line. From then on each packet leaves exactly that much
// behind the one before: at 80 ps a byte 4,122 x 80 x 11 ps.
TEST(ForwardNotices, packets_keep_the_distance_of_the_table_to_the_picosecond) {
  for (const bool is_light : {false, true}) {
    SCOPED_TRACE(is_light);
    std::set<std::size_t> numbers;
    for (std::size_t i = 1; i <= 40; ++i) numbers.insert(i);
    InjectionSetting setting = evaluated();
    setting.levels[0].timer = 60'000;  // 61 ms
    InjectionNet net(is_light, numbers, setting);
    net.post(1);
    net.run();
    std::vector<std::uint64_t> starts;
    for (const auto& row : departures(net)) {
      if (row[0] == net.components.id("client/p1").value) starts.push_back(row[1]);
    }
    ASSERT_EQ(starts.size(), 256u);
    std::uint64_t checked = 0;
    for (std::size_t i = 100; i < 140; ++i, ++checked) EXPECT_EQ(starts[i] - starts[i - 1], 4'122u * 80 * 11) << i;
    EXPECT_EQ(checked, 40u);
  }
}

TEST(ForwardNotices, the_log_has_notifications_from_the_trigger_threshold_on) {
  InjectionSetting setting = evaluated();
  setting.levels[0].trigger_threshold = 3;
  InjectionNet net(false, {1, 2, 3, 4, 5}, setting);
  net.post(1);
  net.run();
  ib::InjectionLog* const log = dynamic_cast<hca::Hca&>(*net.ends[0]).injection_log();
  ASSERT_NE(log, nullptr);
  EXPECT_EQ(log->events.unread(), 3u);
  EXPECT_EQ(log->levels, 1u);
  log->events.visit([&](const ib::InjectionEvent& event) {
    EXPECT_EQ(event.local.value, net.at[0].number);
    EXPECT_EQ(event.remote.value, net.at[1].number);
    EXPECT_EQ(event.remote_lid.value, 2u);
    EXPECT_EQ(event.service_type, 0u);
  });
}

struct LimitedTime final : MessageObserver {
  std::int64_t ps = 0;
  void on_message(const MessageReport& report) override {
    Instant before = report.trail.begin();
    for (const TrailStep& step : report.trail.steps()) {
      if (std::string_view(step.part.name) == hca::kRateLimit) ps += (step.end - before).count();
      before = step.end;
    }
  }
};

TEST(ForwardNotices, the_trail_of_a_message_names_the_delay) {
  for (const bool is_light : {false, true}) {
    InjectionSetting setting = evaluated();
    setting.levels[0].least = 16;  // 1 / (1 + 4) of the line
    InjectionNet net(is_light, {}, setting);
    net.sources[0].each.length = 8'192;
    LimitedTime observer;
    net.tracer.add(observer);
    net.post(1);
    net.run();
    EXPECT_GT(observer.ps, 4'000 * 80 * 4) << is_light;
    EXPECT_LE(observer.ps, 4'138 * 80 * 5) << is_light << ": of the first packet's time, four times that and itself";
  }
}

// Settings that arrive while packets wait apply to the next departure.
TEST(ForwardNotices, settings_hold_for_queue_pairs_that_are_there) {
  for (const bool is_light : {false, true}) {
    SCOPED_TRACE(is_light);
    InjectionSetting slow = evaluated();
    slow.levels[0].least = 40;
    std::vector<std::int64_t> finished;
    for (const bool is_released : {false, true}) {
      InjectionNet net(is_light, {}, {});
      net.post(1);
      net.run_for(Duration(20'000'000));
      net.ends[0]->set_injection(slow);
      net.run_for(Duration(20'000'000));
      if (is_released) net.ends[0]->set_injection({});
      net.run();
      ASSERT_EQ(net.sources[0].completed.size(), 1u);
      finished.push_back(net.sources[0].completed[0].first);
    }
    constexpr std::int64_t kAlone = 256 * 4'122 * 80;
    EXPECT_GT(finished[0], 4 * kAlone);
    EXPECT_LT(finished[1], 2 * kAlone);
  }
}

TEST(ForwardNotices, the_same_marks_give_the_same_digest) {
  for (const bool is_light : {false, true}) {
    std::set<std::string> digests;
    for (int i = 0; i < 2; ++i) {
      InjectionNet net(is_light, {0, 30, 60, 90, 255});
      observe::DigestSink digest;
      net.tracer.add(digest);
      net.post(2);
      net.run();
      digests.insert(digest.hex());
    }
    EXPECT_EQ(digests.size(), 1u);
  }
}

}  // namespace
}  // namespace verbatim::test
