// Debian's OpenSM on a host of a fabric that has no subnet manager of its own: it finds everything, gives LIDs and tables and
// makes ports active; programs then run over what it has laid.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/equality/both_modes.h"

namespace verbatim::real {
namespace {

nlohmann::json star() {
  return {{"name", "star"},
          {"subnet_manager", "none"},
          {"hosts",
           {{{"name", "server"}, {"hca", "edr_hca"}, {"cpu", "cpu"}}, {{"name", "client"}, {"hca", "edr_hca"}, {"cpu", "cpu"}}}},
          {"switches", {{{"name", "leaf0"}, {"profile", "edr_switch"}, {"ports", 8}}}},
          {"links",
           {{{"a", "server"}, {"b", "leaf0:1"}, {"rate", "EDR 4x"}, {"length", "2 m"}},
            {{"a", "client"}, {"b", "leaf0:2"}, {"rate", "EDR 4x"}, {"length", "2 m"}}}}};
}

nlohmann::json leaf_spine(int hosts, int per_leaf, int spines) {
  return {{"name", "leaf_spine"},
          {"subnet_manager", "none"},
          {"generate",
           {{"shape", "leaf_spine"}, {"hosts", hosts}, {"hosts_per_leaf", per_leaf}, {"spines", spines}, {"rate", "EDR 4x"},
            {"length", "2 m"}}}};
}

class OpenSm : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists("/usr/sbin/opensm")) GTEST_SKIP() << "opensm is not installed";
  }

  std::string write(const nlohmann::json& topology, const nlohmann::json& programs,
                    const nlohmann::json& faults = nlohmann::json::array()) {
    const std::string at = folder_.path() + "/topology.json", scenario = folder_.path() + "/scenario.json";
    std::ofstream(at) << topology;
    std::ofstream(scenario) << nlohmann::json{{"topology", at}, {"programs", programs}, {"faults", faults}, {"time_limit", "100 s"}};
    return scenario;
  }
  // OpenSM keeps what it has found in files, which would reach the next run: here they are the host's own.
  static nlohmann::json program(const char* host, const std::string& command, const char* start = "0 s") {
    const nlohmann::json folders = {{"OSM_CACHE_DIR", "/tmp"}, {"OSM_TMP_DIR", "/tmp"}};
    return {{"host", host}, {"command", command}, {"start", start}, {"env", folders}};
  }

  support::TemporaryFolder folder_;
};

TEST_F(OpenSm, ports_are_in_init_until_it_has_been_there) {
  const equality::BothModes runs = equality::run_both(
      write(star(), {program("server", "ibstat"), program("server", "opensm -o -f /dev/stdout", "1 s"),
                     program("client", "ibstat", "20 s")}));
  equality::expect_equal(runs);
  EXPECT_NE(runs.slices.output("server").find("State: Initializing"), std::string::npos) << runs.slices.story();
  EXPECT_NE(runs.slices.output("client").find("State: Active"), std::string::npos) << runs.slices.story();
}

TEST_F(OpenSm, programs_run_over_its_tables) {
  for (const char* engine : {"minhop", "updn", "ftree"}) {
    const support::RunReport run = support::run(
        {.scenario = write(leaf_spine(8, 4, 2), {program("h0", std::string("opensm -o -f /dev/stdout -R ") + engine),
                                                 program("h5", "ib_write_bw -n 100", "30 s"),
                                                 program("h2", "ib_write_bw -n 100 h5", "31 s")})});
    EXPECT_EQ(run.code, 0) << run.story();
    const std::string says = std::string(engine) + " tables configured on all switches";
    EXPECT_NE(run.output("h0").find(says), std::string::npos) << run.story();
    EXPECT_NE(run.output("h2").find("BW average"), std::string::npos) << engine << run.story();
  }
}

// A switch's trap 128 makes it sweep: what h2 sends to h5 goes by the uplink that is left, whichever that is.
TEST_F(OpenSm, lays_new_routes_when_a_cable_between_switches_fails) {
  nlohmann::json manager = program("h0", "opensm -f /dev/stdout");
  manager["background"] = true;
  for (const char* uplink : {"leaf0:5", "leaf0:6"}) {
    const support::RunReport run = support::run(
        {.scenario = write(leaf_spine(8, 4, 2), {manager, program("h5", "ib_write_bw -n 100", "30 s"), program("h2", "ib_write_bw -n 100 h5", "31 s")},
                           {{{"action", "link_down"}, {"link", uplink}, {"at", "20 s"}}})});
    EXPECT_EQ(run.code, 0) << run.story();
    EXPECT_NE(run.output("h2").find("BW average"), std::string::npos) << uplink << run.story();
  }
}

// While it runs it is the subnet administrator: of paths for connections, and of records.
TEST_F(OpenSm, answers_while_it_runs) {
  nlohmann::json manager = program("h0", "opensm -f /dev/stdout");
  manager["background"] = true;
  const support::RunReport run = support::run(
      {.scenario = write(leaf_spine(8, 4, 2), {manager, program("h1", "rping -s -a h1 -C 5", "2 s"),
                                               program("h6", "rping -c -a h1 -C 5 -v", "3 s"), program("h2", "saquery", "3 s"),
                                               program("h3", "sminfo", "3 s")})});
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_NE(run.output("h6").find("ping data: rdma-ping-4:"), std::string::npos) << run.story();
  EXPECT_NE(run.output("h2").find("NodeDescription.........spine1"), std::string::npos) << run.story();
  EXPECT_NE(run.output("h3").find("SMINFO_MASTER"), std::string::npos) << run.story();
}

}  // namespace
}  // namespace verbatim::real
