// The limit of open files follows from the host's description, not from the machine's limit.
#include <fstream>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using support::RunReport;

// The two hosts of topologies/two_hosts_direct.json; programs of the first start with `limit`.
std::string topology_with(const std::string& folder, int limit) {
  auto topology = nlohmann::json::parse(support::text_of_file(support::topology("two_hosts_direct")));
  topology.erase("$schema");
  topology["hosts"][0]["open_files"] = limit;
  std::ofstream(folder + "/files.json") << topology.dump();
  return folder + "/files.json";
}

constexpr const char* kTell = "=bash -c 'ulimit -Sn; ulimit -Hn; grep open /proc/self/limits; ulimit -n 2000; ulimit -Sn; ulimit -Hn; "
                              "ulimit -n 2001 2>/dev/null || echo refused'";

TEST(OpenFiles, are_as_the_host_says) {
  const support::TemporaryFolder folder;
  support::RunRequest request = {.topology = topology_with(folder.path(), 5000),
                                 .commands = {"server" + std::string(kTell), "client=bash -c \"ulimit -Sn; ulimit -Hn\""}};
  const RunReport run = support::run(request);
  EXPECT_EQ(run.output("server"),
            "5000\n65536\nMax open files            5000                 65536                files     \n"
            "2000\n2000\nrefused\n") << run.story();
  EXPECT_EQ(run.output("client"), "1024\n65536\n") << run.story();
  request.options = {"--call-by-call"};
  EXPECT_EQ(support::run(request).digest(), run.digest());
}

TEST(OpenFiles, run_out_at_the_limit) {
  const support::TemporaryFolder folder;
  for (const int limit : {16, 1025, 3000}) {
    const RunReport run = support::run({.topology = topology_with(folder.path(), limit),
                                        .commands = {"server=/usr/bin/python3 -c 'import os\nn = 3\ntry:\n  while True: n = "
                                                     "os.open(\"/dev/null\", 0)\nexcept OSError as e: print(n + 1, e.errno)'"}});
    EXPECT_EQ(run.output("server"), std::to_string(limit) + " 24\n") << run.story();
    EXPECT_EQ(run.report["determinism"], "exact") << run.story();
  }
}

TEST(OpenFiles, of_a_description_are_checked) {
  const support::TemporaryFolder folder;
  const RunReport run = support::run({.topology = topology_with(folder.path(), 70000), .commands = {"server=true"}});
  EXPECT_EQ(run.code, 2) << run.story();
  EXPECT_NE(run.err.find("/hosts/0/open_files"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace verbatim
