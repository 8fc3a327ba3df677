// Costs of applications above verbs: connection management, UCX, libfabric, MPI over several hosts, fabric
// diagnostics and subnet managers. Prints wall time of the whole run with its goal, CPU time and hand-overs;
// nothing is asserted. The argument is the number of runs, of which the best counts.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/cpu_time.h"
#include "tests/support/verbatim_run.h"

namespace {

using namespace verbatim;

constexpr char kLeafSpine[] = R"("generate": {"shape": "leaf_spine", "hosts": 64, "hosts_per_leaf": 4, "spines": 4,
  "rate": "EDR 4x", "length": "2 m"})";  // 64 hosts and 20 switches

struct Row {
  const char* name;
  double goal_seconds;
  const char* program;  // without which it is left out
  support::RunRequest request;
};

std::string topology_file(const support::TemporaryFolder& folder, const std::string& name, const std::string& more) {
  const std::string path = folder.path() + "/" + name + ".json";
  std::ofstream(path) << R"({"name": ")" << name << "\", " << more << kLeafSpine << "}";
  return path;
}

// Says hello from each rank; "" when it cannot be compiled.
std::string mpi_program(const support::TemporaryFolder& folder) {
  const std::string program = folder.path() + "/mpi_hello";
  const std::string command =
      "mpicc.openmpi -o " + support::quoted(program) + " " + support::quoted(BENCH_SOURCES "/programs/mpi_hello.c");
  return std::system((command + " 2>/dev/null").c_str()) == 0 ? program : "";
}

// In which OpenSM keeps what it has found.
const std::map<std::string, std::string> kOpenSmFolders = {{"OSM_CACHE_DIR", "/tmp"}, {"OSM_TMP_DIR", "/tmp"}};

std::string scenario_file(const support::TemporaryFolder& folder, const std::string& topology, const std::string& command) {
  const std::string path = folder.path() + "/scenario.json";
  std::ofstream(path) << nlohmann::json{
      {"topology", topology},
      {"programs", {{{"host", "h0"}, {"command", command}, {"env", kOpenSmFolders}}}},
      {"time_limit", "100 s"}};
  return path;
}

void measure(const Row& row, int runs) {
  if (!std::filesystem::exists(row.program)) {
    std::printf("%s: %s is not there\n", row.name, row.program);
    return;
  }
  double wall = 1e9, cpu = 1e9;
  support::RunReport last;
  for (int i = 0; i < runs; ++i) {
    const double before = support::cpu_of_children();
    last = support::run(row.request);
    if (last.code != 0) {
      std::printf("%s: failed\n%s\n", row.name, last.story().c_str());
      return;
    }
    wall = std::min(wall, last.wall_seconds);
    cpu = std::min(cpu, support::cpu_of_children() - before);
  }
  std::printf("%s: %.2f s wall time (goal %.0f), %.2f CPU-seconds, %.0f hand-overs\n", row.name, wall, row.goal_seconds, cpu,
              last.report["hand_overs"].get<double>());
}

}  // namespace

int main(int count, char** arguments) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const int runs = count > 1 ? std::max(1, std::atoi(arguments[1])) : 1;
  const support::TemporaryFolder folder;
  const auto pair = [](const std::string& server, const std::string& client) {
    support::RunRequest request;
    request.commands = {"server=" + server, "client=" + client};
    return request;
  };
  const std::string put = "ucx_perftest -d mlx5_0:1 -x rc_verbs -t put_lat -n 1000";
  const std::string hello = mpi_program(folder);
  support::RunRequest ranks, discover, opensm;
  ranks.topology = "star_8";
  ranks.commands = {"h0=mpirun.openmpi --allow-run-as-root --host h0:2,h1:2,h2:2,h3:2,h4:2,h5:2,h6:2,h7:2 -np 16 --mca pml ucx "
                    "--mca osc ucx " +
                    support::quoted(hello)};
  discover.topology = topology_file(folder, "managed", "");
  discover.commands = {"h0=ibnetdiscover"};
  opensm.scenario = scenario_file(folder, topology_file(folder, "unmanaged", R"("subnet_manager": "none", )"), "opensm -o -f /dev/stdout");
  const Row rows[] = {
      {"rping -C 1000", 1, "/usr/bin/rping", pair("rping -s -C 1000", "rping -c -a server -C 1000")},
      {"cmtime, 100 connections", 1, "/usr/bin/cmtime", pair("cmtime -b server &", "cmtime -s server -c 100")},
      {"ucx_perftest put_lat 1000", 2, "/usr/bin/ucx_perftest", pair("ucx_perftest -d mlx5_0:1 -x rc_verbs -n 1000", put + " server")},
      {"fi_pingpong", 10, "/usr/bin/fi_pingpong", pair("fi_pingpong -p verbs -e msg", "fi_pingpong -p verbs -e msg server")},
      {"mpirun -np 16 over 8 hosts, hello", 5, hello.c_str(), ranks},
      {"ibnetdiscover of 64 hosts", 2, "/usr/sbin/ibnetdiscover", discover},
      {"OpenSM brings up 64 hosts and 20 switches", 10, "/usr/sbin/opensm", opensm},
  };
  for (const Row& row : rows) measure(row, runs);
  return 0;
}
