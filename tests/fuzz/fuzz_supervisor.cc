// Program memory read by the supervisor. One of two hosts runs a process that fills its region and memory
// from the input's bytes and makes the resulting requests, the other an honest process. Nothing may crash or
// hang, nothing is left behind, and the honest program ends as intended unless the whole run was stopped.
#include <spdlog/spdlog.h>
#include <sys/wait.h>

#include <cerrno>
#include <memory>

#include "sim/core/check.h"
#include "sim/supervisor/machine/run_folder.h"
#include "sim/supervisor/supervisor.h"
#include "tests/fuzz/puppet.h"
#include "tests/fuzz/simulated.h"

namespace {

using namespace verbatim;

const config::TopologySpec& topology() {
  static const config::TopologySpec kTopology = fuzz::load_topology("two_hosts.json");
  return kTopology;
}

struct Silence final : supervisor::OutputListener {
  void on_output(std::size_t, int, std::string_view) override {}
};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  topology();
  fuzz::confine();
  spdlog::set_level(spdlog::level::off);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  DefaultChoices choices;
  config::Simulation simulation(topology(), 1, choices);
  std::vector<supervisor::HostSpec> hosts;
  for (std::size_t i = 0; i < topology().hosts.size(); ++i) {
    const config::HostSpec& spec = topology().hosts[i];
    supervisor::HostSpec host;
    host.name = spec.name;
    host.component = simulation.host_component(i);
    host.address = spec.address;
    host.devices = {&simulation.hca(i)};
    host.costs = spec.cpu_profile.costs;
    hosts.push_back(std::move(host));
  }
  supervisor::SupervisorOptions options;
  options.limits.virtual_end = Instant{} + std::chrono::seconds(10);
  options.limits.stuck_after_ms = 200;
  if (size % 2 == 1) options.mode = supervisor::Mode::kCallByCall;
  // A program executed by a puppet is a puppet with a shorter script.
  bool honest_started = false;
  std::size_t said = 0;
  options.launcher = [&](const supervisor::LaunchRequest& request) {
    if (!honest_started && request.arguments.back() == "honest") {
      honest_started = true;
      return fuzz::launch_honest(request);
    }
    const auto input = std::span(data, size).subspan(std::min(size, said));
    said += 16;
    return fuzz::launch_puppet(request, input);
  };
  // libFuzzer's, which it starts when it names functions (-print_funcs): a child that stays.
  const bool has_symbolizer = waitpid(-1, nullptr, WNOHANG) == 0;
  supervisor::RunResult result;
  {
    supervisor::Supervisor supervisor(simulation.engine(), simulation.tracer(), choices, simulation.components(),
                                      std::move(hosts), {}, options);
    std::vector<supervisor::ProgramSpec> programs(2);
    programs[0].arguments = {"/bin/true"};
    programs[1].arguments = {"/bin/true", "honest"};
    programs[1].host = 1;
    Silence silence;
    result = supervisor.run(programs, silence);
  }
  supervisor::RunFolder::await_ended_keepers();
  CHECK(has_symbolizer || (waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD));
  if (result.outcome == supervisor::Outcome::kFinished) {
    CHECK(result.programs[1].exited && result.programs[1].exit_code == fuzz::kHonestExit);
  }
  return 0;
}
