// Work sources: a queue pair without rings and memory does what a program's does, at the same times, and completes by calls.
#include <gtest/gtest.h>

#include <map>

#include "sim/ib/wire.h"
#include "sim/observe/digest_sink.h"
#include "tests/hca/requests.h"

namespace verbatim::test {
namespace {

using hca::SourceWork;
using ib::WcStatus;

// A number of equal messages, announced as set by the test, and their results.
struct Messages final : hca::WorkSource {
  SourceWork each;
  const Engine* engine = nullptr;
  std::vector<std::pair<std::int64_t, WcStatus>> completed;
  std::vector<std::uint32_t> received;
  std::uint32_t taken = 0;
  bool has_adapter_failed = false;
  std::function<void()> when_completed;

  SourceWork next_work(std::uint32_t) override {
    ++taken;
    return each;
  }
  void on_completed(std::uint32_t, WcStatus status) override {
    completed.emplace_back(to_ps(engine->now()), status);
    if (when_completed) when_completed();
  }
  void on_received(std::uint32_t, std::uint32_t bytes) override { received.push_back(bytes); }
  void on_adapter_failed(std::uint32_t) override { has_adapter_failed = true; }
};

struct SourcePair {
  explicit SourcePair(const WorldOptions& options = {}, SourceWork each = {SourceWork::Operation::kWrite, 100'000},
                      std::uint32_t depth = 64)
      : world(options) {
    a.engine = b.engine = &world.engine;
    a.each = each;
    at_a = world.client->add_source(a, depth);
    at_b = world.server->add_source(b, depth);
    connect(*world.client, at_a, at_b, 2);
    connect(*world.server, at_b, at_a, 1);
  }
  void connect(hca::Hca& hca, hca::SourceEnd own, hca::SourceEnd peer, std::uint16_t lid) {
    hca::SourcePath path;
    path.address.dlid = lid;
    path.address.port = 1;
    if (world.options.roce) {
      path.address.is_global = 1;
      path.address.dgid[15] = static_cast<std::uint8_t>(lid);
    }
    path.peer = peer;
    path.first_psn = 1000;
    hca.connect_source(own.number, path);
  }
  void post(std::uint32_t count) { world.client->post_source(at_a.number, count); }

  World world;
  Messages a, b;
  hca::SourceEnd at_a, at_b;
};

// Every record of a component, but for commands, and for what names memory, processes and completion queues.
using Times = std::map<std::uint32_t, std::vector<std::vector<std::uint64_t>>>;
Times times_of(const Recorder& trace) {
  Times times;
  for (const TraceRecord& record : trace.records) {
    if (record.event == TraceEvent::kCommand) continue;
    std::vector<std::uint64_t> row = {static_cast<std::uint64_t>(record.time_ps), static_cast<std::uint64_t>(record.event)};
    if (record.event == TraceEvent::kDmaWrite) {
      row.push_back(record.values[2]);
    } else if (record.event == TraceEvent::kCompletion) {
      row.insert(row.end(), {record.values[1], record.values[2], record.values[3]});
    } else {
      row.insert(row.end(), std::begin(record.values), std::end(record.values));
    }
    times[record.component].push_back(row);
  }
  // A source's transfers are recorded before their time, and so before others of that instant.
  for (auto& [component, rows] : times) std::ranges::sort(rows);
  return times;
}

struct Case {
  std::string name;
  WorldOptions world;
  std::uint32_t length = 100'000;
  std::vector<std::uint32_t> rings = {3};  // requests that each doorbell announces, 1 us apart
  std::vector<std::uint32_t> lost;         // packets of the client
};

std::vector<Case> cases() {
  std::vector<Case> all = {{"one small message", {}, 64, {1}, {}},
                           {"a message of no bytes", {}, 0, {1}, {}},
                           {"long messages", {}, 1 << 20, {4}, {}},
                           {"doorbells one by one", {}, 5'000, {1, 2, 1, 5, 30}, {}},
                           {"lost packets", {}, 100'000, {3, 3}, {0, 7, 30, 31, 74}}};
  const auto add = [&all](const std::string& name, const auto& change) {
    Case one{name, {}, 70'000, {2, 1, 20}, {5}};
    change(one.world);
    all.push_back(one);
  };
  add("over a switch", [](WorldOptions& world) { world.with_switch = true; });
  add("RoCE", [](WorldOptions& world) { world.roce = true; });
  add("caches of few entries", [](WorldOptions& world) {
    world.profile.context_cache = {.entries = 1};
    world.profile.protection_cache = {.entries = 1};
    world.profile.translation_cache = {.entries = 4};
  });
  add("work requests in lines, processing units and ICRC stages", [](WorldOptions& world) {
    world.profile.wqe_layout = {.line_bytes = 16, .header_bytes = 32, .datagram_header_bytes = 64, .receive_line_bytes = 16};
    world.profile.processing_units = 2;
    world.profile.icrc = {.latency_cycles = 7};
    world.profile.blueflame_bytes = 256;
  });
  return all;
}

TEST(WorkSourceTest, every_record_has_the_time_that_it_has_with_a_program) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.name);
    PairOptions options;
    options.world = one.world;
    options.buffer_bytes = 2 << 20;
    options.capabilities = {64, 0, 1, 1, 0};
    options.path.is_global = one.world.roce;
    Pair pair(options);
    ASSERT_TRUE(pair.ready);
    if (!one.lost.empty()) pair.world.to_server.keep = lose(one.lost);
    std::uint64_t number = 0;
    for (const std::uint32_t count : one.rings) {
      for (std::uint32_t i = 0; i < count; ++i) {
        SendRequest request = write_to(pair, 0, one.length);
        request.wr_id = number++;
        pair.a.program.write_send(pair.a.qp, request);
      }
      pair.a.program.ring(pair.a.qp);
      pair.world.run_for(Duration(1'000'000));
    }
    pair.world.run();

    SourcePair sources(one.world, {SourceWork::Operation::kWrite, one.length});
    if (!one.lost.empty()) sources.world.to_server.keep = lose(one.lost);
    for (const std::uint32_t count : one.rings) {
      sources.post(count);
      sources.world.run_for(Duration(1'000'000));
    }
    sources.world.run();

    EXPECT_EQ(sources.a.completed.size(), number);
    for (const auto& [when, status] : sources.a.completed) EXPECT_EQ(status, WcStatus::kSuccess);
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), number);
    EXPECT_GT(pair.world.trace.count(TraceEvent::kPacketTransmitted), 0u);
    EXPECT_TRUE(times_of(sources.world.trace) == times_of(pair.world.trace));
  }
}

TEST(WorkSourceTest, requests_are_made_as_the_adapter_decodes_them_and_no_earlier) {
  SourcePair pair;
  pair.post(30);
  EXPECT_EQ(pair.a.taken, 0u);
  pair.world.run_for(Duration(3'000'000));
  EXPECT_GT(pair.a.taken, 0u);
  EXPECT_LT(pair.a.taken, 10u) << "wqe_prefetch bounds what the adapter takes ahead";
  pair.world.run();
  EXPECT_EQ(pair.a.taken, 30u);
}

TEST(WorkSourceTest, a_completion_may_post_the_next_request) {
  SourcePair pair;
  std::uint32_t left = 200;
  pair.a.when_completed = [&] {
    if (left > 0) pair.post(1), --left;
  };
  pair.post(2);
  pair.world.run();
  EXPECT_EQ(pair.a.completed.size(), 202u);
}

TEST(WorkSourceTest, sends_need_no_posted_receives_and_are_told_with_their_bytes) {
  for (const bool roce : {false, true}) {
    WorldOptions options;
    options.roce = roce;
    SourcePair pair(options, {SourceWork::Operation::kSend, 9'000});
    pair.world.to_server.keep = lose({4});
    pair.post(3);
    pair.world.run();
    EXPECT_EQ(pair.a.completed.size(), 3u);
    EXPECT_EQ(pair.b.received, (std::vector<std::uint32_t>{9'000, 9'000, 9'000}));
    EXPECT_EQ(pair.world.diagnoses.count, 0u);
  }
}

TEST(WorkSourceTest, both_ends_send_at_once) {
  SourcePair pair;
  pair.b.each = {SourceWork::Operation::kSend, 30'000};
  pair.post(20);
  pair.world.server->post_source(pair.at_b.number, 20);
  pair.world.run();
  EXPECT_EQ(pair.a.completed.size(), 20u);
  EXPECT_EQ(pair.b.completed.size(), 20u);
  EXPECT_EQ(pair.a.received.size(), 20u);
}

TEST(WorkSourceTest, without_an_answer_the_request_fails_and_the_others_are_flushed) {
  SourcePair pair;
  pair.world.to_server.keep = [](ib::Packet&) { return false; };
  pair.post(6);
  pair.world.run();
  ASSERT_EQ(pair.a.completed.size(), 6u);
  EXPECT_EQ(pair.a.completed.front().second, WcStatus::kRetryExceeded);
  EXPECT_EQ(pair.a.completed.back().second, WcStatus::kWorkRequestFlushed);
  EXPECT_EQ(pair.world.diagnoses.count, 1u);
}

TEST(WorkSourceTest, an_adapter_that_fails_tells_its_sources) {
  SourcePair pair;
  pair.post(20);
  pair.world.run_for(Duration(10'000'000));
  pair.world.client->fail();
  EXPECT_TRUE(pair.a.has_adapter_failed);
  const std::size_t before = pair.a.completed.size();
  EXPECT_LT(before, 20u);
  pair.world.run();
  EXPECT_EQ(pair.a.completed.size(), before);
  pair.post(1);  // leads to nothing
  pair.world.run();
}

TEST(WorkSourceTest, packets_have_a_length_and_no_bytes) {
  SourcePair pair;
  std::size_t seen = 0;
  std::vector<std::byte> wire;
  pair.world.to_server.keep = [&](ib::Packet& packet) {
    EXPECT_FALSE(packet.payload.has_bytes());
    EXPECT_GT(packet.payload.length, 0u);
    ib::encode(packet, wire);  // in captures and ICRCs: zeros
    EXPECT_EQ(wire.size(), packet.wire_bytes());
    ++seen;
    return true;
  };
  pair.post(1);
  pair.world.run();
  EXPECT_EQ(seen, 25u);
  std::uint64_t placed = 0;
  for (const TraceRecord& record : pair.world.trace.all(TraceEvent::kDmaWrite)) placed += record.values[2];
  EXPECT_EQ(placed, 100'000u);
}

std::string digest_of(std::uint32_t length) {
  SourcePair pair({}, {SourceWork::Operation::kWrite, length});
  observe::DigestSink digest;
  pair.world.tracer.add(digest);
  pair.post(3);
  pair.world.run();
  return digest.hex();
}

TEST(WorkSourceTest, the_digest_knows_the_lengths) {
  EXPECT_EQ(digest_of(5'000), digest_of(5'000));
  EXPECT_NE(digest_of(5'000), digest_of(5'001));
}

}  // namespace
}  // namespace verbatim::test
