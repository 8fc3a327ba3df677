// The DMA engine: every parameter by a formula, the ordering rules, and random traffic compared to a simple
// reference that processes one request at a time.
#include "sim/host/dma_engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sim/core/rng.h"

namespace verbatim::host {
namespace {

struct Seen {
  bool is_write = false;
  std::uint64_t cookie = 0;
  std::int64_t touched = 0;
  std::int64_t at_adapter = 0;
  friend bool operator==(const Seen&, const Seen&) = default;
};

struct Client final : DmaClient {
  explicit Client(Engine& engine) : engine(engine) {}
  void on_dma_read(std::uint64_t cookie, Instant at_adapter) override {
    seen.push_back({false, cookie, to_ps(engine.now()), to_ps(at_adapter)});
  }
  void on_dma_write(std::uint64_t cookie) override { seen.push_back({true, cookie, to_ps(engine.now()), 0}); }
  Engine& engine;
  std::vector<Seen> seen;
};

struct Bench {
  explicit Bench(const PcieProfile& profile) : dma(engine, ComponentId{0}, profile), client(engine) {}
  Engine engine;
  DmaEngine dma;
  Client client;
};

// A generation-3 x1 lane, whose byte time is not round: with 1 ns a byte, swapped headers would not be
// noticed.
PcieProfile narrow() {
  PcieProfile profile;
  profile.lanes = 1;
  return profile;
}
std::int64_t bytes_ps(const PcieProfile& profile, std::uint64_t bytes) {
  return to_ps(pcie_byte_time(profile.generation, profile.lanes).time_for(bytes));
}

TEST(PcieProfileTest, byte_times_follow_generation_lanes_and_line_code) {
  EXPECT_EQ(pcie_byte_time(2, 1), (ByteTime{2000, 1}));  // 5 GT/s, 10 bits a byte
  EXPECT_EQ(pcie_byte_time(2, 8), (ByteTime{250, 1}));
  EXPECT_EQ(pcie_byte_time(3, 1), (ByteTime{8125, 8}));  // 1015.625 ps
  EXPECT_EQ(pcie_byte_time(3, 16), (ByteTime{8125, 128}));
  EXPECT_EQ(pcie_byte_time(4, 16), (ByteTime{8125, 256}));
  EXPECT_EQ(pcie_byte_time(5, 16), (ByteTime{8125, 512}));
  EXPECT_DEATH(pcie_byte_time(1, 1), "");
  EXPECT_DEATH(pcie_byte_time(3, 3), "");
}

TEST(DmaEngineTest, a_small_read_takes_request_memory_and_completion) {
  const PcieProfile profile = narrow();
  Bench bench(profile);
  bench.dma.read(64, bench.client, 7);
  const std::int64_t touch =
      bytes_ps(profile, 24) + to_ps(profile.one_way_latency) + to_ps(profile.memory_read_latency);
  bench.engine.run_until(instant_from_ps(touch - 1));
  EXPECT_TRUE(bench.client.seen.empty()) << "memory is touched not a picosecond earlier";
  bench.engine.run_until(instant_from_ps(touch));
  ASSERT_EQ(bench.client.seen.size(), 1u);
  EXPECT_EQ(bench.client.seen[0].at_adapter,
            touch + bytes_ps(profile, 64 + 20) + to_ps(profile.one_way_latency));
}

TEST(DmaEngineTest, a_read_that_waits_for_writes_comes_after_them_in_the_same_instant) {
  PcieProfile profile = narrow();
  profile.memory_write_latency = Duration(500'000);
  Bench bench(profile);
  bench.dma.write(64, bench.client, 1);
  const DmaWriteTimes last = bench.dma.write(64, bench.client, 2);
  bench.dma.read(64, bench.client, 3);
  bench.engine.run();
  ASSERT_EQ(bench.client.seen.size(), 3u);
  EXPECT_EQ(bench.client.seen[1].cookie, 2u);
  EXPECT_EQ(bench.client.seen[2].cookie, 3u);
  EXPECT_EQ(bench.client.seen[2].touched, to_ps(last.visible));
}

TEST(DmaEngineTest, a_small_write_is_visible_after_link_and_memory) {
  const PcieProfile profile = narrow();
  Bench bench(profile);
  const DmaWriteTimes times = bench.dma.write(64, bench.client, 7);
  EXPECT_EQ(to_ps(times.left_adapter), bytes_ps(profile, 64 + 24));
  const std::int64_t visible =
      bytes_ps(profile, 64 + 24) + to_ps(profile.one_way_latency) + to_ps(profile.memory_write_latency);
  EXPECT_EQ(to_ps(times.visible), visible);
  bench.engine.run_until(instant_from_ps(visible - 1));
  EXPECT_TRUE(bench.client.seen.empty());
  bench.engine.run_until(instant_from_ps(visible));
  EXPECT_EQ(bench.client.seen.size(), 1u);
}

TEST(DmaEngineTest, headers_count_per_tlp) {
  PcieProfile profile = narrow();
  Bench bench(profile);
  // 1000 bytes: writes in TLPs of 256 (4 headers); reads in requests of 512 (2) and completions of 256 (2 +
  // 2).
  EXPECT_EQ(to_ps(bench.dma.write(1000, bench.client, 1).left_adapter), bytes_ps(profile, 1000 + 4 * 24));
  Bench other(profile);
  other.dma.read(1000, other.client, 2);
  other.engine.run();
  const std::int64_t first =
      bytes_ps(profile, 24) + to_ps(profile.one_way_latency) + to_ps(profile.memory_read_latency);
  EXPECT_EQ(other.client.seen[0].at_adapter,
            first + bytes_ps(profile, 1000 + 4 * 20) + to_ps(profile.one_way_latency));
  // Two pieces are divided separately: 300 + 700 bytes take 1 + 2 requests and 2 + 2 + 1 completions.
  Bench pieces(profile);
  const DmaPiece lengths[] = {300, 700};
  pieces.dma.read(lengths, pieces.client, 3);
  pieces.engine.run();
  EXPECT_EQ(pieces.client.seen[0].at_adapter,
            first + bytes_ps(profile, 1000 + 5 * 20) + to_ps(profile.one_way_latency));
  Bench writes(profile);
  EXPECT_EQ(to_ps(writes.dma.write(lengths, writes.client, 1).left_adapter),
            bytes_ps(profile, 1000 + 5 * 24));
}

// No TLP crosses a page; all completions but the last end at multiples of RCB.
TEST(DmaEngineTest, where_a_piece_lies_in_its_page_decides_into_what_it_is_cut) {
  struct Row {
    std::uint32_t bytes;
    std::uint64_t address;
    std::uint64_t requests, completions, writes;
  };
  const Row rows[] = {{512, 0, 1, 2, 2},      {512, 64, 1, 2, 2},      {512, 1, 1, 3, 2},
                      {449, 63, 1, 2, 2},     {450, 63, 1, 3, 2},  {256, 63, 1, 1, 1},      {64, 12288 - 32, 2, 2, 2},
                      {4096, 4096, 8, 16, 16}, {4096, 6144, 8, 16, 16}, {4096, 64, 9, 17, 17},
                      {4097, 0, 9, 17, 17}};
  const PcieProfile profile = narrow();
  for (const Row& row : rows) {
    Bench reads(profile), writes(profile);
    reads.dma.read({row.bytes, row.address}, reads.client, 0);
    reads.engine.run();
    const std::int64_t fixed = 2 * to_ps(profile.one_way_latency) + to_ps(profile.memory_read_latency);
    // The first request, then completions without a pause.
    EXPECT_EQ(reads.client.seen[0].at_adapter,
              bytes_ps(profile, 24) + fixed + bytes_ps(profile, row.bytes + row.completions * 20))
        << row.bytes << " at " << row.address;
    EXPECT_EQ(reads.client.seen[0].touched, bytes_ps(profile, row.requests * 24) + to_ps(profile.one_way_latency) +
                                                to_ps(profile.memory_read_latency));
    EXPECT_EQ(to_ps(writes.dma.write({row.bytes, row.address}, writes.client, 0).left_adapter),
              bytes_ps(profile, row.bytes + row.writes * 24));
  }
}

TEST(DmaEngineTest, tags_bound_the_reads_in_flight) {
  PcieProfile profile;  // x16
  profile.outstanding_reads = 1;
  Bench bench(profile);
  bench.dma.read(2048, bench.client, 1);
  bench.engine.run();
  // Four requests of 512 bytes, one after the other, each a full round trip.
  const std::int64_t trip = bytes_ps(profile, 24) + 2 * to_ps(profile.one_way_latency) +
                            to_ps(profile.memory_read_latency) + bytes_ps(profile, 512 + 2 * 20);
  EXPECT_EQ(bench.client.seen[0].at_adapter, 4 * trip);
  profile.outstanding_reads = 4;
  Bench wide(profile);
  wide.dma.read(2048, wide.client, 1);
  wide.engine.run();
  EXPECT_LT(wide.client.seen[0].at_adapter, 2 * trip);
}

TEST(DmaEngineTest, a_read_does_not_pass_an_earlier_write_and_a_write_passes_a_read_without_a_tag) {
  PcieProfile profile;
  profile.memory_write_latency = Duration{900'000};  // far longer than the memory read latency
  profile.outstanding_reads = 1;
  Bench bench(profile);
  const DmaWriteTimes write = bench.dma.write(64, bench.client, 1);
  bench.dma.read(8, bench.client, 2);
  bench.dma.read(8, bench.client, 3);  // waits for the tag
  const DmaWriteTimes later = bench.dma.write(64, bench.client, 4);
  bench.engine.run();
  ASSERT_EQ(bench.client.seen.size(), 4u);
  EXPECT_EQ(bench.client.seen[0].cookie, 1u);
  EXPECT_EQ(bench.client.seen[1].cookie, 2u);
  EXPECT_GE(bench.client.seen[1].touched, to_ps(write.visible));
  EXPECT_EQ(bench.client.seen[2].cookie, 4u);
  EXPECT_EQ(bench.client.seen[2].touched, to_ps(later.visible));
  EXPECT_EQ(bench.client.seen[3].cookie, 3u);
}

TEST(DmaEngineTest, writes_become_visible_in_order_and_share_the_lane) {
  const PcieProfile profile = narrow();
  Bench bench(profile);
  for (std::uint64_t i = 0; i < 50; ++i) bench.dma.write(1 + (i * 37) % 500, bench.client, i);
  bench.engine.run();
  ASSERT_EQ(bench.client.seen.size(), 50u);
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < 50; ++i) {
    const std::uint64_t bytes = 1 + (i * 37) % 500;
    total += bytes + (bytes + 255) / 256 * 24;
    EXPECT_EQ(bench.client.seen[i].cookie, i);
    EXPECT_EQ(bench.client.seen[i].touched, bytes_ps(profile, total) + to_ps(profile.one_way_latency) +
                                                to_ps(profile.memory_write_latency));
  }
}

// Transfers of lengths without data, alternating with others: the same times, but no callback and no event.
TEST(DmaEngineTest, a_length_without_bytes_has_the_times_of_a_transfer) {
  const PcieProfile profile;
  Bench with_bytes(profile), lengths(profile);
  std::size_t settled = 0;
  for (std::uint32_t i = 0; i < 200; ++i) {
    const DmaPiece piece(1 + i * 37 % 4096, i * 64);
    with_bytes.dma.read(piece, with_bytes.client, i);
    const DmaWriteTimes written = with_bytes.dma.write(piece, with_bytes.client, 1000 + i);
    Trail trail;
    const auto read = lengths.dma.read_length(piece, trail);
    if (!read) lengths.dma.read(piece, lengths.client, i);
    const DmaWriteTimes as_length = lengths.dma.write_length({&piece, 1});
    EXPECT_EQ(as_length.left_adapter, written.left_adapter);
    EXPECT_EQ(as_length.visible, written.visible);
    with_bytes.engine.run_until(instant_from_ps(std::int64_t{i + 1} * 400'000));
    lengths.engine.run_until(instant_from_ps(std::int64_t{i + 1} * 400'000));
    if (!read) continue;
    with_bytes.engine.run();
    lengths.engine.run_until(with_bytes.engine.now());
    const auto same = std::ranges::find(with_bytes.client.seen, i, &Seen::cookie);
    ASSERT_NE(same, with_bytes.client.seen.end());
    EXPECT_EQ(same->touched, to_ps(read->touch));
    EXPECT_EQ(same->at_adapter, to_ps(read->at_adapter));
    ++settled;
  }
  EXPECT_GT(settled, 100u);
  for (const Seen& seen : lengths.client.seen) EXPECT_LT(seen.cookie, 1000u) << "a write of a length calls nobody";
  EXPECT_EQ(lengths.client.seen.size() + settled, 200u);
}

TEST(DmaEngineTest, bandwidth_of_the_published_table) {
  // facts/timing.md 3.2, without the few percent of link layer packets: 64-byte writes use 64/88 of the lane.
  const PcieProfile profile;
  Bench bench(profile);
  Instant end{};
  for (int i = 0; i < 1000; ++i) end = bench.dma.write(4096, bench.client, 0).left_adapter;
  const double gigabits = 4096.0 * 8 * 1000 / (static_cast<double>(to_ps(end)) * 1e-3);
  EXPECT_NEAR(gigabits, 126.03 * 256 / 280, 0.1);
}

// ---- reference: processes one request at a time -----------------------------------

struct Operation {
  std::int64_t when = 0;
  bool is_write = false;
  std::uint32_t bytes = 0;
};

struct NaiveLane {
  ByteTime rate;
  std::int64_t since = 0, free = 0;
  std::uint64_t bytes = 0;
  std::int64_t pass(std::int64_t earliest, std::uint64_t count) {
    if (earliest > free) {
      since = earliest;
      bytes = 0;
    }
    bytes += count;
    free = since + to_ps(rate.time_for(bytes));
    return free;
  }
};

std::vector<Seen> reference(const PcieProfile& profile, const std::vector<Operation>& operations) {
  const ByteTime rate = pcie_byte_time(profile.generation, profile.lanes);
  NaiveLane up{rate}, down{rate};
  std::vector<std::int64_t> tags(profile.outstanding_reads, 0);
  std::uint64_t requests = 0;
  std::int64_t write_visible = 0, read_touch = 0;
  std::vector<Seen> seen;
  const std::int64_t one_way = to_ps(profile.one_way_latency);

  struct Read {
    std::uint64_t cookie;
    std::uint32_t rest;
    std::int64_t touch = 0, arrival = 0;
  };
  std::vector<Read> queue;
  std::size_t head = 0;
  // Issues requests whose tag is free by `until` (at the tag's time, or when the request becomes the first).
  std::int64_t clock = 0;
  const auto advance = [&](std::int64_t until, bool including) {
    while (head < queue.size()) {
      Read& read = queue[head];
      const std::int64_t at = std::max(clock, tags[requests % tags.size()]);
      if (at > until || (at == until && !including)) return;
      clock = at;
      const std::uint32_t bytes = std::min(read.rest, profile.max_read_request_bytes);
      const std::int64_t out = up.pass(at, profile.read_header_bytes);
      read.touch = std::max({out + one_way + to_ps(profile.memory_read_latency), write_visible, read_touch});
      read_touch = read.touch;
      const std::uint32_t completions = (bytes + profile.max_payload_bytes - 1) / profile.max_payload_bytes;
      read.arrival = down.pass(read.touch, bytes + completions * profile.completion_header_bytes) + one_way;
      tags[requests++ % tags.size()] = read.arrival;
      read.rest -= bytes;
      if (read.rest == 0) {
        seen.push_back({false, read.cookie, read.touch, read.arrival});
        ++head;
      }
    }
  };
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& operation = operations[i];
    advance(operation.when, true);
    clock = std::max(clock, operation.when);
    if (operation.is_write) {
      const std::uint32_t tlps =
          (operation.bytes + profile.max_payload_bytes - 1) / profile.max_payload_bytes;
      const std::int64_t out = up.pass(operation.when, operation.bytes + tlps * profile.write_header_bytes);
      write_visible = out + one_way + to_ps(profile.memory_write_latency);
      seen.push_back({true, i, write_visible, 0});
    } else {
      queue.push_back({i, operation.bytes});
      advance(operation.when, true);
    }
  }
  advance(INT64_MAX, true);
  return seen;
}

struct Script {
  Bench& bench;
  const std::vector<Operation>& operations;
  std::size_t next = 0;
  Timer timer;
  Script(Bench& bench, const std::vector<Operation>& operations)
      : bench(bench),
        operations(operations),
        timer(Timer::of<&Script::on_timer>(bench.engine, ComponentId{1}, EventClass::kStage, this)) {
    timer.schedule_at(instant_from_ps(operations[0].when));
  }
  void on_timer() {
    while (next < operations.size() && operations[next].when == to_ps(bench.engine.now())) {
      if (operations[next].is_write) {
        bench.dma.write(operations[next].bytes, bench.client, next);
      } else {
        bench.dma.read(operations[next].bytes, bench.client, next);
      }
      ++next;
    }
    if (next < operations.size()) timer.schedule_at(instant_from_ps(operations[next].when));
  }
};

TEST(DmaEngineTest, random_traffic_agrees_with_the_naive_reference) {
  Rng rng(1, "test/dma");
  for (int round = 0; round < 200; ++round) {
    PcieProfile profile;
    profile.lanes = 1u << rng.below(5);
    profile.generation = 2 + static_cast<std::uint32_t>(rng.below(4));
    profile.max_payload_bytes = 128u << rng.below(3);
    profile.max_read_request_bytes = 128u << rng.below(4);
    profile.outstanding_reads = 1 + static_cast<std::uint32_t>(rng.below(40));
    profile.one_way_latency = Duration{static_cast<std::int64_t>(rng.below(300'000))};
    profile.memory_read_latency = Duration{static_cast<std::int64_t>(rng.below(200'000))};
    profile.memory_write_latency = Duration{static_cast<std::int64_t>(rng.below(500'000))};
    std::vector<Operation> operations;
    std::int64_t when = 0;
    for (int i = 0; i < 200; ++i) {
      if (!rng.chance(1, 3))
        when += static_cast<std::int64_t>(rng.below(rng.chance(1, 5) ? 2'000'000 : 60'000));
      operations.push_back({when, rng.chance(1, 2), 1 + static_cast<std::uint32_t>(rng.below(4500))});
    }
    Bench bench(profile);
    Script script(bench, operations);
    bench.engine.run();
    auto expected = reference(profile, operations);
    auto seen = bench.client.seen;
    const auto by_cookie = [](const Seen& a, const Seen& b) { return a.cookie < b.cookie; };
    std::sort(expected.begin(), expected.end(), by_cookie);
    std::sort(seen.begin(), seen.end(), by_cookie);
    ASSERT_EQ(seen.size(), expected.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
      ASSERT_EQ(seen[i], expected[i]) << "round " << round << " operation " << i;
    }
  }
}

}  // namespace
}  // namespace verbatim::host
