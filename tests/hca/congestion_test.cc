// Marks, notifications and rates between endpoints, whole and light: times follow from those of the notifications and from the
// rules of the controller alone.
#include <gtest/gtest.h>

#include "sim/hca/congestion/controllers.h"
#include "sim/ib/ecn.h"
#include "sim/observe/digest_sink.h"
#include "tests/hca/endpoint_net.h"

namespace verbatim::test {
namespace {

using hca::CongestionCounters;
using hca::Rate;

// A packet leaves a port.
struct Seen {
  std::int64_t when = 0;
  ib::Opcode opcode{};
  std::uint8_t traffic_class = 0;
  ib::Bth bth;
  std::uint8_t service_level = 0;
  std::uint32_t wire_bytes = 0;
};

// Marks the packets with these numbers, from 0, that leave a port, if they are ECN-capable; remembers all.
struct Marks final : fabric::PacketFaults {
  const Engine* engine = nullptr;
  std::set<std::size_t> numbers;
  std::vector<Seen> seen;
  fabric::PacketFate on_packet(const fabric::Port&, ib::Packet& packet) override {
    if (numbers.contains(seen.size()) && ib::ecn_of(packet) != ib::Ecn::kNotCapable) ib::mark_congestion(packet);
    seen.push_back({to_ps(engine->now()), packet.bth.opcode, packet.grh ? packet.grh->traffic_class : std::uint8_t{0}, packet.bth,
                    packet.lrh.service_level.value, packet.wire_bytes()});
    return {};
  }
};

Setting marked_setting(bool is_light, const std::string& controller = "dcqcn-nv") {
  Setting setting;
  setting.is_light = setting.is_far_end_light = is_light;
  setting.roce = true;
  setting.profile.congestion_control.controller = controller;
  setting.profile.congestion_control.ecn_capable = true;
  setting.profile.congestion_control.reaction_point.rpg_byte_reset = 0;
  return setting;
}

// The first endpoint sends; what leaves both is seen.
struct MarkedNet : EndpointNet {
  MarkedNet(const Setting& setting, std::set<std::size_t> numbers) : EndpointNet(setting) {
    for (std::size_t i = 0; i < 2; ++i) {
      marks[i].engine = &engine;
      ports[i]->set_faults(&marks[i]);
    }
    marks[0].numbers = std::move(numbers);
    sources[0].each.length = 4 << 20;
  }
  // By the second endpoint.
  std::vector<Seen> notifications() const {
    std::vector<Seen> all;
    for (const Seen& one : marks[1].seen) {
      if (one.opcode == ib::Opcode::kCongestionNotification) all.push_back(one);
    }
    return all;
  }
  // When the first endpoint's transport has them: the switch sends each, 98 bytes long, over 9.2 ns of cable to a check of 30 ns.
  std::vector<std::int64_t> notified() const {
    std::vector<std::int64_t> all;
    for (const TraceRecord& record : trace.all(TraceEvent::kPacketTransmitted)) {
      const bool is_notification = record.values[0] == static_cast<std::uint64_t>(ib::Opcode::kCongestionNotification);
      if (is_notification && record.component == components.id("switch/p1").value) {
        all.push_back(record.time_ps + 98 * 80 + 9'200 + 30'000);
      }
    }
    return all;
  }
  std::vector<std::pair<std::int64_t, std::uint64_t>> rates() const {
    std::vector<std::pair<std::int64_t, std::uint64_t>> all;
    for (const TraceRecord& record : trace.all(TraceEvent::kRate)) all.emplace_back(record.time_ps, record.values[1]);
    return all;
  }

  Marks marks[2];
};

TEST(CongestionTest, a_marked_packet_gives_one_notification_ahead_of_data) {
  for (const bool is_light : {false, true}) {
    SCOPED_TRACE(is_light);
    MarkedNet net(marked_setting(is_light), {3});
    net.post(1);
    net.run();
    const auto notifications = net.notifications();
    ASSERT_EQ(notifications.size(), 1u);
    const Seen& cnp = notifications[0];
    EXPECT_TRUE(cnp.bth.becn);
    EXPECT_FALSE(cnp.bth.fecn || cnp.bth.ack_request || cnp.bth.solicited);
    EXPECT_EQ(cnp.bth.psn.value, 0u);
    EXPECT_EQ(cnp.bth.pkey, 0xffff);
    EXPECT_EQ(cnp.bth.destination.value, net.at[0].number);
    EXPECT_EQ(cnp.traffic_class, 48 << 2) << "Not-ECT";
    EXPECT_EQ(cnp.service_level, 6);
    EXPECT_EQ(cnp.wire_bytes, 98u) << "over IPv6: 14 + 40 + 8 + 12 + 16 + 4 + 4";
    EXPECT_EQ(net.ends[1]->congestion_counters(), (CongestionCounters{.np_ecn_marked_roce_packets = 1, .np_cnp_sent = 1}));
    EXPECT_EQ(net.ends[0]->congestion_counters(), (CongestionCounters{.rp_cnp_handled = 1}));
    for (const Seen& data : net.marks[0].seen) EXPECT_EQ(data.traffic_class & 3, &data == &net.marks[0].seen[3] ? 3 : 2);
    for (const Seen& answer : net.marks[1].seen) EXPECT_EQ(answer.traffic_class & 3, 0) << "acknowledgements are Not-ECT";
    EXPECT_TRUE(net.rates().empty()) << "the first notification of dcqcn-nv cuts nothing";
  }
}

// Full packets are 333.6 ns apart at 100 Gb/s: those that leave within 4 us of the first one that is marked are not answered.
TEST(CongestionTest, marks_within_the_minimum_time_are_counted_and_lost) {
  for (const bool is_light : {false, true}) {
    MarkedNet net(marked_setting(is_light), {3, 4, 5, 14, 15, 16, 17});
    net.post(1);
    net.run();
    EXPECT_EQ(net.ends[1]->congestion_counters().np_ecn_marked_roce_packets, 7u) << is_light;
    EXPECT_EQ(net.notifications().size(), 2u) << is_light << ": the 3rd and the 15th";
  }
}

// Full packets arrive 333.6 ns apart, and are checked 1 us apart: the buffer grows by two packets of three.
TEST(CongestionTest, a_receive_buffer_that_fills_makes_notifications_without_marks) {
  const auto counters = [](std::uint32_t threshold, std::uint32_t interval_cycles) {
    Setting setting = marked_setting(false);
    setting.profile.congestion_control.cnp_receive_buffer_bytes = threshold;
    setting.profile.receive_check.interval_cycles = interval_cycles;
    MarkedNet net(setting, {});
    net.post(1);
    net.run();
    EXPECT_EQ(net.notifications().size(), net.ends[1]->congestion_counters().np_cnp_sent);
    EXPECT_EQ(net.ends[0]->congestion_counters().rp_cnp_handled, net.ends[1]->congestion_counters().np_cnp_sent);
    return net.ends[1]->congestion_counters();
  };
  constexpr std::uint32_t kSlow = 1'000'000, kFast = 1, kFivePackets = 5 * 4096;  // a cycle is 1 ps
  const CongestionCounters slow = counters(kFivePackets, kSlow);
  EXPECT_GT(slow.np_cnp_sent, 0u);
  EXPECT_EQ(slow.np_ecn_marked_roce_packets, 0u);
  EXPECT_EQ(counters(0, kSlow), CongestionCounters{}) << "no threshold";
  EXPECT_EQ(counters(kFivePackets, kFast), CongestionCounters{}) << "never more than four packets";
}

TEST(CongestionTest, a_notification_for_a_queue_pair_without_controller_is_counted_and_ignored) {
  for (const bool is_light : {false, true}) {
    MarkedNet net(marked_setting(is_light, "none"), {3});
    net.post(1);
    net.run();
    EXPECT_EQ(net.ends[0]->congestion_counters(), (CongestionCounters{.rp_cnp_ignored = 1}));
    EXPECT_TRUE(net.rates().empty());
  }
}

TEST(CongestionTest, without_ecn_nothing_is_marked) {
  for (const bool is_light : {false, true}) {
    Setting setting = marked_setting(is_light);
    setting.profile.congestion_control.ecn_capable = false;
    MarkedNet net(setting, {3});
    net.post(1);
    net.run();
    EXPECT_EQ(net.ends[1]->congestion_counters(), CongestionCounters{});
    for (const Seen& data : net.marks[0].seen) EXPECT_EQ(data.traffic_class, 0);
  }
}

// The 31st packet, 10 us after the first, is answered, too. Its cut is at the end of the 4 us period, counted
// from the first notification, in which its notification arrives. From then on every packet leaves as
// specified: a gap after the start of the previous packet, for its 4178 or 4194 bytes at the current rate; or
// at an increase within that gap, if the gap at the new rate has passed by then.
TEST(CongestionTest, the_rate_falls_and_rises_at_the_computed_times) {
  for (const bool is_light : {false, true}) {
    SCOPED_TRACE(is_light);
    Setting setting = marked_setting(is_light);
    setting.profile.gather_buffer_bytes = 1 << 15;  // what has been gathered by the cut leaves within 10 us
    MarkedNet net(setting, {0, 30});
    net.post(2);
    net.run();
    const std::vector<std::int64_t> notified = net.notified();
    ASSERT_EQ(notified.size(), 2u);
    constexpr std::int64_t kUs = 1'000'000;
    const std::int64_t cut = notified[0] + ((notified[1] - notified[0]) / (4 * kUs) + 1) * 4 * kUs;
    // Alpha at the cut: an update each microsecond, of which one has a notification.
    std::uint64_t alpha = 1023;
    for (std::int64_t update = notified[0] + kUs; update <= cut; update += kUs) {
      const bool is_marked = update > notified[1] && update - kUs <= notified[1];
      alpha = std::min<std::uint64_t>(alpha * 1019 / 1024 + (is_marked ? 5 : 0), 1023);
    }
    std::vector<std::pair<std::int64_t, std::uint64_t>> rates = {{cut, 100'000 - (100'000 * alpha >> 11)}};
    for (int i = 1; i <= 3; ++i) rates.emplace_back(cut + i * 300 * kUs, (rates.back().second + 100'000) / 2);
    const auto rate_at = [&](std::int64_t when) {
      std::uint64_t mbps = 0;
      for (const auto& [since, rate] : rates) mbps = since <= when ? rate : mbps;
      return Rate::of_mbps(mbps);
    };
    const std::int64_t handed_over = hca::LightDelays(setting.profile).send(4096).count();  // from being taken to leaving
    std::size_t checked = 0;
    const std::vector<Seen>& sent = net.marks[0].seen;
    for (std::size_t i = 1; i < sent.size(); ++i) {
      const std::int64_t before = sent[i - 1].when - handed_over;
      if (before < cut + 20 * kUs || before > cut + 1'100 * kUs) continue;
      std::int64_t due = before + rate_at(before).time_for(sent[i - 1].wire_bytes).count();
      for (const auto& [since, rate] : rates) {
        if (since <= before || since >= due) continue;
        due = std::max(since, before + Rate::of_mbps(rate).time_for(sent[i - 1].wire_bytes).count());
      }
      ASSERT_EQ(sent[i].when - handed_over, due) << "packet " << i << ", " << (due - cut) / kUs << " us behind the cut";
      ++checked;
    }
    EXPECT_GT(checked, 1'500u);
    std::vector<std::uint64_t> recorded, expected;
    for (const auto& [when, rate] : net.rates()) {
      if (when < cut + 1'100 * kUs) recorded.push_back(rate);
    }
    for (const auto& [since, rate] : rates) expected.push_back(rate);
    EXPECT_EQ(recorded, expected);
    EXPECT_EQ(net.sources[0].completed.size(), 2u);
  }
}

// 25781 Mb/s (IBV_RATE_25_GBPS) on a link of 100 Gb/s, on InfiniBand: packets of 4096 + 26 bytes, 16 more in the first.
TEST(CongestionTest, a_static_rate_spaces_packets_also_those_that_are_sent_again) {
  std::vector<std::vector<std::vector<std::uint64_t>>> seen;
  for (const bool is_light : {false, true}) {
    Setting setting;
    setting.is_light = setting.is_far_end_light = is_light;
    setting.static_rate = 15;
    EndpointNet net(setting);
    Losses losses;
    losses.numbers = {40};
    net.ports[0]->set_faults(&losses);
    net.sources[0].each.length = 1 << 20;
    net.post(1);
    net.run();
    std::vector<std::vector<std::uint64_t>> rows = departures(net);
    std::erase_if(rows, [&](const auto& row) { return row[0] != net.components.id("client/p1").value; });
    ASSERT_GT(rows.size(), 256u) << "the lost packet and those behind it come again";
    const Rate rate = Rate::of_mbps(25'781);
    const auto distance = [&](std::size_t i) { return rows[i][1] - rows[i - 1][1]; };
    EXPECT_EQ(distance(1), static_cast<std::uint64_t>(rate.time_for(4096 + 42).count()));
    for (std::size_t i = 2; i < rows.size(); ++i) {
      EXPECT_GE(distance(i), static_cast<std::uint64_t>(rate.time_for(4096 + 26).count())) << i;
      if (i < 40) {
        EXPECT_EQ(distance(i), static_cast<std::uint64_t>(rate.time_for(4096 + 26).count())) << i;
      }
    }
    seen.push_back(rows);
    EXPECT_EQ(net.sources[0].completed.size(), 1u);
  }
  EXPECT_EQ(seen[0], seen[1]) << "whole and light";
}

TEST(CongestionTest, a_static_rate_that_is_no_less_than_the_links_changes_nothing) {
  std::vector<std::vector<std::vector<std::uint64_t>>> seen;
  for (const std::uint8_t rate : {0, 16}) {
    Setting setting;
    setting.static_rate = rate;
    EndpointNet net(setting);
    net.sources[0].each.length = 1 << 20;
    net.post(1);
    net.run();
    seen.push_back(departures(net));
  }
  EXPECT_EQ(seen[0], seen[1]);
}

// Many queue pairs wait in one calendar: each has its own rate.
TEST(CongestionTest, queue_pairs_do_not_wait_for_each_other) {
  for (const bool is_light : {false, true}) {
    Setting setting;
    setting.is_light = setting.is_far_end_light = is_light;
    setting.static_rate = 15;
    EndpointNet net(setting);
    Traffic more[3], peers[3];
    for (int i = 0; i < 3; ++i) {
      more[i].engine = peers[i].engine = &net.engine;
      const hca::SourceEnd first = net.ends[0]->add_source(more[i], 4);
      net.join(first, net.ends[1]->add_source(peers[i], 4));
      net.ends[0]->post_source(first.number, 1);
    }
    net.run();
    // 25 packets of each; four at 25781 Mb/s do not fill the link, three do so even less.
    const std::int64_t alone = 24 * Rate::of_mbps(25'781).time_for(4096 + 26).count();
    for (const Traffic& one : more) {
      ASSERT_EQ(one.completed.size(), 1u);
      EXPECT_LT(one.completed[0].first, alone + 4'000'000) << is_light;
    }
  }
}

struct RateLimitTime final : MessageObserver {
  std::int64_t ps = 0;
  std::int64_t all = 0;
  void on_message(const MessageReport& report) override {
    Instant before = report.trail.begin();
    all += to_ps(report.at) - to_ps(before);
    for (const TrailStep& step : report.trail.steps()) {
      if (std::string_view(step.part.name) == hca::kRateLimit) ps += (step.end - before).count();
      before = step.end;
    }
  }
};

// The packet that completes the message is the last of 26; its trail holds the wait for the rate since it could have been taken.
TEST(CongestionTest, the_trail_of_a_message_names_the_rate_limit) {
  for (const bool is_light : {false, true}) {
    Setting setting;
    setting.is_light = setting.is_far_end_light = is_light;
    setting.static_rate = 15;
    EndpointNet net(setting);
    RateLimitTime observer;
    net.tracer.add(observer);
    net.post(1);
    net.run();
    EXPECT_GT(observer.ps, 0) << is_light;
    EXPECT_LE(observer.ps, observer.all);
    EXPECT_EQ(observer.ps, Rate::of_mbps(25'781).time_for(4096 + 26).count()) << "one gap; those before are other packets'";
  }
}

TEST(CongestionTest, the_same_marks_give_the_same_digest) {
  for (const bool is_light : {false, true}) {
    std::set<std::string> digests;
    for (int i = 0; i < 2; ++i) {
      MarkedNet net(marked_setting(is_light), {0, 30, 60, 90, 400});
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
