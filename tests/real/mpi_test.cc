// What stands above verbs, as Debian ships it: UCX's and libfabric's own programs, Open MPI and MPICH whose launchers start
// their ranks over `ssh`. UCX and libfabric write code into the C library; on machines that cannot trap the time stamp counter
// that makes a run weak, so that only digests are compared here.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/equality/both_modes.h"

namespace verbatim::real {
namespace {

struct Above {
  const char* name;
  const char* program;  // without which the test is skipped
  const char* server;
  const char* client;   // empty: none
  const char* says;     // the client, or the server when there is no client
};

constexpr Above kPrograms[] = {
    {"ucx_tags", "ucx_perftest", "ucx_perftest -n 20 -w 2", "ucx_perftest server -t tag_lat -n 20 -w 2", "Final:"},
    {"ucx_puts", "ucx_perftest", "ucx_perftest -d mlx5_0:1 -x rc_verbs -n 20 -w 2",
     "ucx_perftest server -d mlx5_0:1 -x rc_verbs -t put_lat -n 20 -w 2", "Final:"},
    {"ucx_active_messages", "ucx_perftest", "ucx_perftest -d mlx5_0:1 -x ud_verbs -n 20 -w 2",
     "ucx_perftest server -d mlx5_0:1 -x ud_verbs -t am_lat -n 20 -w 2", "Final:"},
    {"fi_info", "fi_info", "fi_info -p verbs", "", "protocol: FI_PROTO_RDMA_CM_IB_RC"},
    {"fi_messages", "fi_pingpong", "fi_pingpong -p verbs -e msg -I 3 -S 4096 -c",
     "fi_pingpong -p verbs -e msg -I 3 -S 4096 -c server", "4k "},
    {"fi_datagrams", "fi_pingpong", "fi_pingpong -p verbs -e dgram -I 3 -S 1024 -c",
     "fi_pingpong -p verbs -e dgram -I 3 -S 1024 -c server", "1k "},
};

class AboveVerbs : public testing::TestWithParam<Above> {};

TEST_P(AboveVerbs, runs_to_its_end) {
  const Above& above = GetParam();
  if (!std::filesystem::exists(std::string("/usr/bin/") + above.program)) GTEST_SKIP() << above.program << " is not installed";
  support::RunRequest request;
  request.commands = {std::string("server=") + above.server};
  const bool has_client = *above.client != 0;
  if (has_client) request.commands.push_back(std::string("client=") + above.client);
  request.options = {"--time-limit", "100s"};
  const equality::BothModes runs = equality::run_both(request);
  for (const support::RunReport* run : {&runs.slices, &runs.call_by_call}) {
    EXPECT_EQ(run->code, 0) << run->story();
    EXPECT_NE(run->output(has_client ? "client" : "server").find(above.says), std::string::npos) << run->story();
  }
  EXPECT_EQ(runs.slices.digest(), runs.call_by_call.digest())
      << equality::first_difference(runs.slices.trace, runs.call_by_call.trace);
}

INSTANTIATE_TEST_SUITE_P(Programs, AboveVerbs, testing::ValuesIn(kPrograms), [](const auto& info) { return info.param.name; });

// `launcher` is the command before the program.
void run_ranks(const std::string& compiler, const std::string& launcher) {
  if (std::system(("command -v " + compiler + " >/dev/null").c_str()) != 0) GTEST_SKIP() << compiler << " is not installed";
  const support::TemporaryFolder folder;
  const std::string program = folder.path() + "/mpi_data";
  ASSERT_EQ(std::system((compiler + " -O1 -o " + program + " " + REAL_FOLDER + "/mpi_data.c").c_str()), 0);
  support::RunRequest request;
  request.commands = {"server=" + launcher + " " + program};
  request.options = {"--time-limit", "100s"};
  const support::RunReport run = support::run(request);
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.output("server"), "2 ranks, 0 wrong\n") << run.story();
  EXPECT_GT(run.report["packets"], 100) << "through the adapters";
  EXPECT_EQ(support::run(request).digest(), run.digest());
}

TEST(Mpi, ranks_of_open_mpi_on_two_hosts_get_the_right_data) {
  run_ranks("mpicc.openmpi", "mpirun.openmpi --allow-run-as-root --host server,client -np 2 --mca pml ucx --mca osc ucx");
}

TEST(Mpi, ranks_of_mpich_on_two_hosts_get_the_right_data) {
  run_ranks("mpicc.mpich", "mpiexec.hydra -hosts server,client -np 2");
}

}  // namespace
}  // namespace verbatim::real
