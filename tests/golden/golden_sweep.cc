// Slow: the whole table a thousand times, in all environments, and with every build of simulator and
// programs.
#include <gmock/gmock.h>

#include <cstdio>
#include <random>

#include "tests/golden/other_build.h"
#include "tests/golden/surroundings.h"

namespace verbatim::golden {
namespace {

using ::testing::IsEmpty;

const Table& table() {
  static const Table kTable = read_table(table_path());
  return kTable;
}

void expect_golden(const Setting& setting) {
  const Comparison result = compare(table(), setting);
  std::printf("%s\n", result.summary().c_str());
  EXPECT_GE(result.compared, table().least_compared);
  EXPECT_THAT(result.differing, IsEmpty());
}

TEST(GoldenSweep, a_thousand_runs) {
  constexpr std::size_t kRuns = 1000;
  std::mt19937 random(1000);
  std::size_t runs = 0;
  while (runs < kRuns) {
    Setting setting;
    auto& options = setting.request.options;
    if (random() % 2 == 0)
      options.insert(options.end(), {"--poke-period", std::to_string(1 + random() % 10'000)});
    if (random() % 3 == 0) options.push_back("--call-by-call");
    if (random() % 3 == 0) setting.programs = plain_programs();
    if (random() % 4 == 0) setting.request.wrapper = on_one_processor();
    if (random() % 2 == 0) setting.request.working_directory = "/";
    for (unsigned n = random() % 20; n > 0; --n) {
      setting.request.environment["VARIABLE_" + std::to_string(n)] = std::string(random() % 1000, 'x');
    }
    const Comparison result = compare(table(), setting);
    runs += result.compared;
    EXPECT_THAT(result.differing, IsEmpty()) << "after " << runs << " runs";
    if (HasFailure() || result.compared == 0) return;
  }
  std::printf("golden: %zu runs\n", runs);
}

TEST(GoldenSweep, for_a_user_without_privileges) {
  const Unprivileged user;
  if (!user.reason().empty()) GTEST_SKIP() << user.reason();
  expect_golden(user.setting());
}

TEST(GoldenSweep, in_a_container) {
  std::string reason;
  const std::vector<std::string> wrapper = in_namespaces(&reason);
  if (wrapper.empty()) GTEST_SKIP() << reason;
  expect_golden({.request = {.wrapper = wrapper}});
}

TEST(GoldenSweep, where_a_facility_is_missing) {
  std::string reason;
  const std::vector<std::string> names = facilities(&reason);
  if (names.empty()) GTEST_SKIP() << reason;
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    expect_golden({.request = {.options = {"--assume-missing=" + name}}});
    expect_golden({.request = {.options = {"--assume-missing=" + name, "--call-by-call"}}});
  }
}

class OtherBuilds : public ::testing::TestWithParam<OtherBuild> {};

TEST_P(OtherBuilds, give_the_same_digests) {
  const OtherBuild& other = GetParam();
  if (!has_compiler(other)) GTEST_SKIP() << "there is no " << other.cxx;
  ASSERT_EQ(other.build(), "");
  expect_golden({.request = {.program = other.program()}, .programs = other.programs("O2")});
  expect_golden({.request = {.options = {"--call-by-call"}, .program = other.program()},
                 .programs = other.programs("O0")});
}

// clang++ with -O0 is tested by other_build_test in every run of tools/test.
INSTANTIATE_TEST_SUITE_P(GoldenSweep, OtherBuilds,
                         ::testing::Values(OtherBuild{"gcc_O2", "gcc", "g++", "-O2"},
                                           OtherBuild{"gcc_O0", "gcc", "g++", "-O0"},
                                           OtherBuild{"clang_O2", "clang-14", "clang++-14", "-O2"}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace verbatim::golden
