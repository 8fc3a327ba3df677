// perftest's programs with their defaults and a few variants, over one switch: they succeed with plausible
// figures. The whole table is table_sweep.
#include <gtest/gtest.h>

#include "tests/perftest/variants.h"

namespace verbatim::perftest {
namespace {

class Table : public ::testing::TestWithParam<std::pair<Program, Variant>> {};

TEST_P(Table, ends_well_with_possible_figures) {
  const auto& [program, variant] = GetParam();
  expect_plausible(program, variant, run(program, variant, "two_hosts"));
}

std::vector<std::pair<Program, Variant>> quick_rows() {
  std::vector<std::pair<Program, Variant>> rows;
  for (const Program& program : programs()) {
    for (const Variant& variant : variants_of(program)) {
      const bool quick = variant.name == "defaults" || variant.name == "one_byte_more_than_a_packet" ||
                         variant.name == "events" || variant.name == "both_ways" ||
                         variant.name == "four_queue_pairs" || variant.name == "lists_of_sixteen" ||
                         variant.name == "server_by_address" || variant.name == "gigabits";
      if (quick) {
        rows.emplace_back(program, variant);
      }
    }
  }
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Quick, Table, ::testing::ValuesIn(quick_rows()), [](const auto& info) {
  return info.param.first.name + "_" + info.param.second.name;
});

TEST(Capacity, of_large_messages_is_payload_over_packet) {
  // 65536 bytes are 16 packets of 4096 + 26 bytes at 80 ps.
  EXPECT_NEAR(capacity_mib_per_second(65536), 4096 / (4122 * 80e-12) / (1 << 20), 1e-6);
  EXPECT_NEAR(capacity_mib_per_second(65536), 11845.7, 0.1);
  EXPECT_NEAR(capacity_mib_per_second(1), 1 / (27 * 80e-12) / (1 << 20), 1e-6);
}

}  // namespace
}  // namespace verbatim::perftest
