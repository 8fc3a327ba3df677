// Huge pages are those of the host's description, independent of the machine.
#include <fstream>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using support::RunReport;

const std::string kProgram = PROCESS_FOLDER "/huge_pages";

// The two hosts of topologies/two_hosts_direct.json, the first with as many pages.
std::string topology_with(const std::string& folder, const std::string& pages) {
  auto topology = nlohmann::json::parse(support::text_of_file(support::topology("two_hosts_direct")));
  topology.erase("$schema");
  topology["hosts"][0]["huge_pages"] = nlohmann::json::parse(pages);
  std::ofstream(folder + "/pages.json") << topology.dump();
  return folder + "/pages.json";
}

TEST(HugePages, follow_the_rules_of_linux_in_both_modes) {
  const support::TemporaryFolder folder;
  support::RunRequest request = {.topology = topology_with(folder.path(), R"({"2MiB": 8, "1GiB": 1})"),
                                 .commands = {"server=" + support::quoted(kProgram)}};
  const RunReport slices = support::run(request);
  EXPECT_EQ(slices.code, 0) << slices.story();
  EXPECT_EQ(slices.output("server"),
            "anonymous\nlarge\nremapped\n/memfd:name (deleted)\nfiles\nprocesses\n") << slices.story();
  EXPECT_EQ(slices.report["determinism"], "exact") << slices.story();
  EXPECT_TRUE(slices.report["warnings"].empty()) << slices.story();
  request.options = {"--call-by-call"};
  EXPECT_EQ(support::run(request).digest(), slices.digest());
}

constexpr const char* kCount = "=sh -c 'grep -h Huge /proc/meminfo; cat /sys/kernel/mm/hugepages/*/nr_hugepages; "
                               "grep hugetlbfs /proc/mounts /proc/filesystems'";

TEST(HugePages, are_eight_gibibytes_by_default) {
  const RunReport run = support::run({.commands = {"server" + std::string(kCount)}});
  EXPECT_EQ(run.output("server"),
            "HugePages_Total:    2048\nHugePages_Free:     2048\nHugePages_Rsvd:        0\nHugePages_Surp:        0\n"
            "Hugepagesize:       2048 kB\nHugetlb:         8388608 kB\n4\n2048\n"
            "/proc/mounts:hugetlbfs /dev/hugepages hugetlbfs rw,relatime,pagesize=2M 0 0\n"
            "/proc/filesystems:nodev\thugetlbfs\n") << run.story();
}

TEST(HugePages, of_a_description_are_checked) {
  const support::TemporaryFolder folder;
  const RunReport run = support::run({.topology = topology_with(folder.path(), R"({"2MiB": 9999999, "4MiB": 1})"),
                                      .commands = {"server=true"}});
  EXPECT_EQ(run.code, 2) << run.story();
  EXPECT_NE(run.err.find("/hosts/0/huge_pages/2MiB"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("4MiB"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace verbatim
