// TCP between two programs: natively over the loopback interface, and in the simulator between two hosts.
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "tests/cli/command.h"
#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

const std::string kServer = std::string(PROCESS_FOLDER) + "/server";
const std::string kClient = std::string(PROCESS_FOLDER) + "/client";

TEST(Sockets, two_programs_say_the_same_natively_and_simulated) {
  // A network of its own where that is allowed, so that the port is free; otherwise only the simulated half
  // counts.
  const std::string script =
      "ip link set lo up; \"$0\" > \"$2/server\" 2>&1 & sleep 0.3; \"$1\" 127.0.0.1 > \"$2/client\" 2>&1; "
      "wait";
  const support::TemporaryFolder folder;
  const auto native =
      cli::run_command({"unshare", "-rn", "sh", "-c", script, kServer, kClient, folder.path()});
  const std::string native_server = support::text_of_file(folder.path() + "/server");
  const std::string native_client = support::text_of_file(folder.path() + "/client");

  const support::RunReport run =
      support::run_pair(support::quoted(kServer), support::quoted(kClient) + " server");
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_NE(run.output("server").find("server: done\n"), std::string::npos) << run.story();
  EXPECT_NE(run.output("client").find("client: done\n"), std::string::npos);
  EXPECT_TRUE(run.report["warnings"].empty()) << run.report["warnings"];
  if (native.code != 0 || native_client.empty()) {
    GTEST_SKIP() << "this machine gives no network of its own (unshare -rn): compared with nothing";
  }
  EXPECT_EQ(native_server, run.output("server"));
  EXPECT_EQ(native_client, run.output("client"));
}

// One byte in each direction between two hosts takes at least two management-network latencies.
TEST(Sockets, distance_takes_time) {
  const support::RunReport run =
      support::run_pair(support::quoted(kServer), support::quoted(kClient) + " server");
  ASSERT_EQ(run.code, 0) << run.story();
  // 100 ms stagger; 100 replies of 2 x 20 us each and 8 MB at 10 Gb/s (6.4 ms) are the least.
  EXPECT_GT(run.virtual_ms(), 100 + 100 * 0.040 + 6.4);
  EXPECT_LT(run.virtual_ms(), 1000);
}

TEST(Sockets, names_and_addresses_resolve) {
  for (const char* name : {"server", "10.0.0.1"}) {
    const support::RunReport run =
        support::run_pair(support::quoted(kServer), support::quoted(kClient) + " " + name);
    EXPECT_EQ(run.code, 0) << run.story();
  }
}

}  // namespace
}  // namespace verbatim
