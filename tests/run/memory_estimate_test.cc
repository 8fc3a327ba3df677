// A run that does not fit into the machine's memory is refused before it starts.
#include <gmock/gmock.h>

#include "tools/verbatim/memory_estimate.h"

namespace verbatim::cli {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMib = 1 << 20;

config::ScenarioSpec star(std::size_t hosts, std::size_t programs, std::size_t flows) {
  config::ScenarioSpec scenario;
  scenario.topology.hosts.resize(hosts);
  scenario.topology.adapters.resize(hosts);
  scenario.topology.switches.resize(1);
  scenario.topology.switches[0].ports = static_cast<std::uint32_t>(hosts);
  scenario.programs.resize(programs);
  if (flows > 0) scenario.traffic.kinds.emplace_back();
  for (std::size_t i = 0; i < flows; ++i) {
    workload::FlowPlan& flow = scenario.traffic.flows.emplace_back();
    flow.from = static_cast<std::uint32_t>(i % hosts);
    flow.to = static_cast<std::uint32_t>((i + 1) % hosts);
  }
  return scenario;
}

TEST(MemoryEstimate, grows_with_hosts_and_with_traffic) {
  const CheckLevels checks;
  const auto idle = estimate_memory(star(1000, 0, 1), checks), twice = estimate_memory(star(2000, 0, 1), checks);
  EXPECT_EQ(idle.check_bytes, 0u) << "there is nothing to check without programs";
  EXPECT_EQ(idle.program_bytes, 0u);
  EXPECT_GT(idle.model_bytes, 20 * kMib);
  EXPECT_LT(idle.model_bytes, 60 * kMib);
  EXPECT_NEAR(static_cast<double>(twice.total()) / static_cast<double>(idle.total()), 2, 0.1);
  EXPECT_GT(estimate_memory(star(1000, 0, 1000), checks).total(), idle.total() + 20 * kMib);
}

TEST(MemoryEstimate, light_endpoints_take_less_than_half) {
  config::ScenarioSpec scenario = star(1000, 0, 1000);
  const std::uint64_t whole = estimate_memory(scenario, CheckLevels()).total();
  for (config::HostSpec& host : scenario.topology.hosts) host.hca_profile.endpoint = "light";
  for (std::size_t i = 0; i < scenario.topology.adapters.size(); ++i) scenario.topology.adapters[i].host = i;
  EXPECT_LT(estimate_memory(scenario, CheckLevels()).total(), whole / 2);
}

TEST(MemoryEstimate, what_checks_know_of_each_pair_of_hosts_counts_where_there_are_programs) {
  EXPECT_EQ(estimate_memory(star(1000, 1, 0), CheckLevels()).check_bytes, 12'000'000u);
  EXPECT_EQ(estimate_memory(star(1000, 1, 0), CheckLevels({"remote-race=off"})).check_bytes, 8'000'000u);
  EXPECT_EQ(estimate_memory(star(1000, 1, 0), CheckLevels({"remote-race=off", "late-receive=off"})).check_bytes, 0u);
  EXPECT_EQ(estimate_memory(star(2, 1, 0), CheckLevels()).check_bytes, 0u);
}

TEST(MemoryEstimate, what_fits_is_not_refused) {
  const MemoryEstimate estimate{1000, 60 * kMib, 12 * kMib, 3 * kMib};
  EXPECT_EQ(lacking_memory(estimate, 75 * kMib), "");
  EXPECT_NE(lacking_memory(estimate, 75 * kMib - 1), "");
}

TEST(MemoryEstimate, what_does_not_fit_is_told_in_hosts_and_bytes_with_what_to_turn_off) {
  EXPECT_EQ(lacking_memory({1024, 60 * kMib, 0, 0}, 50 * kMib),
            "this run needs at least 60 MiB of memory: 1024 hosts × 60 KiB for adapters, switches and flows; 50 MiB are available; run "
            "with fewer hosts");
  EXPECT_THAT(lacking_memory({1024, 60 * kMib, 12 * kMib, 3 * kMib}, 64 * kMib),
              HasSubstr(", and 12 MiB for the checks remote-race and late-receive, 1024 × 1024 hosts, and 3 MiB for programs; 64 MiB are "
                        "available; turn these checks off with --check remote-race=off --check late-receive=off"));
  EXPECT_THAT(lacking_memory({1024, 60 * kMib, 12 * kMib, 3 * kMib}, 10 * kMib),
              HasSubstr("; run with fewer hosts, or with flows instead of programs"));
}

}  // namespace
}  // namespace verbatim::cli
