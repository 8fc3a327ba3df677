// Files that are accepted as input, and limits for reading them.
#include "sim/core/input_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace verbatim {
namespace {

class InputFiles : public ::testing::Test {
 protected:
  void SetUp() override { path_ = ::testing::TempDir() + "/input_file." + std::to_string(::getpid()); }
  void TearDown() override { std::filesystem::remove(path_); }
  void write(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }
  std::vector<std::string> lines(std::string* problem) {
    InputFile file(path_);
    std::vector<std::string> all;
    while (const auto line = file.line()) all.emplace_back(*line);
    *problem = file.problem();
    return all;
  }

  std::string path_, problem_;
};

TEST_F(InputFiles, are_read_whole_or_by_lines) {
  const std::string lines_of_20 = [] {
    std::string text;
    for (int i = 0; i < 5000; ++i) text += "line " + std::to_string(i) + "\n";
    return text;
  }();
  write(lines_of_20 + "\nlast");
  InputFile file(path_);
  EXPECT_EQ(file.peek(6), "line 0");
  EXPECT_EQ(file.rest(), lines_of_20 + "\nlast");
  const auto all = lines(&problem_);
  EXPECT_EQ(problem_, "");
  ASSERT_EQ(all.size(), 5002u);
  EXPECT_EQ(all[4999], "line 4999");
  EXPECT_EQ(all[5000], "");
  EXPECT_EQ(all[5001], "last");
  write("");
  EXPECT_TRUE(lines(&problem_).empty());
  EXPECT_EQ(InputFile(path_).peek(5), "");
}

TEST_F(InputFiles, have_limits) {
  write(std::string(2000, 'x'));
  EXPECT_TRUE(InputFile(path_).rest(2000));
  InputFile large(path_);
  EXPECT_FALSE(large.rest(1024));
  EXPECT_EQ(large.problem(), "is larger than 1 KiB");
  std::filesystem::resize_file(path_, std::uintmax_t{1} << 40);  // sparse
  InputFile huge(path_);
  EXPECT_FALSE(huge.rest());
  EXPECT_EQ(huge.problem(), "is larger than 64 MiB");
  EXPECT_TRUE(lines(&problem_).empty());
  EXPECT_EQ(problem_, "has a line longer than 1 MiB");
  write(std::string(InputFile::kMostLine, 'x') + "\n");
  EXPECT_EQ(lines(&problem_).size(), 1u);
  EXPECT_EQ(problem_, "");
}

TEST_F(InputFiles, are_no_devices_or_folders) {
  EXPECT_EQ(InputFile("/dev/zero").problem(), "is not a regular file");
  EXPECT_EQ(InputFile("/dev/zero", InputFile::Accepts::kRegularFilesAndPipes).problem(), "is a device or a socket, not a file");
  EXPECT_EQ(InputFile("/").problem(), "is a folder, not a file");
  EXPECT_TRUE(InputFile("/").is_folder());
  EXPECT_TRUE(InputFile(path_).is_missing());
}

TEST_F(InputFiles, may_be_a_pipe_where_that_is_accepted) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(InputFile(path_).problem(), "is not a regular file");
  std::thread writer([this] { write("one\ntwo\n"); });
  {
    InputFile file(path_, InputFile::Accepts::kRegularFilesAndPipes);
    EXPECT_EQ(file.peek(2), "on");
    EXPECT_EQ(file.line(), "one");
    EXPECT_EQ(file.rest(), "two\n");
  }
  writer.join();
}

}  // namespace
}  // namespace verbatim
