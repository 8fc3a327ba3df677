// Light endpoints: packets have the same times as between full adapters whose stages, bus and caches cause no
// delay.
#include <gtest/gtest.h>

#include <set>

#include "sim/observe/digest_sink.h"
#include "tests/hca/endpoint_net.h"

namespace verbatim::test {
namespace {

using ib::WcStatus;

struct Pattern {
  std::string name;
  Setting setting;
  std::uint32_t length = 100'000;
  std::vector<std::uint32_t> posts = {1};  // numbers of messages posted 3 us apart
  std::set<std::uint64_t> lost;            // packets of the first endpoint
  std::set<std::uint64_t> lost_back;       // packets of the second endpoint
  bool both_ways = false;
};

std::vector<Pattern> patterns() {
  std::vector<Pattern> all = {{"a packet", {}, 4096},
                           {"a message", {}, 1 << 20},
                           {"a short packet behind a long one", {}, 4097},
                           {"messages behind each other", {}, 40'960, {1, 1, 1, 1, 1, 1}},
                           {"a lost packet", {}, 1 << 20, {1}, {40}},
                           {"lost packets and acknowledgements", {}, 40'960, {1, 1, 1, 1}, {3, 9, 17, 18, 33}, {0, 2}},
                           {"the last packet is lost", {}, 40'960, {1}, {9, 10}},
                           {"SENDs", {}, 40'960, {1, 1}}};
  Setting fast;
  fast.link.byte_time = ByteTime{20, 1};
  all.push_back({"400 Gb/s", fast, 1 << 20, {1, 1}});
  Setting roce;
  roce.roce = true;
  Setting late;
  late.profile.loss_recovery.nak_generation = Duration(1'500'000);
  late.profile.loss_recovery.nak_reaction = Duration(3'500'000);
  all.push_back({"losses that are recovered late", late, 1 << 20, {1, 1}, {40, 41, 300}, {1}});
  all.push_back({"RoCE", roce, 1 << 20, {1, 1}, {77, 200}});
  return all;
}

TEST(LightEndpointTest, packets_leave_when_those_of_a_whole_adapter_do) {
  for (const Pattern& one : patterns()) {
    SCOPED_TRACE(one.name);
    std::vector<std::vector<std::vector<std::uint64_t>>> seen;
    std::vector<std::vector<std::pair<std::int64_t, WcStatus>>> completed;
    for (const bool is_light : {false, true}) {
      Setting setting = one.setting;
      setting.is_light = setting.is_far_end_light = is_light;
      EndpointNet net(setting);
      Losses losses[2];
      losses[0].numbers = one.lost;
      losses[1].numbers = one.lost_back;
      for (std::size_t i = 0; i < 2; ++i) net.ports[i]->set_faults(&losses[i]);
      net.sources[0].each = {one.name == "SENDs" ? SourceWork::Operation::kSend : SourceWork::Operation::kWrite, one.length};
      for (const std::uint32_t count : one.posts) {
        net.post(count);
        net.run_for(Duration(3'000'000));
      }
      net.run();
      seen.push_back(departures(net));
      completed.push_back(net.sources[0].completed);
      EXPECT_EQ(net.sources[0].completed.size(), one.posts.size());
      EXPECT_EQ(net.sources[1].received.size(), one.name == "SENDs" ? one.posts.size() : 0);
    }
    EXPECT_GT(seen[0].size(), 3u);
    const auto [whole, other] = std::ranges::mismatch(seen[0], seen[1]);
    EXPECT_TRUE(seen[0] == seen[1]) << "from the packet on that leaves at " << (whole == seen[0].end() ? 0 : (*whole)[1]) << " ps";
    // A full adapter writes the entries of requests that one acknowledgement completes one after the other.
    constexpr std::int64_t kEntry = 1'500;
    for (std::size_t i = 0; i < completed[0].size(); ++i) {
      EXPECT_EQ(completed[1][i].second, WcStatus::kSuccess);
      EXPECT_LE(completed[1][i].first, completed[0][i].first);
      EXPECT_LE(completed[0][i].first, completed[1][i].first + kEntry);
    }
  }
}

// Combinations: the first and the second end are light or full endpoints.
std::vector<Setting> pairs() {
  std::vector<Setting> all;
  for (const bool is_light : {false, true}) {
    for (const bool is_far_end_light : {false, true}) all.push_back({.is_light = is_light, .is_far_end_light = is_far_end_light});
  }
  return all;
}

TEST(LightEndpointTest, talks_with_whole_adapters) {
  std::set<std::int64_t> ends;
  for (const Setting& setting : pairs()) {
    EndpointNet net(setting);
    for (std::size_t end = 0; end < 2; ++end) {
      net.sources[end].each = {SourceWork::Operation::kSend, 300'000};
      net.post(3, end);
    }
    net.run();
    for (const Traffic& source : net.sources) {
      EXPECT_EQ(source.completed.size(), 3u);
      EXPECT_EQ(source.received, (std::vector<std::uint32_t>{300'000, 300'000, 300'000}));
    }
    ends.insert(net.sources[0].completed.back().first);
  }
  EXPECT_LT(*ends.rbegin() - *ends.begin(), 100'000) << "both ways at once, the order of packets and answers may differ";
}

TEST(LightEndpointTest, a_packet_that_it_sends_or_takes_costs_no_event_but_those_of_ports) {
  EndpointNet net;
  net.sources[0].each.length = 1 << 22;
  net.post(4);
  net.run();
  const std::size_t packets = net.trace.count(TraceEvent::kPacketTransmitted);
  EXPECT_EQ(packets, 2 * (4 * 1024 + 4u));
  EXPECT_LT(net.engine.events_executed(), 2 * packets + 20);
}

TEST(LightEndpointTest, queue_pairs_take_turns_packet_by_packet) {
  EndpointNet net;
  Traffic second;
  second.engine = &net.engine;
  second.each = net.sources[0].each = {SourceWork::Operation::kWrite, 40'960};
  const hca::SourceEnd here = net.ends[0]->add_source(second, 4), there = net.ends[1]->add_source(net.sources[1], 4);
  net.join(here, there);
  net.post(1);
  net.ends[0]->post_source(here.number, 1);
  net.run();
  std::vector<std::uint64_t> to;
  for (const TraceRecord& record : net.trace.all(TraceEvent::kPacketTransmitted)) {
    if (record.component == net.ports[0]->id().value) to.push_back(record.values[1]);
  }
  ASSERT_EQ(to.size(), 20u);
  // The first queue pair starts alone, so its first packets are not alternated with others.
  for (std::size_t i = 6; i + 6 < to.size(); ++i) EXPECT_NE(to[i], to[i + 1]) << i;
}

TEST(LightEndpointTest, without_an_answer_the_request_fails_and_the_others_are_flushed) {
  EndpointNet net;
  Losses all;
  for (std::uint64_t i = 0; i < 100'000; ++i) all.numbers.insert(i);
  net.ports[0]->set_faults(&all);
  net.post(6);
  net.run();
  ASSERT_EQ(net.sources[0].completed.size(), 6u);
  EXPECT_EQ(net.sources[0].completed.front().second, WcStatus::kRetryExceeded);
  EXPECT_EQ(net.sources[0].completed.back().second, WcStatus::kWorkRequestFlushed);
}

TEST(LightEndpointTest, a_link_that_is_down_for_a_while_costs_retries_and_one_that_stays_down_the_flow) {
  for (const bool comes_back : {true, false}) {
    EndpointNet net;
    net.sources[0].each.length = 1 << 20;
    net.post(2);
    net.run_for(Duration(30'000'000));
    set_link(*net.ports[0], false);
    net.run_for(Duration(200'000'000));
    if (comes_back) set_link(*net.ports[0], true);
    net.run();
    ASSERT_EQ(net.sources[0].completed.size(), 2u);
    EXPECT_EQ(net.sources[0].completed[0].second, comes_back ? WcStatus::kSuccess : WcStatus::kRetryExceeded);
    EXPECT_LT(net.engine.events_executed(), 10'000u);
  }
}

TEST(LightEndpointTest, without_a_lane_for_its_service_level_a_flow_ends_by_retries) {
  Setting setting;
  setting.profile.sl_to_vl = {{0, 15}};
  EndpointNet net(setting);
  net.sources[0].each.length = 1 << 20;
  net.post(1);
  net.run();
  ASSERT_EQ(net.sources[0].completed.size(), 1u);
  EXPECT_EQ(net.sources[0].completed[0].second, WcStatus::kRetryExceeded);
  const auto drops = net.trace.all(TraceEvent::kPacketDropped);
  ASSERT_EQ(drops.size(), 8u) << "one, and one for each retry";
  for (const TraceRecord& drop : drops) EXPECT_EQ(static_cast<ib::DropReason>(drop.values[3]), ib::DropReason::kNoLane);
}

TEST(LightEndpointTest, an_adapter_that_fails_is_silent_and_its_peer_finds_out_by_retries) {
  for (const Setting& setting : pairs()) {
    SCOPED_TRACE(testing::Message() << setting.is_light << setting.is_far_end_light);
    EndpointNet net(setting);
    net.sources[0].each.length = net.sources[1].each.length = 1 << 20;
    net.post(3, 0);
    net.post(3, 1);
    net.run_for(Duration(50'000'000));
    net.ends[0]->fail();
    EXPECT_TRUE(net.sources[0].has_adapter_failed);
    const std::size_t before = net.sources[0].completed.size();
    net.post(1);  // no such destination
    net.run();
    EXPECT_EQ(net.sources[0].completed.size(), before);
    ASSERT_EQ(net.sources[1].completed.size(), 3u);
    EXPECT_EQ(net.sources[1].completed.back().second, WcStatus::kWorkRequestFlushed);
  }
}

TEST(LightEndpointTest, what_is_not_for_it_is_dropped_with_a_reason_and_its_buffer_is_free_again) {
  EndpointNet net;
  ib::PacketPtr sent;
  const auto receive = [&](const std::function<void(ib::Packet&)>& change) {
    auto packet = std::make_unique<ib::Packet>();
    packet->lrh.source = ib::Lid{1};
    packet->lrh.destination = ib::Lid{2};
    packet->bth.opcode = make_opcode(ib::Transport::kRc, ib::Operation::kSendOnly);
    packet->bth.pkey = ib::kDefaultPkey;
    packet->bth.destination = ib::Qpn{net.at[1].number};
    packet->bth.psn = ib::Psn{1000};
    packet->payload.length = 100;
    change(*packet);
    const std::size_t before = net.trace.count(TraceEvent::kPacketDropped);
    net.ports[0]->send(std::move(packet));
    net.run();
    const auto drops = net.trace.all(TraceEvent::kPacketDropped);
    return drops.size() == before ? ib::DropReason() : static_cast<ib::DropReason>(drops.back().values[3]);
  };
  using enum ib::DropReason;
  const auto nothing = [](ib::Packet&) {};
  const std::uint32_t credits = net.device->port(fabric::PortNumber{2}).credits(ib::VirtualLane{0});
  EXPECT_EQ(receive([](ib::Packet& packet) { packet.corrupted = true; }), kCorrupted);
  EXPECT_EQ(receive([](ib::Packet& packet) { packet.bth.opcode = ib::Opcode{0x1f}; }), kUndefinedOpcode);
  EXPECT_EQ(receive([](ib::Packet& packet) { packet.bth.destination = ib::Qpn{1}; }), kUnknownQp);
  EXPECT_EQ(receive([](ib::Packet& packet) { packet.bth.destination = ib::Qpn{0xffffff}; }), kUnknownQp);
  EXPECT_EQ(receive([](ib::Packet& packet) { packet.bth.pkey = 0x8001; }), kWrongPkey);
  EXPECT_EQ(receive([](ib::Packet& packet) { packet.lrh.source = ib::Lid{7}; }), kWrongSource);
  EXPECT_EQ(receive([](ib::Packet& packet) { packet.bth.opcode = make_opcode(ib::Transport::kUd, ib::Operation::kSendOnly); }),
            kWrongTransport);
  net.run_for(Duration(1'000'000));
  EXPECT_EQ(net.device->port(fabric::PortNumber{2}).credits(ib::VirtualLane{0}), credits);
  EXPECT_EQ(receive(nothing), ib::DropReason());
  EXPECT_EQ(net.sources[1].received, std::vector<std::uint32_t>{100});
}

// Requests that no work source makes, but a program with the queue pair's number could.
TEST(LightEndpointTest, a_peer_that_asks_for_what_it_has_no_right_to_is_refused) {
  for (const ib::Operation operation : {ib::Operation::kReadRequest, ib::Operation::kFetchAdd, ib::Operation::kWriteOnly}) {
    EndpointNet net;
    auto packet = std::make_unique<ib::Packet>();
    packet->lrh.source = ib::Lid{1};
    packet->lrh.destination = ib::Lid{2};
    packet->bth.opcode = make_opcode(ib::Transport::kRc, operation);
    packet->bth.pkey = ib::kDefaultPkey;
    packet->bth.destination = ib::Qpn{net.at[1].number};
    packet->bth.psn = ib::Psn{1000};
    packet->reth = {ib::RemoteVa{0}, ib::RKey{net.at[1].key + (operation == ib::Operation::kWriteOnly ? 1 : 0)}, 8};
    packet->atomic = {ib::RemoteVa{0}, ib::RKey{net.at[1].key}, 1, 0};
    packet->payload.length = operation == ib::Operation::kWriteOnly ? 8 : 0;
    net.ports[0]->send(std::move(packet));
    net.run();
    const auto sent = net.trace.all(TraceEvent::kAckSent);
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(ib::ack_kind(static_cast<std::uint8_t>(sent[0].values[2])), ib::AckKind::kNak);
  }
}

// Times of messages by end, each with the time span of its trail.
struct Ends final : MessageObserver {
  std::vector<std::pair<MessageEnd, Duration>> ends;
  std::set<std::string> steps;
  void on_message(const MessageReport& report) override {
    ends.emplace_back(report.end, report.at - report.trail.begin());
    EXPECT_EQ(report.trail.end(), report.at);
    EXPECT_EQ(report.trail.message()->operation, "SEND");
    for (const TrailStep& step : report.trail.steps()) steps.insert(step.part.name);
  }
};

TEST(LightEndpointTest, whoever_asks_learns_where_the_time_of_a_message_goes) {
  EndpointNet net;
  Ends observer;
  net.tracer.add(observer);
  Losses losses;
  losses.numbers = {3};
  net.ports[0]->set_faults(&losses);
  net.sources[0].each = {SourceWork::Operation::kSend, 4'096};
  net.post(1);
  net.run();
  ASSERT_EQ(observer.ends.size(), 2u);
  EXPECT_EQ(observer.ends.back().second, Duration(net.sources[0].completed.back().first));
  net.sources[0].each.length = 40'960;
  net.post(2);
  net.run();
  for (const MessageEnd end : {MessageEnd::kReceived, MessageEnd::kCompleted})
    EXPECT_EQ(std::ranges::count(observer.ends, end, [](const auto& one) { return one.first; }), 3);
  for (const char* step : {"doorbell, fetch and decoding", "gather and packetize", "receive check", "acknowledge", "completion",
                           "link: rest of the packet", "lost: sequence error"})
    EXPECT_TRUE(observer.steps.contains(step)) << step;
}

TEST(LightEndpointTest, a_profile_may_have_fewer_read_tags_than_a_packet_needs) {
  std::vector<std::int64_t> ends;
  for (const std::uint32_t tags : {1u, 1024u}) {
    Setting setting;
    setting.profile.pcie.outstanding_reads = tags;
    EndpointNet net(setting);
    net.sources[0].each.length = 4096;
    net.post(1);
    net.run();
    ASSERT_EQ(net.sources[0].completed.size(), 1u);
    ends.push_back(net.sources[0].completed[0].first);
  }
  EXPECT_GT(ends[0], ends[1] + 7 * 300'000) << "eight requests, one after the other";
}

TEST(LightEndpointTest, takes_kilobytes) {
  EXPECT_LE(sizeof(hca::LightAdapter), 1024u);
  EXPECT_LE(sizeof(hca::LightQueuePair), 2048u);
}

}  // namespace
}  // namespace verbatim::test
