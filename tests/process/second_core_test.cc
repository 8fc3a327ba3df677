#include "sim/supervisor/scheduling/second_core.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace verbatim::supervisor {
namespace {

// Eight windows of each kind alternately; their times in microseconds are used repeatedly.
bool is_second_quicker(SecondCoreTrial& trial, const std::vector<int>& second, const std::vector<int>& first) {
  trial.begin();
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_TRUE(trial.add(true, std::chrono::microseconds(second[i % second.size()])));
    EXPECT_EQ(trial.add(false, std::chrono::microseconds(first[i % first.size()])), i < 7);
  }
  return trial.is_second_quicker();
}

TEST(SecondCoreTrial, wants_a_quarter_for_another_processor) {
  SecondCoreTrial trial;
  EXPECT_TRUE(is_second_quicker(trial, {740}, {1000}));
  EXPECT_FALSE(is_second_quicker(trial, {760}, {1000}));
  EXPECT_FALSE(is_second_quicker(trial, {2000}, {1000}));
  EXPECT_TRUE(is_second_quicker(trial, {500}, {1000}));
}

TEST(SecondCoreTrial, overlooks_windows_in_which_a_program_computes) {
  SecondCoreTrial trial;
  EXPECT_TRUE(is_second_quicker(trial, {500, 90'000, 500, 500}, {1000}));
  EXPECT_FALSE(is_second_quicker(trial, {1000}, {90'000, 1000, 1000, 1000}));
}

TEST(SlowAnswers, are_too_many_from_eight_of_two_milliseconds_on) {
  SlowAnswers answers;
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(answers.add(std::chrono::microseconds(1999)));
  for (int i = 0; i < 7; ++i) EXPECT_FALSE(answers.add(std::chrono::milliseconds(2)));
  EXPECT_TRUE(answers.add(std::chrono::milliseconds(4)));
  answers.begin();
  EXPECT_FALSE(answers.add(std::chrono::milliseconds(4)));
}

class ControlGroups : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((folder_ / file).parent_path());
    std::ofstream(folder_ / file) << text << "\n";
  }
  bool is_limited(const std::string& groups) const { return is_limited_to_less_than_two(groups, folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

 private:
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("verbatim-groups-" + std::to_string(getpid()));
};

TEST_F(ControlGroups, of_version_2_and_those_above_limit_processors) {
  EXPECT_FALSE(is_limited("0::/a/b\n")) << "there is no file";
  write("a/b/cpu.max", "max 100000");
  EXPECT_FALSE(is_limited("0::/a/b\n"));
  write("a/b/cpu.max", "200000 100000");
  EXPECT_FALSE(is_limited("0::/a/b\n"));
  write("a/cpu.max", "150000 100000");
  EXPECT_TRUE(is_limited("0::/a/b\n"));
  EXPECT_FALSE(is_limited("0::/\n"));
  write("cpu.max", "50000 100000");
  EXPECT_TRUE(is_limited("0::/\n")) << "a container's own";
}

TEST_F(ControlGroups, of_version_1_limit_processors) {
  write("cpu/a/cpu.cfs_quota_us", "-1");
  write("cpu/a/cpu.cfs_period_us", "100000");
  EXPECT_FALSE(is_limited("4:cpuset:/a\n3:cpu,cpuacct:/a\n"));
  write("cpu/a/cpu.cfs_quota_us", "100000");
  EXPECT_TRUE(is_limited("4:cpuset:/a\n3:cpu,cpuacct:/a\n"));
  EXPECT_FALSE(is_limited("4:cpuset:/a\n3:cpuacct:/a\n"));
}

}  // namespace
}  // namespace verbatim::supervisor
