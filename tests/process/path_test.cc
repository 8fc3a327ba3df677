// Files that a host's own trees lack, and folders of the host's own.
#include "tests/process/programs.h"

namespace verbatim::process {
namespace {

using support::RunReport;

TEST(Paths, what_the_trees_lack_is_not_there_by_any_spelling_or_call) {
  support::RunRequest request;
  request.commands = {"server=" + path_of("paths_denied")};
  const RunReport run = support::run(request);
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.output("server"), "910 of 910 denied, 0 made\n") << run.story();
  // One warning by name for each errno that the program got, and every refusal counted.
  ASSERT_EQ(run.report["warnings"].size(), 2u) << run.report["warnings"];
  EXPECT_EQ(run.report["warnings"][0],
            "server: paths_denied (pid 1000): /proc/vmstat is not simulated; the program got ENOENT (with "
            "--strict=warn it would get the machine's own)");
  EXPECT_GT(run.report["refused_files"].get<int>(), 910);
  EXPECT_EQ(run.report["determinism"], "exact");
  request.options = {"--call-by-call"};
  EXPECT_EQ(support::run(request).digest(), run.digest());
}

TEST(Paths, strict_warn_lets_the_machines_files_through_and_says_so) {
  support::RunRequest request;
  request.commands = {"server=sh -c 'cat /proc/vmstat > /dev/null && cd /sys && cat ../proc/vmstat > /dev/null && "
                      "cat /proc/self/auxv | wc -c'"};
  EXPECT_NE(support::run(request).code, 0);
  request.options = {"--strict=warn"};
  const RunReport run = support::run(request);
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.report["determinism"], "weak");
  ASSERT_GE(run.report["weak"].size(), 1u);
  EXPECT_NE(run.report["weak"][0].get<std::string>().find(
                "/proc/vmstat is not simulated; the program got the machine's own"),
            std::string::npos)
      << run.report["weak"];
}

TEST(Paths, the_host_has_its_own_identity) {
  const RunReport run = support::run(
      {.commands = {"server=sh -c 'cat /etc/hostname /etc/machine-id; date +%Z; env -i A=1 cat /proc/self/environ | tr \"\\\\0\" \" \"; "
                    "cat /proc/self/cgroup; head -1 /proc/self/mounts'",
                    "client=cat /etc/hostname /etc/machine-id"}});
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_NE(run.output("server").find("UTC\nA=1 0::/\nverbatim / ext4 rw,relatime 0 0\n"), std::string::npos)
      << run.story();
  EXPECT_EQ(run.output("client").substr(0, 7), "client\n");
  EXPECT_NE(run.output("server").substr(7, 32), run.output("client").substr(7, 32)) << "machine-id";
  EXPECT_EQ(run.report["warnings"].size(), 0u) << run.report["warnings"];
}

}  // namespace
}  // namespace verbatim::process
