// The rows of tools/reproduce are well formed, and the quick ones are within their bounds.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cli/command.h"
#include "tests/published/line.h"
#include "tests/published/published.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::reproduce {
namespace {

namespace fs = std::filesystem;

const std::string kExpected = std::string(VERBATIM_SOURCE_DIR) + "/tests/reproduce/expected";

cli::Finished reproduce(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), REPRODUCE_PROGRAM);
  return cli::run_command(arguments);
}

std::vector<std::string> targets_with_a_file() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kExpected)) names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

class Rows : public ::testing::TestWithParam<std::string> {};

TEST_P(Rows, have_a_source_and_are_no_bar_where_it_is_uncertain) {
  std::string error;
  const std::vector<published::Published> rows = published::read_published(kExpected, GetParam(), error);
  ASSERT_FALSE(rows.empty()) << error;
  for (const published::Published& row : rows) {
    EXPECT_FALSE(row.source.empty()) << row.name;
    EXPECT_NE(row.bound.kind, published::Bound::Kind::kNone) << row.name << ": an expectation without a bound is none";
    const bool is_certain = row.certainty == "found" || row.certainty == "computed";
    EXPECT_TRUE(is_certain || !row.is_bar) << row.name << " is a bar, with certainty " << row.certainty;
    EXPECT_TRUE(published::is_within(row, row.value)) << row.name << ": the expected value is out of its own bound";
  }
}

TEST_P(Rows, belong_to_a_target_of_the_tool) {
  EXPECT_NE(reproduce({"--help"}).out.find("\n  " + GetParam() + ": "), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Reproduce, Rows, ::testing::ValuesIn(targets_with_a_file()),
                         [](const auto& info) { return info.param; });

// Quick targets only; tools/reproduce runs all.
TEST(Reproduce, quick_targets_are_within_their_bounds) {
  for (const std::string target : {"dcqcn_incast", "infiniband"}) {
    const cli::Finished finished = reproduce({"--short", target});
    EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
    EXPECT_NE(finished.out.find(target + "."), std::string::npos);
  }
}

TEST(Reproduce, a_value_that_is_no_bar_is_reported_and_fails_nothing) {
  const support::TemporaryFolder folder;
  const auto write = [&](const std::string& bar) {
    std::ofstream(folder.path() + "/infiniband.json")
        << R"({"groups": [{"name": "parking_lot", "unit": "ratio", "bound_percent": 5, "certainty": "memory", )"
        << R"("source": "nobody", "bar": )" << bar << R"(, "short_form": ["*"], "values": {"near_to_far": "20"}}]})";
  };
  write("false");
  cli::Finished finished = reproduce({"--short", "infiniband", "--published", folder.path()});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_NE(finished.out.find("off  (not a bar)  memory  nobody\n"), std::string::npos) << finished.out;
  EXPECT_NE(finished.err.find("1 values, 0 off, and 1 that are no bar"), std::string::npos) << finished.err;
  write("true");
  finished = reproduce({"--short", "infiniband", "--published", folder.path()});
  EXPECT_EQ(finished.code, 1) << finished.err;
}

TEST(Reproduce, an_unknown_target_exits_2) {
  const cli::Finished finished = reproduce({"incats"});
  EXPECT_EQ(finished.code, 2);
  EXPECT_NE(finished.err.find("there is no target \"incats\""), std::string::npos) << finished.err;
}

}  // namespace
}  // namespace verbatim::reproduce
