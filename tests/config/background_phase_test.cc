// The start of background traffic is a choice of each sending adapter, and of no other.
#include <gtest/gtest.h>

#include <map>

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

// First arrivals of a load by sender, in ns.
std::map<std::uint32_t, std::int64_t> first_arrivals(const ScenarioSpec& scenario, Choices& choices) {
  Simulation simulation(scenario.topology, 1, choices);
  workload::Workload workload;
  const auto loads = add_loads(simulation, scenario.traffic, workload);
  simulation.engine().run_until(instant_from_ps(1'000'000'000));
  std::map<std::uint32_t, std::int64_t> ns;
  for (const workload::PoissonLoad::Arrival& one : loads.at(0)->arrivals())
    ns.emplace(one.plan.from, one.plan.start.count() / 1000);
  return ns;
}

TEST(BackgroundPhase, a_load_without_end_is_late_by_one_choice_of_each_sender) {
  Folder folder;
  Diagnostics diagnostics;
  const auto scenario = load_scenario(
      folder.write("s.json", R"({"topology": ")" VERBATIM_SOURCE_DIR R"(/topologies/star_8.json", "until": "1 ms", "workloads": [
          {"name": "noise", "pattern": "random", "hosts": ["h0", "h1"], "size": "64 KiB", "load": 0.3, "start": "1 us"}]})"),
      with_profiles(), diagnostics);
  ASSERT_TRUE(scenario) << text_of(diagnostics);
  DefaultChoices none;
  Asked asked;
  const auto before = first_arrivals(*scenario, none), after = first_arrivals(*scenario, asked);
  ASSERT_EQ(before.size(), 2u);
  ASSERT_EQ(after.size(), 2u);
  EXPECT_EQ(asked.actors.size(), 2u);
  EXPECT_EQ(after.at(0) - before.at(0), 200);
  EXPECT_EQ(after.at(1) - before.at(1), 400);
}

}  // namespace
}  // namespace background_phase
}  // namespace verbatim::config
