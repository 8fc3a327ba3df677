// Folders and files of a host's own; some are created only on access.
#include "sim/supervisor/trees/virtual_tree.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "sim/supervisor/machine/path_names.h"
#include "tests/support/verbatim_run.h"

namespace fs = std::filesystem;

namespace verbatim::supervisor {
namespace {

std::vector<std::string> names(const VirtualTree& tree, const std::string& folder) {
  std::vector<std::string> all;
  for (const auto& [name, kind] : tree.names(folder)) all.push_back(name);
  return all;
}

TEST(VirtualTree, parts_are_made_once_and_only_for_who_looks_there) {
  VirtualTree tree;
  int made = 0, made_inside = 0;
  tree.add_file("/proc/version", "1");
  tree.add_when_asked({"/proc/7"}, [&](VirtualTree& part) {
    ++made;
    part.add_file("/proc/7/stat", "7");
    part.add_when_asked({"/proc/7/fd"}, [&](VirtualTree& inside) {
      ++made_inside;
      inside.add_link("/proc/7/fd/3", "/tmp");
      inside.mark_complete("/proc/7/fd");
    });
  });
  EXPECT_NE(tree.find("/proc/version"), nullptr);
  EXPECT_EQ(tree.find("/proc/71/stat"), nullptr);
  EXPECT_EQ(made, 0);
  ASSERT_NE(tree.find("/proc/7/stat"), nullptr);
  EXPECT_EQ(*tree.find("/proc/7/stat")->content(), "7");
  EXPECT_EQ(made, 1);
  EXPECT_EQ(made_inside, 0);
  EXPECT_FALSE(tree.is_complete("/proc/7/stat"));
  EXPECT_TRUE(tree.is_complete("/proc/7/fd/4"));
  EXPECT_NE(tree.find("/proc/7/fd/3"), nullptr);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(made_inside, 1);
}

TEST(VirtualTree, folders_name_what_was_not_looked_for) {
  VirtualTree tree;
  tree.add_file("/proc/version", "1");
  tree.add_when_asked({"/proc/7"}, [&](VirtualTree& part) {
    part.add_file("/proc/7/stat", "7");
    part.add_when_asked({"/proc/7/task"}, [&](VirtualTree& inside) { inside.add_file("/proc/7/task/8/stat", "8"); });
  });
  EXPECT_EQ(names(tree, "/proc"), (std::vector<std::string>{"7", "version"}));
  EXPECT_EQ(names(tree, "/proc/7"), (std::vector<std::string>{"stat", "task"}));
  EXPECT_EQ(names(tree, "/proc/7/task/8"), (std::vector<std::string>{"stat"}));
}

TEST(VirtualTreeDeathTest, a_part_lies_where_it_was_said_to_lie) {
  VirtualTree tree;
  tree.add_when_asked({"/proc/7"}, [](VirtualTree& part) { part.add_file("/proc/version", "1"); });
  EXPECT_DEATH(static_cast<void>(tree.find("/proc/7")), "CHECK|check");
}

TEST(CanonicalFolder, links_are_followed_and_what_is_missing_stays) {
  const support::TemporaryFolder folder;
  const std::string root = fs::canonical(folder.path());
  fs::create_directories(root + "/a/b");
  fs::create_directory_symlink(root + "/a", root + "/link");
  EXPECT_EQ(canonical_folder(root + "/link/b"), root + "/a/b");
  EXPECT_EQ(canonical_folder(root + "/link/./b/../b"), root + "/a/b");
  EXPECT_EQ(canonical_folder(root + "/link/missing/x"), root + "/a/missing/x");
  EXPECT_EQ(canonical_folder("/"), "/");
}

}  // namespace
}  // namespace verbatim::supervisor
