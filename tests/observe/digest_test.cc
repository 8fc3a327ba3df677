// The canaries: any error of a run must change the digest. Each test that fails shows an error that the
// digest misses.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/observe/digest_sink.h"
#include "sim/observe/wide_hash.h"

namespace verbatim::observe {
namespace {

struct Fact {
  TraceRecord record;
  std::string bytes;
};

// As the tracer hands them on: each with its number among those of its component.
std::string digest_of(const std::vector<Fact>& facts) {
  DigestSink sink;
  std::map<std::uint32_t, std::uint64_t> numbers;
  for (const Fact& fact : facts) {
    TraceRecord record = fact.record;
    record.number = numbers[record.component]++;
    sink.on_record(record, std::as_bytes(std::span(fact.bytes)));
  }
  return sink.hex();
}

std::vector<Fact> some_run() {
  std::vector<Fact> facts;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const auto time = static_cast<std::int64_t>(1'000'000 + i / 2 * 320);  // every instant has two records
    facts.push_back(
        {{time, static_cast<std::uint32_t>(i % 3), TraceEvent::kPacketTransmitted, {4, 17, i, 4122}}, ""});
  }
  facts.push_back({{2'000'000, 1, TraceEvent::kDmaWrite, {1, 0x1000, 4096, 0}}, std::string(4096, 'x')});
  facts.push_back({{3'000'000, 2, TraceEvent::kProgramOutput, {7, 1, 6, 0}}, "line1\n"});
  facts.push_back({{3'000'000, 2, TraceEvent::kProgramOutput, {7, 1, 6, 0}}, "line2\n"});
  return facts;
}

TEST(Digest, same_records_give_the_same_32_hex_digits) {
  const std::string digest = digest_of(some_run());
  EXPECT_EQ(digest, digest_of(some_run()));
  EXPECT_EQ(digest.size(), 32u);
  EXPECT_EQ(digest.find_first_not_of("0123456789abcdef"), std::string::npos);
}

// Pieces of any length, shorter than a block or spanning many.
TEST(Digest, is_the_same_with_wider_vectors) {
  const WideHash wide = avx2_hash();
  if (wide == nullptr) GTEST_SKIP() << "no AVX2";
  std::vector<std::uint8_t> bytes(300'000);
  std::uint32_t random = 1;
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>((random = random * 1664525 + 1013904223) >> 24);
  for (std::size_t at = 0; at < bytes.size();) {
    random = random * 1664525 + 1013904223;
    const std::size_t length = std::min<std::size_t>(bytes.size() - at, (random >> 8) % (random % 3 == 0 ? 5000 : 70));
    const XXH128_hash_t narrow_hash = XXH3_128bits(&bytes[at], length), wide_hash = wide(&bytes[at], length);
    ASSERT_EQ(narrow_hash.high64, wide_hash.high64) << at;
    ASSERT_EQ(narrow_hash.low64, wide_hash.low64) << at;
    at += length;
  }
}

// A contract with everyone who wrote a digest down: changing how it is computed is a change of this line.
TEST(Digest, value_is_pinned) {
  EXPECT_EQ(digest_of({}), "00000000000000000000000000000000");
  EXPECT_EQ(digest_of(some_run()), "8105fea2d37b32e7fde6a82d946e671f");
}

TEST(Digest, one_flipped_payload_bit_changes_it) {
  for (const std::size_t position : {0u, 1u, 63u, 64u, 2048u, 4095u}) {
    auto facts = some_run();
    facts[100].bytes[position] ^= 1;
    EXPECT_NE(digest_of(facts), digest_of(some_run())) << position;
  }
}

TEST(Digest, one_picosecond_changes_it) {
  for (std::size_t i = 0; i < some_run().size(); ++i) {
    auto facts = some_run();
    ++facts[i].record.time_ps;
    EXPECT_NE(digest_of(facts), digest_of(some_run())) << i;
  }
}

// Within one component it is a fact which was first.
TEST(Digest, two_swapped_records_of_a_component_change_it) {
  for (std::size_t i = 0; i + 3 < 100; ++i) {
    auto facts = some_run();
    facts[i + 3].record.time_ps = facts[i].record.time_ps;
    ASSERT_EQ(facts[i].record.component, facts[i + 3].record.component);
    const std::string before = digest_of(facts);
    std::swap(facts[i], facts[i + 3]);
    EXPECT_NE(digest_of(facts), before) << i;
  }
}

// Among different components the order at one instant has no meaning in the simulated world.
TEST(Digest, the_order_of_components_at_one_instant_does_not_change_it) {
  for (std::size_t i = 0; i < 100; i += 2) {
    auto facts = some_run();
    ASSERT_EQ(facts[i].record.time_ps, facts[i + 1].record.time_ps);
    ASSERT_NE(facts[i].record.component, facts[i + 1].record.component);
    std::swap(facts[i], facts[i + 1]);
    EXPECT_EQ(digest_of(facts), digest_of(some_run())) << i;
  }
  auto sorted = some_run();
  std::ranges::stable_sort(sorted, {}, [](const Fact& fact) { return fact.record.component; });
  EXPECT_EQ(digest_of(sorted), digest_of(some_run()));
}

TEST(Digest, a_record_that_moves_to_another_component_changes_it) {
  for (std::size_t i = 0; i < some_run().size(); ++i) {
    auto facts = some_run();
    facts[i].record.component = (facts[i].record.component + 1) % 3;
    EXPECT_NE(digest_of(facts), digest_of(some_run())) << i;
  }
}

// Sums lose what functions that are nearly linear would give them: the same change in two records, one up and one down.
TEST(Digest, changes_of_two_records_do_not_cancel_out) {
  const std::string plain = digest_of(some_run());
  std::set<std::string> seen{plain};
  for (std::size_t i = 0; i < 100; ++i) {
    for (std::size_t k = i + 1; k < 100; ++k) {
      auto facts = some_run();
      ++facts[i].record.time_ps;
      --facts[k].record.time_ps;
      EXPECT_TRUE(seen.insert(digest_of(facts)).second) << i << " " << k;
      facts = some_run();
      std::swap(facts[i].record.values[2], facts[k].record.values[2]);
      EXPECT_TRUE(seen.insert(digest_of(facts)).second) << i << " " << k;
    }
  }
}

TEST(Digest, a_reordered_output_line_changes_it) {
  auto facts = some_run();
  std::swap(facts[101].bytes, facts[102].bytes);
  EXPECT_NE(digest_of(facts), digest_of(some_run()));
}

TEST(Digest, every_field_counts) {
  const auto changed = [](auto change) {
    auto facts = some_run();
    change(facts[5].record);
    return digest_of(facts);
  };
  const std::string plain = digest_of(some_run());
  EXPECT_NE(plain, changed([](TraceRecord& r) { ++r.component; }));
  EXPECT_NE(plain, changed([](TraceRecord& r) { r.event = TraceEvent::kPacketReceived; }));
  for (int i = 0; i < 4; ++i) {
    EXPECT_NE(plain, changed([i](TraceRecord& r) { ++r.values[i]; })) << i;
  }
}

TEST(Digest, a_missing_and_a_doubled_record_change_it) {
  auto facts = some_run();
  facts.pop_back();
  EXPECT_NE(digest_of(facts), digest_of(some_run()));
  facts = some_run();
  facts.push_back(facts.back());
  EXPECT_NE(digest_of(facts), digest_of(some_run()));
}

TEST(Digest, bytes_cannot_be_taken_for_records) {
  const TraceRecord inner{5, 6, TraceEvent::kCommand, {1, 2, 3, 4}};
  const std::string as_bytes(reinterpret_cast<const char*>(&inner), sizeof inner);
  const TraceRecord outer{4, 6, TraceEvent::kDmaWrite, {1, 2, 48, 0}};
  EXPECT_NE(digest_of({{outer, as_bytes}}), digest_of({{outer, ""}, {inner, ""}}));
  EXPECT_NE(digest_of({{outer, "ab"}, {outer, "c"}}), digest_of({{outer, "a"}, {outer, "bc"}}));
}

TEST(Digest, asking_does_not_disturb) {
  DigestSink asked, silent;
  for (const Fact& fact : some_run()) {
    asked.on_record(fact.record, std::as_bytes(std::span(fact.bytes)));
    asked.hex();
    silent.on_record(fact.record, std::as_bytes(std::span(fact.bytes)));
  }
  EXPECT_EQ(asked.hex(), silent.hex());
}

}  // namespace
}  // namespace verbatim::observe
