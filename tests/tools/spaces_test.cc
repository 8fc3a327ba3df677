// tools/root and tools/anywhere refuse wrong use before they make anything. What they make needs root, a mirror and minutes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/cli/command.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::cli {
namespace {

Finished root_script(std::vector<std::string> words) {
  words.insert(words.begin(), VERBATIM_SOURCE_DIR "/tools/root");
  return run_command(std::move(words));
}

TEST(Root, refuses_wrong_use) {
  support::TemporaryFolder folder;
  std::ofstream(folder.path() + "/file") << "text";
  const auto failure = [&](std::vector<std::string> words) {
    const Finished finished = root_script(std::move(words));
    EXPECT_EQ(finished.code, 2) << finished.out;
    return finished.err;
  };
  EXPECT_EQ(failure({}), "root: name a release and a new folder: tools/root bookworm FOLDER\n");
  EXPECT_EQ(failure({"bookworm"}), "root: name a release and a new folder: tools/root bookworm FOLDER\n");
  EXPECT_EQ(failure({"--none"}), "root: there is no option --none\n");
  EXPECT_EQ(failure({"bookworm", folder.path()}), "root: " + folder.path() + " exists\n");
  EXPECT_EQ(failure({"--snapshot", "today", "bookworm", folder.path() + "/new"}), "root: --snapshot needs a date such as 20260101\n");
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/new"));
}

TEST(Root, explains_itself) {
  const Finished help = root_script({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_NE(help.out.find("tools/root [--packages"), std::string::npos);
}

TEST(Anywhere, refuses_wrong_use) {
  const auto failure = [](std::vector<std::string> words) {
    words.insert(words.begin(), VERBATIM_SOURCE_DIR "/tools/anywhere");
    const Finished finished = run_command(std::move(words));
    EXPECT_EQ(finished.code, 2) << finished.out;
    return finished.err;
  };
  EXPECT_EQ(failure({}), "anywhere: name a bundle; `verbatim pack` makes them\n");
  EXPECT_EQ(failure({"--none"}), "anywhere: there is no option --none\n");
  EXPECT_EQ(failure({"/missing.vbundle"}), "anywhere: /missing.vbundle cannot be read\n");
}

}  // namespace
}  // namespace verbatim::cli
