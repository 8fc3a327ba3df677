// Costs of applications above verbs: connection management, UCX, libfabric, MPI over several hosts, fabric
// diagnostics and subnet managers. Prints wall time of the whole run with its goal, CPU time and hand-overs;
// nothing is asserted. The argument is the number of runs, of which the best counts.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/cpu_time.h"
#include "tests/support/verbatim_run.h"

namespace {

using namespace verbatim;

constexpr char kLeafSpine[] = R"("generate": {"shape": "leaf_spine", "hosts": 64, "hosts_per_leaf": 4, "spines": 4,
  "rate": "EDR 4x", "length": "2 m"})";  // 64 hosts and 20 switches

struct Row {
  const char* name;
  double goal_seconds;
  const char* program;  // the row is skipped without it
  support::RunRequest request;
};

std::string topology_file(const support::TemporaryFolder& folder, const std::string& name, const std::string& more) {
  const std::string path = folder.path() + "/" + name + ".json";
  std::ofstream(path) << R"({"name": ")" << name << "\", " << more << kLeafSpine << "}";
  return path;
}

// Compiles an MPI program that prints a line for each rank; returns "" if this fails.
std::string mpi_program(const support::TemporaryFolder& folder) {
  const std::string program = folder.path() + "/mpi_hello";
  const std::string command =
      "mpicc.openmpi -o " + support::quoted(program) + " " + support::quoted(BENCH_SOURCES "/programs/mpi_hello.c");
  return std::system((command + " 2>/dev/null").c_str()) == 0 ? program : "";
}

// Path of a program of the OSU micro-benchmarks: in the folder that OSU_FOLDER names, else in one of PATH.
std::string osu_program(const std::string& name) {
  const char* const own = std::getenv("OSU_FOLDER");
  const char* const path = own != nullptr ? own : std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (std::filesystem::exists(folder + "/" + name)) return folder + "/" + name;
  }
  return name;
}

// Open MPI over UCX, started on host `first`.
std::string ranks_command(const std::string& first, const std::string& hosts, int count, const std::string& program) {
  return first + "=mpirun.openmpi --allow-run-as-root --host " + hosts + " -np " + std::to_string(count) +
         " --mca pml ucx --mca osc ucx " + program;
}

// "h0:N,h1:N,…"
std::string hosts_with(int hosts, int per_host) {
  std::string list;
  for (int i = 0; i < hosts; ++i) list += (i == 0 ? "h" : ",h") + std::to_string(i) + ":" + std::to_string(per_host);
  return list;
}

// Folders in which OpenSM stores its data.
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
  const std::string latency = osu_program("osu_latency"), bandwidth = osu_program("osu_bw");
  const std::string allreduce = osu_program("osu_allreduce"), alltoall = osu_program("osu_alltoall");
  support::RunRequest ranks, more_ranks, most_ranks, two_ranks, two_senders, eight_ranks, all_to_all, discover, opensm;
  ranks.topology = more_ranks.topology = eight_ranks.topology = all_to_all.topology = "star_8";
  ranks.commands = {ranks_command("h0", hosts_with(8, 2), 16, support::quoted(hello))};
  more_ranks.commands = {ranks_command("h0", hosts_with(8, 4), 32, support::quoted(hello))};
  most_ranks.topology = topology_file(folder, "managed", "");
  most_ranks.commands = {ranks_command("h0", hosts_with(32, 2), 64, support::quoted(hello))};
  two_ranks.commands = {ranks_command("server", "server,client", 2, support::quoted(latency) + " -i 200 -x 20")};
  eight_ranks.commands = {ranks_command("h0", hosts_with(8, 1), 8, support::quoted(allreduce) + " -i 20 -x 2")};
  two_senders.commands = {ranks_command("server", "server,client", 2, support::quoted(bandwidth) + " -i 5 -x 1")};
  all_to_all.commands = {ranks_command("h0", hosts_with(8, 1), 8, support::quoted(alltoall) + " -i 20 -x 2")};
  discover.topology = most_ranks.topology;
  discover.commands = {"h0=ibnetdiscover"};
  opensm.scenario = scenario_file(folder, topology_file(folder, "unmanaged", R"("subnet_manager": "none", )"), "opensm -o -f /dev/stdout");
  const Row rows[] = {
      {"rping -C 1000", 1, "/usr/bin/rping", pair("rping -s -C 1000", "rping -c -a server -C 1000")},
      {"cmtime, 100 connections", 1, "/usr/bin/cmtime", pair("cmtime -b server &", "cmtime -s server -c 100")},
      {"ucx_perftest put_lat 1000", 2, "/usr/bin/ucx_perftest", pair("ucx_perftest -d mlx5_0:1 -x rc_verbs -n 1000", put + " server")},
      {"fi_pingpong", 10, "/usr/bin/fi_pingpong", pair("fi_pingpong -p verbs -e msg", "fi_pingpong -p verbs -e msg server")},
      {"mpirun -np 16 over 8 hosts, hello", 2, hello.c_str(), ranks},
      {"mpirun -np 32 over 8 hosts, hello", 5, hello.c_str(), more_ranks},
      {"mpirun -np 64 over 32 hosts, hello", 15, hello.c_str(), most_ranks},
      {"osu_latency -i 200", 15, latency.c_str(), two_ranks},
      {"osu_bw -i 5", 30, bandwidth.c_str(), two_senders},
      {"osu_allreduce -i 20, 8 ranks", 15, allreduce.c_str(), eight_ranks},
      {"osu_alltoall -i 20, 8 ranks", 15, alltoall.c_str(), all_to_all},
      {"ibnetdiscover of 64 hosts", 2, "/usr/sbin/ibnetdiscover", discover},
      {"OpenSM brings up 64 hosts and 20 switches", 10, "/usr/sbin/opensm", opensm},
  };
  for (const Row& row : rows) measure(row, runs);
  return 0;
}
