// Debian's software above verbs: programs of UCX and libfabric, Open MPI and MPICH with launchers that start
// ranks over `ssh`. UCX and libfabric write code into the C library; on machines that cannot trap the time
// stamp counter this makes a run weak, so only digests are compared here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <sstream>

#include "tests/equality/both_modes.h"
#include "tests/real/mpi.h"

namespace verbatim::real {
namespace {

struct Above {
  const char* name;
  const char* program;  // the test is skipped without it
  const char* server;
  const char* client;   // empty: none
  const char* says;     // expected in the client's output, or in the server's if there is no client
  const char* topology = "two_hosts";
};

constexpr Above kPrograms[] = {
    {"ucx_tags", "ucx_perftest", "ucx_perftest -n 20 -w 2", "ucx_perftest server -t tag_lat -n 20 -w 2", "Final:"},
    {"ucx_puts", "ucx_perftest", "ucx_perftest -d mlx5_0:1 -x rc_verbs -n 20 -w 2",
     "ucx_perftest server -d mlx5_0:1 -x rc_verbs -t put_lat -n 20 -w 2", "Final:"},
    {"ucx_active_messages", "ucx_perftest", "ucx_perftest -d mlx5_0:1 -x ud_verbs -n 20 -w 2",
     "ucx_perftest server -d mlx5_0:1 -x ud_verbs -t am_lat -n 20 -w 2", "Final:"},
    {"ucx_atomics", "ucx_perftest", "ucx_perftest -n 20 -w 2", "ucx_perftest server -t ucp_fadd -n 20 -w 2", "Final:"},
    {"ucx_gets_over_ethernet", "ucx_perftest", "ucx_perftest -n 20 -w 2", "ucx_perftest server -t ucp_get -n 20 -w 2", "Final:",
     "two_hosts_roce"},
    {"ucx_puts_over_ethernet", "ucx_perftest", "ucx_perftest -d mlx5_0:1 -x rc_verbs -n 20 -w 2",
     "ucx_perftest server -d mlx5_0:1 -x rc_verbs -t put_lat -n 20 -w 2", "Final:", "two_hosts_roce"},
    {"ucx_active_messages_over_ethernet", "ucx_perftest", "ucx_perftest -d mlx5_0:1 -x ud_verbs -n 20 -w 2",
     "ucx_perftest server -d mlx5_0:1 -x ud_verbs -t am_lat -n 20 -w 2", "Final:", "two_hosts_roce"},
    {"fi_info", "fi_info", "fi_info -p verbs", "", "protocol: FI_PROTO_RDMA_CM_IB_RC"},
    {"fi_messages", "fi_pingpong", "fi_pingpong -p verbs -e msg -I 3 -S 4096 -c",
     "fi_pingpong -p verbs -e msg -I 3 -S 4096 -c server", "4k "},
    // fi_pingpong gets the server's address with that name; -d selects the adapter.
    {"fi_messages_of_the_second_adapter", "fi_pingpong", "fi_pingpong -p verbs -e msg -d mlx5_1 -I 3 -S 4096 -c",
     "fi_pingpong -p verbs -e msg -d mlx5_1 -I 3 -S 4096 -c server-mlx5_1", "4k ", "rails_2_roce"},
    {"fi_datagrams", "fi_pingpong", "fi_pingpong -p verbs -e dgram -I 3 -S 1024 -c",
     "fi_pingpong -p verbs -e dgram -I 3 -S 1024 -c server", "1k "},
};

class AboveVerbs : public testing::TestWithParam<Above> {};

TEST_P(AboveVerbs, runs_to_its_end) {
  const Above& above = GetParam();
  if (!std::filesystem::exists(std::string("/usr/bin/") + above.program)) GTEST_SKIP() << above.program << " is not installed";
  support::RunRequest request;
  request.topology = above.topology;
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

TEST(Mpi, ranks_of_open_mpi_on_two_hosts_get_the_right_data) {
  run_ranks({"", Ranks::Library::kOpenMpiOverUcx, "two_hosts", 2, 1});
}

// Open MPI determines the maximum inline data of queue pairs, up to 1024 bytes, by trying until creation succeeds.
TEST(Mpi, ranks_of_open_mpi_by_verbs_get_the_right_data) {
  run_ranks({"", Ranks::Library::kOpenMpiOverVerbs, "two_hosts", 2, 1});
}

// UCX divides large messages between both adapters of a host.
TEST(Mpi, ranks_on_hosts_with_two_adapters_get_the_right_data) {
  for (const char* topology : {"rails_4", "rails_2_roce"}) run_ranks({"", Ranks::Library::kOpenMpiOverUcx, topology, 2, 1});
}

TEST(Ucx, large_messages_go_by_both_adapters) {
  if (!std::filesystem::exists("/usr/bin/ucx_perftest")) GTEST_SKIP() << "ucx_perftest is not installed";
  for (const std::string topology : {"rails_4", "rails_2_roce"}) {
    const std::string server = topology == "rails_4" ? "h0" : "server", client = topology == "rails_4" ? "h1" : "client";
    support::RunRequest request;
    request.topology = topology;
    request.commands = {server + "=ucx_perftest -n 10 -w 2",
                        client + "=ucx_perftest " + server + " -t tag_bw -s 1048576 -n 10 -w 2"};
    request.options = {"--time-limit", "100s"};
    const equality::BothModes runs = equality::run_both(request);
    for (const support::RunReport* run : {&runs.slices, &runs.call_by_call}) {
      EXPECT_EQ(run->code, 0) << run->story();
      EXPECT_NE(run->output(client).find("Final:"), std::string::npos) << run->story();
    }
    EXPECT_EQ(runs.slices.digest(), runs.call_by_call.digest())
        << equality::first_difference(runs.slices.trace, runs.call_by_call.trace);
    std::size_t packets[2] = {};
    std::istringstream lines(runs.slices.trace);
    for (std::string line; std::getline(lines, line);) {
      packets[0] += line.find("port/" + client + ":1  packet-transmitted") != std::string::npos;
      packets[1] += line.find("port/" + client + "/mlx5_1:1  packet-transmitted") != std::string::npos;
    }
    constexpr std::size_t kOfHalf = 10 * (1 << 20) / 4096 / 2;
    EXPECT_GT(packets[0], kOfHalf);
    EXPECT_GT(packets[1], kOfHalf);
  }
}

// Both ranks wait in UCX' progress loop, which does something else every hundred iterations, while their adapters access
// their memory with every packet. Executing the loop took 1,800 hand-overs for a message.
TEST(Mpi, a_large_message_needs_few_hand_overs) {
  if (std::system("command -v mpicc.openmpi >/dev/null") != 0) GTEST_SKIP() << "mpicc.openmpi is not installed";
  const support::TemporaryFolder folder;
  const std::string program = folder.path() + "/mpi_pingpong", source = REAL_FOLDER "/mpi_pingpong.c";
  ASSERT_EQ(std::system(("mpicc.openmpi -O1 -o " + support::quoted(program) + " " + support::quoted(source)).c_str()), 0);
  constexpr int kFew = 1, kMany = 9;
  double hand_overs[2] = {};
  for (const int count : {kFew, kMany}) {
    support::RunRequest request;
    request.commands = {"server=mpirun.openmpi --allow-run-as-root --host server,client -np 2 --mca pml ucx --mca osc ucx " +
                        support::quoted(program) + " 4194304 " + std::to_string(count)};
    request.options = {"--time-limit", "100s"};
    const support::RunReport run = support::run(request);
    ASSERT_EQ(run.code, 0) << run.story();
    EXPECT_EQ(run.output("server"), "b\n");
    hand_overs[count == kMany] = run.report["hand_overs"];
  }
  EXPECT_LT((hand_overs[1] - hand_overs[0]) / (2 * (kMany - kFew)), 900);
}

TEST(Mpi, ranks_of_mpich_on_two_hosts_get_the_right_data) {
  run_ranks({"", Ranks::Library::kMpich, "two_hosts", 2, 1});
}

// A well-known benchmark: its rate for the largest message is that of a 100 Gb/s link.
class NetPipe : public testing::TestWithParam<const char*> {};

TEST_P(NetPipe, measures_between_hosts) {
  if (!std::filesystem::exists("/usr/bin/NPopenmpi")) GTEST_SKIP() << "netpipe-openmpi is not installed";
  support::RunRequest request;
  request.topology = GetParam();
  request.commands = {"server=mpirun.openmpi --allow-run-as-root --host server,client -np 2 --mca pml ucx --mca osc ucx "
                      "NPopenmpi -l 65536 -u 65536 -p 0 -n 5 -o /dev/null"};
  request.options = {"--time-limit", "100s"};
  const support::RunReport run = support::run(request);
  ASSERT_EQ(run.code, 0) << run.story();
  double megabits = 0;
  std::istringstream lines(run.errors("server") + run.output("server"));
  for (std::string line; std::getline(lines, line);) {
    std::sscanf(line.c_str(), " %*d: 65536 bytes %*d times --> %lf Mbps", &megabits);
  }
  EXPECT_GT(megabits, 50'000) << run.story();
  EXPECT_LT(megabits, 100'000);
  EXPECT_GT(run.report["packets"], 100);
  EXPECT_EQ(support::run(request).digest(), run.digest());
}

// Debian's settings disable UCX in Open MPI, so that it uses sockets without a message of its own.
TEST(Mpi, open_mpi_that_uses_sockets_only_is_warned_of) {
  if (!std::filesystem::exists("/usr/bin/NPopenmpi")) GTEST_SKIP() << "netpipe-openmpi is not installed";
  support::RunRequest request;
  request.commands = {"server=mpirun.openmpi --allow-run-as-root --host server,client -np 2 NPopenmpi -l 65536 -u 65536 -p 0 -n 20 -o /dev/null"};
  request.options = {"--time-limit", "100s"};
  const support::RunReport run = support::run(request);
  ASSERT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.report["packets"], 0);
  EXPECT_THAT(run.err, ::testing::ContainsRegex("warning: no RDMA packet was sent, and [0-9.]+ MB went over TCP sockets between hosts, although programs "
                                                "loaded Open MPI: `mpirun --mca pml ucx --mca osc ucx` makes"));
}

INSTANTIATE_TEST_SUITE_P(OpenMpi, NetPipe, testing::Values("two_hosts", "two_hosts_roce"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Ucx, processes_of_a_host_share_memory) {
  if (!std::filesystem::exists("/usr/bin/ucx_perftest")) GTEST_SKIP() << "ucx_perftest is not installed";
  for (const char* what : {"-x sysv -t am_lat", "-x posix -t am_lat", "-x posix -t fadd", "-x cma -D zcopy -s 4096 -t put_bw"}) {
    const std::string options = std::string(" -d memory -n 20 -w 2 ") + what;
    support::RunRequest request;
    request.commands = {"server=ucx_perftest" + options, "server=ucx_perftest 127.0.0.1" + options};
    const equality::BothModes runs = equality::run_both(request);
    for (const support::RunReport* run : {&runs.slices, &runs.call_by_call}) {
      EXPECT_EQ(run->code, 0) << run->story();
      EXPECT_NE(run->out.find("Final:"), std::string::npos) << run->story();
    }
    EXPECT_EQ(runs.slices.digest(), runs.call_by_call.digest())
        << equality::first_difference(runs.slices.trace, runs.call_by_call.trace);
  }
}

}  // namespace
}  // namespace verbatim::real
