// Caches of contexts and translations: what a miss costs, how many go on at a time, and that order and data
// stay what they are however small a cache is.
#include <gtest/gtest.h>

#include "sim/core/rng.h"
#include "tests/hca/cache_times.h"
#include "tests/hca/many_pairs.h"

namespace verbatim::test {
namespace {

PairOptions options_with(std::uint32_t contexts, std::uint32_t translations, std::uint32_t slots = 4) {
  PairOptions options;
  options.world.profile.context_cache = {contexts, 256, slots};
  options.world.profile.translation_cache = {translations, 64, slots};
  return options;
}

// Times at which WRITEs are decoded, one posted on each queue pair in turn, with time for it to complete.
std::vector<std::int64_t> way_to_decode(const PairOptions& options, const std::vector<std::uint32_t>& turns) {
  ManyPairs pairs(options, 4);
  std::vector<std::int64_t> times;
  for (const std::uint32_t i : turns) {
    const std::int64_t posted = pairs.world.now_ps();
    pairs.a.program.post_send(pairs.of_a[i], pairs.write(i, 8));
    pairs.world.run_for(Duration{20'000'000});
    times.push_back(pairs.world.trace.all(TraceEvent::kWqeFetched).back().time_ps - posted);
  }
  return times;
}

TEST(AdapterCache, a_miss_costs_one_read_of_the_context_before_the_request_is_fetched) {
  // The clock has a period of 2.5 ns, so whole numbers of it are compared.
  const auto without = way_to_decode(options_with(0, 0), {0, 0, 1, 0});
  const auto with = way_to_decode(options_with(64, 0), {0, 0, 1, 0});
  const std::int64_t miss = miss_time(256), period = 2'500;
  EXPECT_EQ((with[0] - without[0]) / period, miss / period) << "the first use of a context";
  EXPECT_EQ(with[1], without[1]) << "it is there from then on";
  EXPECT_EQ((with[2] - without[2]) / period, miss / period);
  EXPECT_EQ(with[3], without[3]);
}

TEST(AdapterCache, the_least_recently_used_entry_makes_room) {
  // Room for two: 0 1 0 2 throws out 1, and 0 is still there.
  const auto times = way_to_decode(options_with(2, 0), {0, 1, 0, 2, 0, 1});
  const auto hit = way_to_decode(options_with(0, 0), {0}).front();
  const auto is_hit = [&](std::size_t i) { return times[i] == hit; };
  EXPECT_FALSE(is_hit(0));
  EXPECT_FALSE(is_hit(1));
  EXPECT_TRUE(is_hit(2));
  EXPECT_FALSE(is_hit(3));
  EXPECT_TRUE(is_hit(4));
  EXPECT_FALSE(is_hit(5));
}

TEST(AdapterCache, so_many_misses_go_on_at_a_time_as_there_are_slots) {
  // Four queue pairs at once, all missing: with one slot the second waits for all of the first's read.
  const auto spread = [](std::uint32_t slots) {
    ManyPairs pairs(options_with(64, 0, slots), 4);
    for (std::uint32_t i = 0; i < 4; ++i) pairs.a.program.post_send(pairs.of_a[i], pairs.write(i, 8));
    pairs.world.run();
    const auto decoded = pairs.world.trace.all(TraceEvent::kWqeFetched);
    EXPECT_EQ(decoded.size(), 4u);
    return decoded.back().time_ps - decoded.front().time_ps;
  };
  const std::int64_t miss = miss_time(256);
  // The first request's fetch waits behind the next context, the last one's for nothing.
  constexpr double kNear = 30'000;
  EXPECT_NEAR(static_cast<double>(spread(1)), static_cast<double>(3 * miss), kNear);
  EXPECT_NEAR(static_cast<double>(spread(2)), static_cast<double>(miss), kNear);
  EXPECT_LT(spread(4), 100'000);
}

TEST(AdapterCache, misses_take_read_tags_of_the_connection) {
  PairOptions options = options_with(64, 0, 4);
  options.world.profile.pcie.outstanding_reads = 1;
  ManyPairs pairs(options, 4);
  for (std::uint32_t i = 0; i < 4; ++i) pairs.a.program.post_send(pairs.of_a[i], pairs.write(i, 8));
  pairs.world.run();
  const auto decoded = pairs.world.trace.all(TraceEvent::kWqeFetched);
  ASSERT_EQ(decoded.size(), 4u);
  EXPECT_GT(decoded.back().time_ps - decoded.front().time_ps,
            3 * miss_time(256) - 30'000);
}

TEST(AdapterCache, the_responder_needs_the_context_too) {
  const auto arrival = [](std::uint32_t entries) {
    ManyPairs pairs(options_with(entries, 0), 1);
    pairs.a.program.post_send(pairs.of_a[0], pairs.write(0, 8));
    pairs.world.run();
    const auto sent = pairs.world.trace.all(TraceEvent::kPacketTransmitted).front().time_ps;
    return pairs.world.trace.all(TraceEvent::kDmaWrite).front().time_ps - sent;
  };
  const std::int64_t miss = miss_time(256);
  EXPECT_NEAR(static_cast<double>(arrival(64) - arrival(0)), static_cast<double>(miss), 1.0);
}

TEST(AdapterCache, a_gather_waits_for_the_translations_of_all_its_pages) {
  const auto gathered = [](std::uint32_t entries, std::uint64_t offset, std::uint32_t length) {
    PairOptions options = options_with(0, entries, 1);
    Pair pair(options);
    SendRequest request{.opcode = WqeOpcode::kRdmaWrite,
                        .sges = {pair.a.sge(offset, length)},
                        .remote_va = Program::kBuffer,
                        .rkey = pair.b.mr.rkey};
    pair.a.program.post_send(pair.a.qp, request);
    pair.world.run();
    return pair.world.trace.all(TraceEvent::kPayloadGathered).front().time_ps;
  };
  const std::int64_t miss = miss_time(64);
  EXPECT_EQ(gathered(16, 0, 64) - gathered(0, 0, 64), miss);
  EXPECT_EQ(gathered(16, 4090, 64) - gathered(0, 4090, 64), 2 * miss) << "two pages, one slot";
}

TEST(AdapterCache, as_many_translations_are_kept_as_there_are_entries) {
  const auto gathers = [](std::uint32_t entries) {
    PairOptions options = options_with(0, entries, 1);
    Pair pair(options);
    return gather_times(pair, {pair.a.sge(0, 64), pair.a.sge(4096, 64), pair.a.sge(0, 64)});
  };
  const auto one = gathers(1), two = gathers(2);
  EXPECT_EQ(one[2], one[1]);
  EXPECT_EQ(two[1], one[1]);
  EXPECT_EQ(two[1] - two[2], miss_time(64));
}

TEST(AdapterCache, empty_pieces_of_a_gather_need_no_translation) {
  const auto gathered = [](std::vector<protocol::Sge> sges) {
    PairOptions options = options_with(0, 16, 1);
    Pair pair(options);
    sges.insert(sges.begin() + 1, pair.a.sge(0, 64));
    SendRequest request{
        .opcode = WqeOpcode::kRdmaWrite, .sges = sges, .remote_va = Program::kBuffer, .rkey = pair.b.mr.rkey};
    pair.a.program.post_send(pair.a.qp, request);
    pair.world.run();
    return pair.world.trace.all(TraceEvent::kPayloadGathered).front().time_ps;
  };
  const auto empty = [](std::uint64_t va) { return protocol::Sge{.va = va, .length = 0, .lkey = 0}; };
  EXPECT_EQ(gathered({empty(0), empty(0)}), gathered({empty(4095), empty(~0ull)}));
}

// Every operation on many queue pairs through caches of very few entries, under loss: the same data,
// completions of each queue pair in order.
TEST(AdapterCache, order_and_data_do_not_depend_on_the_caches) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed, "caches");
    const auto below = [&rng](std::uint64_t n) { return static_cast<std::uint32_t>(rng.next() % n); };
    PairOptions options = options_with(1 + below(6), below(4), 1 + below(3));
    options.world.profile.protection_cache = {below(3), 64, 1 + below(2)};
    options.world.profile.processing_units = below(3);
    options.path.mtu = 1 + below(5);
    options.cqe = 1024;
    constexpr std::uint32_t kPairs = 6, kEach = 12;
    ManyPairs pairs(options, kPairs);
    const bool is_lossy = seed % 2 == 0;
    const auto keep = [&](ib::Packet&) { return !is_lossy || below(30) != 0; };
    pairs.world.to_client.keep = pairs.world.to_server.keep = keep;
    for (std::uint32_t i = 0; i < kPairs; ++i) {
      // Both sides have the same bytes; the check is that no other bytes arrive.
      pairs.a.fill(i * ManyPairs::kArea, 3000, static_cast<std::uint8_t>(i));
      pairs.b.fill(i * ManyPairs::kArea, 3000, static_cast<std::uint8_t>(i));
      for (std::uint32_t k = 0; k < kEach; ++k) {
        pairs.b.program.post_recv(pairs.of_b[i], k, {pairs.b.sge(i * ManyPairs::kArea, 3000)});
      }
    }
    std::vector<std::uint32_t> posted(kPairs);
    for (std::uint32_t n = 0; n < kPairs * kEach; ++n) {
      const std::uint32_t i = n % kPairs;
      constexpr WqeOpcode kOpcodes[] = {WqeOpcode::kSend, WqeOpcode::kRdmaWrite, WqeOpcode::kRdmaRead};
      SendRequest request = pairs.request(i, kOpcodes[below(3)], 3000);
      request.wr_id = posted[i]++;
      pairs.a.program.post_send(pairs.of_a[i], request);
      if (below(4) == 0) pairs.world.run_for(Duration{below(3'000'000)});
    }
    pairs.world.run();
    std::vector<std::uint32_t> completed(kPairs);
    for (const protocol::Cqe& entry : pairs.a.program.drain(pairs.a.send_cq)) {
      ASSERT_EQ(entry.status, 0);
      for (std::uint32_t i = 0; i < kPairs; ++i) {
        if (entry.qpn == pairs.of_a[i].made.number) {
          EXPECT_EQ(entry.wr_id, completed[i]++);
        }
      }
    }
    for (std::uint32_t i = 0; i < kPairs; ++i) {
      EXPECT_EQ(completed[i], kEach);
      EXPECT_TRUE(pairs.b.equals(i * ManyPairs::kArea, 3000, static_cast<std::uint8_t>(i)));
    }
    if (!is_lossy) {
      EXPECT_EQ(pairs.world.trace.count(TraceEvent::kRetransmission), 0u) << "nothing overtakes";
    }
  }
}

}  // namespace
}  // namespace verbatim::test
