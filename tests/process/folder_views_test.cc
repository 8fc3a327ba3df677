// Copies of working folders from the supervisor's side: errors, hard links, and the changes that are kept.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "sim/supervisor/machine/folder_views.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::supervisor {
namespace {

namespace fs = std::filesystem;

class Views : public ::testing::Test {
 protected:
  Views() {
    fs::create_directories(work_ + "/sub");
    write(work_ + "/a", "text");
    fs::create_hard_link(work_ + "/a", work_ + "/sub/second");
  }
  static void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string text(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string copy(const std::string& name) const { return views_.copy_of(work_ + "/" + name); }
  // Asks like the shim before an open for reading.
  std::string opened(const std::string& name) {
    const FolderViews::Prepared prepared = views_.prepare(copy(name), protocol::kViewOpens | protocol::kViewLists);
    EXPECT_EQ(prepared.error, 0) << name;
    return prepared.path;
  }

  const support::TemporaryFolder folder_;
  const std::string work_ = fs::canonical(folder_.path()).string() + "/work";
  FolderViews views_{fs::canonical(folder_.path()).string() + "/copies", {work_}, nullptr};
};

TEST_F(Views, names_of_one_file_are_one_file) {
  EXPECT_EQ(text(opened("a")), "text");
  EXPECT_EQ(text(opened("sub/second")), "text");
  EXPECT_TRUE(fs::equivalent(copy("a"), copy("sub/second")));
}

TEST_F(Views, a_second_name_is_not_linked_to_a_file_that_took_the_place_of_the_first) {
  opened("a");
  fs::remove(copy("a"));
  write(copy("a"), "another");
  struct stat status;
  ASSERT_EQ(lstat(copy("a").c_str(), &status), 0);
  views_.note_made(status.st_dev, status.st_ino);
  EXPECT_EQ(text(opened("sub/second")), "text");
  EXPECT_EQ(text(opened("a")), "another");
}

TEST_F(Views, keep_only_what_has_changed) {
  opened("a");
  opened("sub/second");
  EXPECT_TRUE(views_.drop_unchanged().empty());
  EXPECT_TRUE(fs::is_empty(views_.copy_of(work_)));
}

TEST_F(Views, keep_both_names_of_a_file_that_has_changed) {
  opened("sub/second");
  opened("a");
  write(copy("a"), "longer than before");
  EXPECT_EQ(views_.drop_unchanged().size(), 1u);
  EXPECT_EQ(text(copy("sub/second")), "longer than before");
}

// Nothing half made is taken for the copy later.
TEST_F(Views, a_folder_that_could_not_be_copied_is_copied_at_the_next_try) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit small{2, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const FolderViews::Prepared failed = views_.prepare(copy("a"), protocol::kViewOpens);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(failed.error, EFBIG);
  EXPECT_EQ(text(opened("a")), "text");
  EXPECT_EQ(text(opened("sub/second")), "text");
}

}  // namespace
}  // namespace verbatim::supervisor
