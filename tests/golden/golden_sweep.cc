// Slow: the whole table a thousand times, in all environments, and with every build of simulator and
// programs.
#include <gmock/gmock.h>

#include <cstdio>
#include <random>

#include "tests/cli/command.h"
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

// Simulator, shim and programs built by another compiler or with other optimisation.
struct Build {
  const char* name;
  const char *c, *cxx, *optimisation;
  friend void PrintTo(const Build& build, std::ostream* out) { *out << build.name; }
};

class OtherBuild : public ::testing::TestWithParam<Build> {};

TEST_P(OtherBuild, gives_the_same_digests) {
  const Build& build = GetParam();
  if (cli::run_command({build.cxx, "--version"}).code != 0) GTEST_SKIP() << "there is no " << build.cxx;
  const std::string folder = std::string(VERBATIM_BINARY_DIR) + "/golden-" + build.name;
  const std::string flags = std::string("=") + build.optimisation;
  const auto configured = cli::run_command(
      {"cmake", "-S", VERBATIM_SOURCE_DIR, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug",
       std::string("-DCMAKE_C_COMPILER=") + build.c, std::string("-DCMAKE_CXX_COMPILER=") + build.cxx,
       "-DCMAKE_CXX_FLAGS_DEBUG" + flags, "-DCMAKE_C_FLAGS_DEBUG" + flags});
  ASSERT_EQ(configured.code, 0) << configured.out << configured.err;
  const auto built = cli::run_command({"cmake", "--build", folder, "--target", "golden", "--parallel", "2"});
  ASSERT_EQ(built.code, 0) << built.out << built.err;
  const std::string programs = folder + "/tests/golden/programs";
  expect_golden({.request = {.program = folder + "/verbatim"}, .programs = programs + "/O2"});
  expect_golden({.request = {.options = {"--call-by-call"}, .program = folder + "/verbatim"},
                 .programs = programs + "/O0"});
}

INSTANTIATE_TEST_SUITE_P(GoldenSweep, OtherBuild,
                         ::testing::Values(Build{"gcc_O2", "gcc", "g++", "-O2"},
                                           Build{"gcc_O0", "gcc", "g++", "-O0"},
                                           Build{"clang_O2", "clang-14", "clang++-14", "-O2"},
                                           Build{"clang_O0", "clang-14", "clang++-14", "-O0"}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace verbatim::golden
