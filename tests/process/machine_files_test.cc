// The machine's files as a run sees them: records of answers, runs from a record, files over a root.
#include "sim/supervisor/machine/machine_files.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "sim/supervisor/machine/folder_views.h"
#include "sim/supervisor/machine/host_paths.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::supervisor {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kStored = "/store/" "root";  // where a record has its contents

class Files : public ::testing::Test {
 protected:
  Files() {
    fs::create_directories(base_ + "/a/b");
    std::ofstream(base_ + "/a/file") << "text";
    fs::create_symlink("file", base_ + "/a/link");
    fs::create_symlink("/a/b", base_ + "/a/far");
    fs::create_symlink("loop", base_ + "/a/loop");
  }

  const support::TemporaryFolder folder_;
  const std::string base_ = fs::canonical(folder_.path()).string();
};

TEST_F(Files, are_recorded_as_they_were) {
  RecordedFiles recorded;
  struct stat status;
  std::string target;
  std::vector<std::string> names;
  EXPECT_EQ(recorded.status(base_ + "/a/file", status), 0);
  EXPECT_EQ(status.st_size, 4);
  EXPECT_EQ(status.st_uid, 0u);  // the caller's files belong to root
  EXPECT_EQ(recorded.target(base_ + "/a/link", target), 0);
  EXPECT_EQ(recorded.names(base_ + "/a", names), 0);
  EXPECT_THAT(names, ElementsAre("b", "far", "file", "link", "loop"));
  EXPECT_EQ(recorded.status(base_ + "/none", status), ENOENT);
  EXPECT_EQ(recorded.content(base_ + "/a/file"), base_ + "/a/file");

  FilesOfRecord record(recorded.looks(), base_ + "/store");
  fs::remove_all(base_ + "/a");
  struct stat again;
  EXPECT_EQ(record.status(base_ + "/a/file", again), 0);
  EXPECT_EQ(again.st_ino, status.st_ino);
  EXPECT_EQ(again.st_mtim.tv_nsec, status.st_mtim.tv_nsec);
  EXPECT_EQ(again.st_ctim.tv_nsec, status.st_ctim.tv_nsec);
  EXPECT_EQ(record.target(base_ + "/a/link", target), 0);
  EXPECT_EQ(target, "file");
  EXPECT_EQ(record.content(base_ + "/a/file"), base_ + kStored + base_ + "/a/file");
  EXPECT_EQ(record.name_of(base_ + kStored + base_ + "/a/file"), base_ + "/a/file");
  EXPECT_THAT(record.unknown(), IsEmpty());
}

TEST_F(Files, of_a_record_are_missing_only_if_it_says_so) {
  RecordedFiles recorded;
  struct stat status;
  std::vector<std::string> names;
  recorded.names(base_ + "/a", names);
  recorded.status(base_ + "/none", status);
  recorded.status(base_ + "/a/file", status);
  FilesOfRecord record(recorded.looks(), base_ + "/store");
  EXPECT_EQ(record.status(base_ + "/a/other", status), ENOENT);          // the folder was listed
  EXPECT_EQ(record.status(base_ + "/a/other/below", status), ENOENT);
  EXPECT_EQ(record.status(base_ + "/a/file/below", status), ENOENT);     // below a file
  EXPECT_EQ(record.status(base_ + "/none/below", status), ENOENT);       // below what is missing
  EXPECT_THAT(record.unknown(), IsEmpty());
  EXPECT_EQ(record.status(base_ + "/unseen", status), ENOENT);
  EXPECT_EQ(record.unknown(), base_ + "/unseen");
  record.forget_unknown();
  record.content(base_ + "/a/file");  // was not opened
  EXPECT_EQ(record.unknown(), base_ + "/a/file");
}

TEST_F(Files, follow_links) {
  RecordedFiles files;
  EXPECT_EQ(files.real_path(base_ + "/a/./link"), base_ + "/a/file");
  EXPECT_EQ(files.real_path(base_ + "/a/b/../link"), base_ + "/a/file");
  EXPECT_EQ(files.real_path(base_ + "/a/loop"), base_ + "/a/loop");
  EXPECT_EQ(files.real_path(base_ + "/a/far/x"), base_ + "/a/far/x");  // its target is missing
  EXPECT_EQ(files.real_path("/"), "/");
}

TEST_F(Files, of_the_machine_are_shown_over_a_root) {
  fs::create_directories(base_ + "/base/etc");
  std::ofstream(base_ + "/base/etc/release") << "root";
  RecordedFiles seen;
  std::vector<std::string> names;
  seen.names(base_ + "/base", names);
  names.clear();
  seen.names(base_ + "/base/etc", names);
  MachineLooks looks;
  struct stat status;
  seen.status(base_ + "/base", status);
  seen.content(base_ + "/base/etc/release");
  for (const auto& [path, look] : seen.looks()) looks[path.substr((base_ + "/base").size())] = look;
  FilesOfRecord root(looks, base_ + "/store");
  FilesOverRoot files(root, real_files(), {base_ + "/a"});
  EXPECT_EQ(files.status("/etc/release", status), 0);
  EXPECT_EQ(files.status(base_ + "/a/file", status), 0);
  EXPECT_EQ(files.status(base_, status), 0);  // a folder above
  EXPECT_TRUE(S_ISDIR(status.st_mode));
  EXPECT_EQ(files.status(base_ + "/base", status), ENOENT);  // not shown
  names.clear();
  EXPECT_EQ(files.names("", names), 0);
  EXPECT_THAT(names, ElementsAre("etc", base_.substr(1, base_.find('/', 1) - 1)));
  names.clear();
  EXPECT_EQ(files.names(base_, names), 0);
  EXPECT_THAT(names, ElementsAre("a"));
  EXPECT_THAT(files.unknown(), IsEmpty());
}

TEST_F(Files, are_seen_through_a_view_of_the_root) {
  RecordedFiles recorded;
  const auto views = std::make_shared<FolderViews>(base_ + "/views", std::vector<std::string>(), nullptr, &recorded);
  HostPaths paths;
  paths.add("/own", base_ + "/own");
  paths.set_views(views);
  const HostPaths::Followed followed = paths.follow(base_ + "/a/b/../link", true, protocol::kViewOpens);
  EXPECT_EQ(followed.seen, base_ + "/a/file");
  EXPECT_EQ(followed.native, base_ + "/views/0" + base_ + "/a/file");
  std::string text;
  std::ifstream(followed.native) >> text;
  EXPECT_EQ(text, "text");
  EXPECT_EQ(paths.seen(followed.native), base_ + "/a/file");
  EXPECT_EQ(paths.seen(base_ + "/views/0"), "/");
  EXPECT_EQ(paths.follow("/own/x", true, 0).native, base_ + "/own/x");
  EXPECT_EQ(paths.follow("/proc/self/exe", true, 0).native, "/proc/self/exe");
  EXPECT_EQ(paths.follow(base_ + "/a/loop", true, 0).error, ELOOP);
  // Only names that paths led to are in the copy, and in the record.
  EXPECT_FALSE(fs::exists(base_ + "/views/0" + base_ + "/a/far"));
  EXPECT_FALSE(recorded.looks().contains(base_ + "/a/far"));
}

// A name that was removed from the copy stays removed, though its folder is not listed yet.
TEST_F(Files, removed_in_a_view_stay_removed) {
  FolderViews views(base_ + "/views", {base_ + "/a"}, nullptr);
  const std::string copy = views.copy_of(base_ + "/a");
  EXPECT_EQ(views.prepare(copy + "/file", protocol::kViewLists | protocol::kViewNames).error, 0);
  ASSERT_TRUE(fs::remove(copy + "/file"));
  EXPECT_EQ(views.prepare(copy + "/file", 0).error, 0);
  EXPECT_FALSE(fs::exists(copy + "/file"));
  struct stat before, after;
  ASSERT_EQ(lstat(copy.c_str(), &before), 0);
  EXPECT_EQ(views.prepare(copy, protocol::kViewLists).error, 0);
  EXPECT_FALSE(fs::exists(copy + "/file"));
  EXPECT_TRUE(fs::exists(copy + "/b"));
  ASSERT_EQ(lstat(copy.c_str(), &after), 0);
  EXPECT_EQ(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);  // new entries are no change
}

}  // namespace
}  // namespace verbatim::supervisor
