#include "tests/real/mpi.h"

#include "tests/support/verbatim_run.h"

namespace verbatim::real {

namespace {

std::string name_of_host(const Ranks& ranks, int number) {
  const std::string topology = ranks.topology;
  if (topology.starts_with("two_hosts") || topology == "rails_2_roce") return number == 0 ? "server" : "client";
  return "h" + std::to_string(number);
}

}  // namespace

void run_ranks(const Ranks& ranks) {
  const bool is_mpich = ranks.implementation == Ranks::Library::kMpich;
  const std::string compiler = is_mpich ? "mpicc.mpich" : "mpicc.openmpi";
  if (std::system(("command -v " + compiler + " >/dev/null").c_str()) != 0) GTEST_SKIP() << compiler << " is not installed";
  const support::TemporaryFolder folder;
  const std::string program = folder.path() + "/mpi_data";
  const std::string source = support::quoted(REAL_FOLDER "/mpi_data.c");
  ASSERT_EQ(std::system((compiler + " -O1 -o " + support::quoted(program) + " " + source).c_str()), 0);
  std::string hosts;
  for (int i = 0; i < ranks.hosts; ++i) {
    hosts += (i == 0 ? "" : ",") + name_of_host(ranks, i) + (ranks.per_host == 1 ? "" : ":" + std::to_string(ranks.per_host));
  }
  const std::string count = std::to_string(ranks.hosts * ranks.per_host);
  std::string launcher = "mpirun.openmpi --allow-run-as-root --host " + hosts + " -np " + count;
  if (is_mpich) {
    launcher = "mpiexec.hydra -hosts " + hosts + " -np " + count;
  } else if (ranks.implementation == Ranks::Library::kOpenMpiOverUcx) {
    launcher += " --mca pml ucx --mca osc ucx";
  } else if (ranks.implementation == Ranks::Library::kOpenMpiOverVerbs) {
    // Open MPI's own use of verbs, as before UCX; by default it leaves InfiniBand to UCX.
    launcher += " --mca pml ob1 --mca osc ^ucx --mca btl self,vader,openib --mca btl_openib_allow_ib 1";
  } else {
    launcher += " --mca pml cm --mca mtl ofi --mca osc ^ucx";
  }
  // MPICH 4.0.2 as Debian has it gets one-sided operations between ranks of a host wrong, on any machine.
  const bool has_windows = !is_mpich || ranks.per_host == 1;
  support::RunRequest request;
  request.topology = ranks.topology;
  request.commands = {name_of_host(ranks, 0) + "=" + launcher + " " + program + (has_windows ? "" : " no-windows")};
  request.options = {"--time-limit", "100s"};
  const support::RunReport run = support::run(request);
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.output(name_of_host(ranks, 0)), count + " ranks, 0 wrong\n") << run.story();
  if (ranks.hosts > 1) {
    EXPECT_GT(run.report["packets"], 100) << "through the adapters";
  }
  EXPECT_EQ(support::run(request).digest(), run.digest());
}

}  // namespace verbatim::real
