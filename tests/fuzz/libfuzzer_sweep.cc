// Slow: runs every target's libFuzzer program for two minutes from its corpus, with both sanitizers.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;

// All targets of CMakeLists.txt.
std::vector<std::string> targets() {
  std::istringstream names(FUZZ_TARGETS);
  std::vector<std::string> all;
  for (std::string name; names >> name;) all.push_back(name);
  return all;
}

class LibFuzzer : public ::testing::TestWithParam<std::string> {};

TEST_P(LibFuzzer, finds_nothing_in_two_minutes) {
  const std::string& name = GetParam();
  if (cli::run_command({"clang++-14", "--version"}).code != 0) GTEST_SKIP() << "there is no clang++-14";
  const std::string build = VERBATIM_BINARY_DIR "/fuzzers";
  const auto configured = cli::run_command(
      {"cmake", "-S", VERBATIM_SOURCE_DIR, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
       "-DCMAKE_C_COMPILER=clang-14", "-DCMAKE_CXX_COMPILER=clang++-14", "-DVERBATIM_FUZZERS=ON"});
  ASSERT_EQ(configured.code, 0) << configured.out << configured.err;
  const auto built = cli::run_command({"cmake", "--build", build, "--target", name, "--parallel", "2"});
  ASSERT_EQ(built.code, 0) << built.out << built.err;

  // The folder is kept for found inputs. All users may access it, because targets change their user.
  const std::string folder = build + "/found/" + name;
  fs::remove_all(folder);
  fs::create_directories(folder + "/inputs");
  fs::copy(std::string(VERBATIM_SOURCE_DIR) + "/tests/fuzz/corpus/" + name, folder + "/corpus",
           fs::copy_options::recursive);
  ASSERT_EQ(cli::run_command({"chmod", "-R", "a+rwX", folder}).code, 0);
  std::vector<std::string> words = {build + "/tests/fuzz/" + name,
                                    "-max_total_time=120",
                                    "-timeout=60",
                                    "-rss_limit_mb=4096",
                                    "-print_final_stats=1",
                                    "-print_funcs=0",
                                    "-artifact_prefix=" + folder + "/"};
  if (name == "fuzz_config")
    words.push_back("-dict=" + std::string(VERBATIM_SOURCE_DIR) + "/tests/fuzz/config.dict");
  words.insert(words.end(), {folder + "/inputs", folder + "/corpus"});
  const auto run = cli::run_command(words);
  // Exit code 77 is libFuzzer's for a found input, too.
  if (run.code == 77 && run.err.find("SUMMARY: ") == std::string::npos) GTEST_SKIP() << run.err;
  const std::string end = run.err.substr(run.err.size() - std::min<std::size_t>(run.err.size(), 6000));
  EXPECT_EQ(run.code, 0) << "the input lies in " << folder << "\n" << end;
  EXPECT_NE(end.find("stat::number_of_executed_units"), std::string::npos) << end;
  if (const std::size_t done = end.rfind("Done "); done != std::string::npos)
    std::printf("%s: %s\n", name.c_str(), end.substr(done).c_str());
}

INSTANTIATE_TEST_SUITE_P(FuzzSweep, LibFuzzer, ::testing::ValuesIn(targets()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace verbatim
