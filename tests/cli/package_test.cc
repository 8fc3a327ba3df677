// A package of cpack works where it is unpacked, and contains everything that it needs; shell completion is
// complete.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/core/sanitizer.h"
#include "tests/cli/package.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Package, a_tar_works_where_it_is_unpacked) {
  if (kHasAddressSanitizer) GTEST_SKIP() << "with AddressSanitizer a program needs more libraries";
  if (!is_installed("cpack")) GTEST_SKIP() << "cpack is not installed";
  const support::TemporaryFolder folder;
  const std::string tar = make_package("TGZ", folder.path(), ".tar.gz");
  ASSERT_FALSE(tar.empty());
  const std::string there = folder.path() + "/unpacked here";
  fs::create_directories(there);
  ASSERT_EQ(run_command({"tar", "xzf", tar, "--strip-components=1", "-C", there}).code, 0);
  const std::string program = there + "/bin/verbatim";

  // It contains all libraries but the C library's.
  std::istringstream libraries(run_command({"ldd", program}).out);
  for (std::string line; std::getline(libraries, line);) {
    EXPECT_THAT(line, AnyOf(HasSubstr("libc.so"), HasSubstr("libm.so"), HasSubstr("ld-linux"), HasSubstr("linux-vdso"),
                            HasSubstr("=> " + there)));
  }

  const auto digest_of = [&](const std::string& what) {
    const std::string out = folder.path() + "/run";
    const Finished run = run_command({what, "run", "--out", out, "--topology", "topologies/two_hosts.json",
                                      "server=ibv_rc_pingpong -n 20", "client=ibv_rc_pingpong -n 20 server"});
    EXPECT_EQ(run.code, 0) << run.err;
    return nlohmann::json::parse(support::text_of_file(out + "/run.json"))["digest"].get<std::string>();
  };
  EXPECT_EQ(digest_of(program), digest_of(VERBATIM_PROGRAM));

  const std::string lab = folder.path() + "/lab";
  const Finished started = run_command({program, "lab", "start", "1", lab});
  EXPECT_EQ(started.code, 0) << started.err;
  EXPECT_TRUE(fs::exists(lab + "/lab.c"));
  EXPECT_TRUE(fs::exists(there + "/share/verbatim/container/seccomp.json"));
  EXPECT_EQ(run_command({program, "doctor"}).code, verbatim({"check", "--host"}).code);
  for (const char* page : {"verbatim", "verbatim-run", "verbatim-report", "verbatim-lab-start"})
    EXPECT_TRUE(fs::exists(there + "/share/man/man1/" + page + ".1")) << page;
}

// bash's completions for the last of `words`.
std::vector<std::string> completed(const std::vector<std::string>& words) {
  const support::TemporaryFolder folder;
  const std::string script = folder.path() + "/completion";
  std::ofstream(script) << verbatim({"completion", "bash"}).out;
  std::string line = "source '" + script + "'; COMP_WORDS=(verbatim";
  for (const std::string& word : words) line += " '" + word + "'";
  line += "); COMP_CWORD=" + std::to_string(words.size()) + "; _verbatim; printf '%s\\n' \"${COMPREPLY[@]}\"";
  std::istringstream said(run_command({"bash", "-euc", line}).out);
  std::vector<std::string> offered;
  for (std::string one; std::getline(said, one);) offered.push_back(one);
  return offered;
}

TEST(Completion, knows_verbs_options_and_values) {
  using ::testing::Contains;
  using ::testing::ElementsAre;
  using ::testing::UnorderedElementsAre;
  EXPECT_THAT(completed({"re"}), UnorderedElementsAre("replay", "report"));
  EXPECT_THAT(completed({""}), AllOf(Contains("run"), Contains("doctor"), Not(Contains("search-code"))));
  EXPECT_THAT(completed({"run", "--second-core", ""}), UnorderedElementsAre("never", "free", "always", "changing"));
  EXPECT_THAT(completed({"run", "--free"}), ElementsAre("--freedom"));
  EXPECT_THAT(completed({"lab", ""}), UnorderedElementsAre("list", "start", "run", "check"));
  EXPECT_THAT(completed({"lab", "run", "--see"}), Contains("--seed"));
  EXPECT_THAT(completed({"check", "topologies/two_hosts.j"}), ElementsAre("topologies/two_hosts.json"));
  EXPECT_THAT(completed({"run", "--topology", "topologies/two_hosts.j"}), ElementsAre("topologies/two_hosts.json"));
}

TEST(Completion, is_a_script_of_its_shell) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Finished made = verbatim({"completion", shell});
    EXPECT_EQ(made.code, 0);
    EXPECT_THAT(made.out, HasSubstr("second-core"));
    if (!is_installed(shell)) continue;
    const support::TemporaryFolder folder;
    const std::string script = folder.path() + "/completion";
    std::ofstream(script) << made.out;
    const Finished read = run_command({shell, "-n", script});
    EXPECT_EQ(read.code, 0) << shell << ": " << read.err;
  }
  EXPECT_EQ(verbatim({"completion", "csh"}).code, 2);
}

}  // namespace
}  // namespace verbatim::cli
