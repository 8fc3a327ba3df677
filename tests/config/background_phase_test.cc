// The start of background traffic is a choice: of each sending adapter, and of nobody else.
#include <gtest/gtest.h>

#include "sim/config/flows.h"
#include "sim/config/simulation.h"
#include "sim/workload/freedom.h"
#include "tests/config/helpers.h"

namespace verbatim::config {
namespace background_phase {
namespace {

struct Asked final : Choices {
  std::vector<std::string> actors;  // at the site, in order
  std::uint32_t draw(std::string_view site, ComponentId actor, std::uint32_t n) override {
    if (site != workload::freedom::kBackgroundPhase.name) return 0;
    EXPECT_EQ(n, 1 + DelaySite::kSteps * 14);
    actors.push_back(std::to_string(actor.value));
    return static_cast<std::uint32_t>(1 + DelaySite::kSteps * actors.size());  // 200 ns, 400 ns, …
  }
};

std::vector<std::int64_t> starts(const ScenarioSpec& scenario, Choices& choices) {
  Simulation simulation(scenario.topology, 1, choices);
  workload::Workload workload;
  std::vector<std::int64_t> ns;
  for (const workload::Flow* flow : add_traffic(simulation, scenario.traffic, workload))
    ns.push_back(to_ps(flow->params().start) / 1000);
  return ns;
}

TEST(BackgroundPhase, all_background_flows_of_an_adapter_start_later_by_one_choice) {
  Folder folder;
  Diagnostics diagnostics;
  const auto scenario = load_scenario(
      folder.write("s.json", R"({"topology": ")" VERBATIM_SOURCE_DIR R"(/topologies/star_8.json", "workloads": [
          {"name": "noise", "pattern": "shift", "distance": 1, "hosts": ["h0", "h1"], "start": "1 us"},
          {"name": "more", "pattern": "shift", "distance": 1, "hosts": ["h0", "h2"], "size": "1 MiB", "background": true, "start": "2 us"},
          {"name": "own", "pattern": "shift", "distance": 1, "hosts": ["h0", "h3"], "size": "1 MiB", "start": "3 us"}]})"),
      with_profiles(), diagnostics);
  ASSERT_TRUE(scenario) << text_of(diagnostics);
  DefaultChoices none;
  EXPECT_EQ(starts(*scenario, none), (std::vector<std::int64_t>{1000, 1000, 2000, 2000, 3000, 3000}));
  Asked asked;
  EXPECT_EQ(starts(*scenario, asked), (std::vector<std::int64_t>{1200, 1400, 2200, 2800, 3000, 3000}));
  EXPECT_EQ(asked.actors.size(), 3u);
}

}  // namespace
}  // namespace background_phase
}  // namespace verbatim::config
