// Debian's OpenSM on a host of a fabric that has no subnet manager of its own: it finds everything, gives LIDs and tables and
// makes ports active; programs then run over what it has laid.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

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

// A switch's trap 128 starts a sweep: traffic from h2 to h5 then uses the remaining uplink.
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

// A torus of 6 x 5 whose switch at (3, 2) has failed: the hosts and switches that are left.
class OpenSmTorus : public OpenSm {
 protected:
  static constexpr int kX = 6, kY = 5, kFailed = 3 * kY + 2;
  static std::uint64_t guid_of(int place) { return 0x200000u + 16u * static_cast<unsigned>(place); }
  static std::string name_of(char kind, int place) { return kind + std::to_string(place / kY) + std::to_string(place % kY); }

  // `manager`: none, or the simulation's own, which has the failed switch as one without cables.
  nlohmann::json torus(const std::string& manager) const {
    std::ofstream(folder_.path() + "/lanes.json")
        << R"({"profile": "switch", "name": "lanes", "virtual_lanes": 8})";
    std::ofstream(folder_.path() + "/eight.json")
        << R"({"profile": "hca", "name": "eight", "virtual_lanes": 8})";
    nlohmann::json hosts, switches, links, names;
    const auto join = [&](const std::string& a, const std::string& b) {
      links.push_back({{"a", a}, {"b", b}, {"rate", "EDR 4x"}, {"length", "2 m"}});
    };
    for (int place = 0; place < kX * kY; ++place) {
      const std::string own = name_of('s', place);
      names.push_back(own);
      std::ostringstream guid;
      guid << "0x" << std::hex << guid_of(place);
      if (place != kFailed || manager != "none")
        switches.push_back(
            {{"name", own}, {"profile", "lanes"}, {"ports", 8}, {"node", {{"guid", guid.str()}}}});
      if (place != kFailed)
        hosts.push_back({{"name", name_of('h', place)}, {"hca", "eight"}, {"cpu", "cpu"}});
      if (place != kFailed) join(name_of('h', place), own + ":1");
      const int right = (place / kY + 1) % kX * kY + place % kY, up = place / kY * kY + (place % kY + 1) % kY;
      if (place != kFailed && right != kFailed) join(own + ":2", name_of('s', right) + ":3");
      if (place != kFailed && up != kFailed) join(own + ":4", name_of('s', up) + ":5");
    }
    nlohmann::json topology = {{"name", "torus"}, {"hosts", hosts}, {"switches", switches}, {"links", links}};
    if (manager == "none") {
      topology["subnet_manager"] = "none";
    } else {
      topology["routing_engine"] = "torus-2QoS,no_fallback";
      topology["torus_2qos"] = {{"shape", "torus 6 5"}, {"switches", names}};
    }
    return topology;
  }

  // Output of dump_fts: port by switch and host.
  static std::map<std::pair<std::string, std::string>, int> tables_of(const std::string& output) {
    std::map<std::pair<std::string, std::string>, int> tables;
    std::istringstream lines(output);
    std::string from;
    for (std::string line; std::getline(lines, line);) {
      const std::size_t name = line.rfind('(');
      if (line.find("nicast lids") != std::string::npos) from = line.substr(name + 1, 3);
      const std::size_t adapter = line.find("Channel Adapter portguid"), quote = line.find('\'');
      if (adapter != std::string::npos)
        tables[{from, line.substr(quote + 1, 3)}] = std::stoi(line.substr(7, 3));
    }
    return tables;
  }
};

TEST_F(OpenSmTorus, has_the_tables_of_the_simulations_engine_around_a_failed_switch) {
  std::ostringstream seed;
  seed << "torus 6 5 1\n"
       << std::hex << "xp_link 0x" << guid_of(0) << " 0x" << guid_of(kY) << "\nyp_link 0x" << guid_of(0)
       << " 0x" << guid_of(1) << "\n";
  const std::string file = folder_.path() + "/torus.conf";
  std::ofstream(file) << seed.str();
  nlohmann::json manager =
      program("h00", "opensm -o -f /dev/stdout -Q -R torus-2QoS --torus_config /tmp/torus.conf");
  manager["files"] = {{"/tmp/torus.conf", file}};
  const support::RunReport theirs =
      support::run({.scenario = write(torus("none"), {manager, program("h00", "dump_fts", "30 s")})});
  EXPECT_EQ(theirs.code, 0) << theirs.story();
  EXPECT_NE(theirs.output("h00").find("torus-2QoS tables configured on all switches"), std::string::npos)
      << theirs.story();
  const support::RunReport ours =
      support::run({.scenario = write(torus("simulated"), nlohmann::json::array({program("h00", "dump_fts")}))});
  EXPECT_EQ(ours.code, 0) << ours.story();
  const auto tables = tables_of(ours.output("h00"));
  constexpr std::size_t kLeft = kX * kY - 1;
  EXPECT_EQ(tables.size(), kLeft * kLeft);
  EXPECT_EQ(tables, tables_of(theirs.output("h00.2")));
}

// Four hosts write to h, one of them from the other switch, over the cable that v and w use, too; it has room
// for both.
nlohmann::json hot_spot() {
  nlohmann::json hosts, links;
  const auto add = [&](const char* name, const char* port) {
    hosts.push_back({{"name", name}, {"hca", "edr_hca"}});
    links.push_back({{"a", name}, {"b", port}, {"rate", "EDR 4x"}, {"length", "5 m"}});
  };
  constexpr std::pair<const char*, const char*> kCables[] = {{"a", "s0:1"}, {"v", "s0:2"}, {"b", "s1:1"},
                                                             {"c", "s1:2"}, {"d", "s1:4"}, {"h", "s1:5"},
                                                             {"w", "s1:6"}};
  for (const auto& [name, port] : kCables) add(name, port);
  links.push_back({{"a", "s0:3"}, {"b", "s1:3"}, {"rate", "HDR 4x"}, {"length", "5 m"}});
  return {{"name", "hot_spot"},
          {"subnet_manager", "none"},
          {"hosts", hosts},
          {"switches",
           {{{"name", "s0"}, {"profile", "quantum"}, {"ports", 8}},
            {{"name", "s1"}, {"profile", "quantum"}, {"ports", 8}}}},
          {"links", links}};
}

class OpenSmCongestion : public OpenSm {
 protected:
  // Options of OpenSM's congestion control, with the values that Gran and others have evaluated.
  static std::string options() {
    std::string text =
        "congestion_control TRUE\n"
        "cc_sw_cong_setting_control_map 0x1f\n"
        "cc_sw_cong_setting_threshold 0x0F\n"
        "cc_sw_cong_setting_packet_size 8\n"
        "cc_sw_cong_setting_marking_rate 0\n"
        "cc_ca_cong_setting_port_control 0x0000\n"
        "cc_ca_cong_setting_control_map 0xffff\n"
        "cc_ca_cong_setting_ccti_timer 0 150\n"
        "cc_ca_cong_setting_ccti_increase 0 1\n"
        "cc_ca_cong_setting_trigger_threshold 0 2\n"
        "cc_ca_cong_setting_ccti_min 0 0\n"
        "cc_cct 2:0";
    for (int i = 1; i < 128; ++i) text += ",2:" + std::to_string(i);
    return text + "\n";
  }
  support::RunReport run(bool is_controlled, bool is_alone = false) {
    const std::string file = folder_.path() + "/opensm.conf";
    std::ofstream(file) << (is_controlled ? options() : "congestion_control FALSE\n");
    nlohmann::json manager = program("w", "opensm -o -f /dev/stdout -F /tmp/opensm.conf");
    manager["files"] = {{"/tmp/opensm.conf", file}};
    nlohmann::json programs = {manager, program("w", "ib_write_bw -n 1000", "30 s"), program("v", "ib_write_bw -n 1000 w", "31010 ms")};
    int port = 19'000;
    for (const char* const from : {"a", "b", "c", "d"}) {
      if (is_alone) break;
      const std::string options = "ib_write_bw -n 2000 -p " + std::to_string(++port);
      programs.push_back(program("h", options, "30 s"));
      programs.push_back(program(from, options + " h", "31 s"));
    }
    for (const char* const asks : {"SwitchCongestionSetting", "CongestionLog"}) {
      programs.push_back(program("w", std::string("ibccquery ") + asks + " 3", "60 s"));
    }
    for (const char* const asks : {"CACongestionSetting", "CongestionControlTable", "CongestionLog"}) {
      programs.push_back(program("a", std::string("ibccquery ") + asks + " 4", "60 s"));
    }
    return support::run({.scenario = write(hot_spot(), programs)});
  }
  // MB/s of the writes from v to w.
  static double bandwidth(const support::RunReport& run) {
    std::istringstream lines(run.output("v"));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream numbers(line);
      double size = 0, count = 0, peak = 0, average = 0;
      if (numbers >> size >> count >> peak >> average) return average;
    }
    ADD_FAILURE() << run.story();
    return 0;
  }
};

TEST_F(OpenSmCongestion, its_settings_reach_the_ports_and_relieve_a_hot_spot) {
  const double alone = bandwidth(run(false, true));
  const support::RunReport without = run(false), with = run(true);
  EXPECT_EQ(with.code, 0) << with.story();
  EXPECT_LT(bandwidth(without), 0.5 * alone);
  EXPECT_GE(bandwidth(with), 0.9 * alone) << with.story();
  for (const char* const text : {"Threshold:.......................0x0f", "Packet_Size:.....................8"}) {
    EXPECT_NE(with.output("w.3").find(text), std::string::npos) << text << with.output("w.3");
  }
  const std::string adapter = with.output("a.2") + with.output("a.3") + with.output("a.4");
  for (const char* const text : {"CCTI_Timer:......................150", "CCTI_Increase:...................1",
                                 "CCTI_Limit:......................127", "CCT_Multiplier:..................63",
                                 "ThresholdCongestionEventMap:.....0x0001"}) {
    EXPECT_NE(adapter.find(text), std::string::npos) << text << adapter;
  }
}

}  // namespace
}  // namespace verbatim::real
