// The whole table: every program of perftest in every variant, on both topologies. Prints each run's line.
#include <gtest/gtest.h>

#include <iostream>

#include "tests/perftest/variants.h"

namespace verbatim::perftest {
namespace {

class WholeTable : public ::testing::TestWithParam<std::tuple<std::string, std::pair<Program, Variant>>> {};

TEST_P(WholeTable, ends_well_with_possible_figures) {
  const auto& [topology, row] = GetParam();
  const auto& [program, variant] = row;
  const support::RunReport report = run(program, variant, topology);
  expect_plausible(program, variant, report);
  std::cout << topology << ": " << program.name << " " << variant.arguments << "\n";
  const std::string& output = report.output("client");
  const std::size_t table = output.find(" #bytes");
  if (table != std::string::npos) std::cout << output.substr(table);
}

std::vector<std::pair<Program, Variant>> rows() {
  std::vector<std::pair<Program, Variant>> all;
  for (const Program& program : programs()) {
    for (const Variant& variant : variants_of(program)) all.emplace_back(program, variant);
    if (program.name == "ib_write_bw" || program.name == "ib_send_lat")
      all.emplace_back(program, for_a_second());
  }
  return all;
}

std::string name_of(const ::testing::TestParamInfo<WholeTable::ParamType>& info) {
  const auto& [topology, row] = info.param;
  return topology + "_" + row.first.name + "_" + row.second.name;
}

INSTANTIATE_TEST_SUITE_P(Rows, WholeTable,
                         ::testing::Combine(::testing::Values("two_hosts", "two_hosts_direct"),
                                            ::testing::ValuesIn(rows())),
                         name_of);

}  // namespace
}  // namespace verbatim::perftest
