// Open MPI over UCX between two hosts at EDR. The ranks run the loops of osu_latency and osu_bw
// (mpi_times.c), so that the benchmark itself need not be installed.
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "tests/fidelity/target.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::fidelity {
namespace {

// Adds "GROUP.BYTES" for each wanted size of the groups whose name ends with `kind`.
void add_times(Simulated& simulated, const Wanted& wanted, const std::string& kind,
               const std::string& program) {
  std::map<long, std::vector<std::string>> keys;  // by bytes
  for (const std::string& key : wanted) {
    const std::size_t point = key.find('.');
    if (point != std::string::npos && key.substr(0, point).ends_with(kind))
      keys[std::atol(key.c_str() + point + 1)].push_back(key);
  }
  if (keys.empty()) return;
  std::string command =
      "server=mpirun.openmpi --allow-run-as-root --host server,client -np 2 --mca pml ucx --mca osc ucx " +
      program + " " + kind;
  for (const auto& [bytes, names] : keys) command += " " + std::to_string(bytes);
  support::RunRequest request;
  request.commands = {command};
  const support::RunReport run = support::run(request);
  if (run.code != 0) std::fprintf(stderr, "fidelity: %s\n", run.story().c_str());
  std::istringstream lines(run.output("server"));
  std::string word;
  long bytes = 0;
  double value = 0;
  while (lines >> word >> bytes >> value) {
    for (const std::string& key : keys[bytes]) simulated[key] = value;
  }
}

}  // namespace

Simulated measure_osu(const Wanted& wanted) {
  const support::TemporaryFolder folder;
  const std::string program = folder.path() + "/mpi_times";
  const std::string source = support::quoted(VERBATIM_SOURCE_DIR "/tests/fidelity/mpi_times.c");
  if (std::system(("mpicc.openmpi -O2 -o " + support::quoted(program) + " " + source).c_str()) != 0) {
    std::fprintf(stderr, "fidelity: osu needs Open MPI (openmpi-bin, libopenmpi-dev)\n");
    return {};
  }
  Simulated simulated;
  for (const char* kind : {"latency", "bandwidth"}) add_times(simulated, wanted, kind, program);
  return simulated;
}

}  // namespace verbatim::fidelity
