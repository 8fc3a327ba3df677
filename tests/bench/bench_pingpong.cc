// Costs of ibv_rc_pingpong with its defaults: hand-overs of the token and wall time; the goal is 0.3 s.
// Nothing is asserted. The best of several runs counts, because other processes may use the machine.
#include <algorithm>
#include <cstdio>

#include "tests/support/verbatim_run.h"

int main() {
  using namespace verbatim;
  for (const std::string& options : {std::string(), std::string("--call-by-call")}) {
    double best = 1e9;
    support::RunReport last;
    for (int i = 0; i < 5; ++i) {
      support::RunRequest request{.commands = {"server=ibv_rc_pingpong", "client=ibv_rc_pingpong server"}};
      if (!options.empty()) request.options = {options};
      last = support::run(request);
      if (last.code != 0) {
        std::printf("%s\n", last.story().c_str());
        return 1;
      }
      best = std::min(best, last.report["wall_seconds"].get<double>());
    }
    std::printf(
        "ibv_rc_pingpong, 1000 iterations of 4096 bytes%s: %.3f s wall time, %llu hand-overs, %llu events, "
        "%llu packets\n",
        options.empty() ? "" : (", " + options.substr(2)).c_str(), best,
        last.report["hand_overs"].get<unsigned long long>(), last.report["events"].get<unsigned long long>(),
        last.report["packets"].get<unsigned long long>());
  }
  return 0;
}
