// Adapters of a simulation are called mlx5_0 but have nothing below verbs, and programs are told so by
// errors.
#include <gmock/gmock.h>

#include <fstream>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using support::RunReport;
using testing::HasSubstr;

TEST(Mlx5, has_no_capability_and_is_refused_and_the_run_names_each_call_once) {
  support::RunRequest request = {.commands = {"server=" + support::quoted(PROCESS_FOLDER "/mlx5")}};
  const RunReport slices = support::run(request);
  EXPECT_EQ(slices.code, 0) << slices.story();
  EXPECT_EQ(slices.output("server"), "mlx5_0\nrefused\n") << slices.story();
  EXPECT_EQ(slices.report["determinism"], "exact") << slices.story();
  EXPECT_EQ(slices.report["warnings"].size(), 4u) << slices.story();
  for (const char* name : {"mlx5dv_open_device", "mlx5dv_get_clock_info", "mlx5dv_devx_get_event", "mlx5dv_devx_alloc_uar"}) {
    EXPECT_THAT(slices.report["warnings"].dump(), HasSubstr(std::string(name) + " is refused (EOPNOTSUPP)"));
  }
  request.options = {"--call-by-call"};
  EXPECT_EQ(support::run(request).digest(), slices.digest());
}

TEST(Mlx5, is_a_name_that_a_topology_can_change) {
  const support::TemporaryFolder folder;
  auto topology = nlohmann::json::parse(support::text_of_file(support::topology("two_hosts_direct")));
  topology.erase("$schema");
  topology["hosts"][0]["device"] = "rdma0";
  const std::string file = folder.path() + "/named.json";
  std::ofstream(file) << topology.dump();
  const RunReport run = support::run({.topology = file, .commands = {
      "server=sh -c 'ls /sys/class/infiniband; \"" PROCESS_FOLDER "/mlx5\"'", "client=ls /sys/class/infiniband"}});
  EXPECT_EQ(run.output("server"), "rdma0\nrdma0\nrefused\n") << run.story();
  EXPECT_EQ(run.output("client"), "mlx5_0\n") << run.story();
}

// Where the machine has no libmlx5 the name is found all the same, by those who open it late.
TEST(Mlx5, is_there_for_programs_that_open_it) {
  const RunReport run = support::run({.commands = {
      "server=python3 -c 'import ctypes; m = ctypes.CDLL(\"libmlx5.so.1\"); print(m.mlx5dv_is_supported(None), "
      "m.mlx5dv_query_device(None, None))'"}});
  EXPECT_EQ(run.output("server"), "0 95\n") << run.story();
}

}  // namespace
}  // namespace verbatim
