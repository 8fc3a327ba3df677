// Traps of ports and switches to a subnet manager: the simulation's own represses them, OpenSM acts on them,
// and tshark decodes them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/equality/both_modes.h"
#include "tests/real/captured.h"

namespace verbatim::real {
namespace {

struct TrapsSeen {
  std::set<std::string> traps, repressed;  // numbers
  int malformed = 0;
};

// Each datagram is seen at both ends of a cable.
TrapsSeen traps_in(const std::string& capture) {
  const std::string all =
      tshark_fields(capture, "infiniband.mad.attributeid == 0x0002",
                    "-e infiniband.mad.method -e infiniband.notice.trapnumberdeviceid -e _ws.malformed");
  TrapsSeen seen;
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string method, number, malformed;
    std::getline(words, method, '\t');
    std::getline(words, number, '\t');
    std::getline(words, malformed, '\t');
    (method == "0x05" ? seen.traps : seen.repressed).insert(number);
    seen.malformed += !malformed.empty();
  }
  return seen;
}

class Traps : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists("/usr/sbin/opensm")) GTEST_SKIP() << "opensm is not installed";
    if (!std::filesystem::exists("/usr/sbin/smpquery")) GTEST_SKIP() << "infiniband-diags is not installed";
    if (!tshark_is_installed()) GTEST_SKIP() << "tshark is not installed";
  }

  // Three hosts around a switch; OpenSM on the first, unless the simulation manages the subnet itself.
  std::string scenario(const nlohmann::json& programs, const nlohmann::json& faults = nlohmann::json::array(),
                       const char* manager = "none") {
    nlohmann::json topology = {
        {"name", "star"}, {"subnet_manager", manager}, {"hosts", nlohmann::json::array()}};
    topology["switches"] = {{{"name", "leaf0"}, {"profile", "edr_switch"}, {"ports", 8}}};
    for (int i = 0; i < 3; ++i) {
      const std::string host = "h" + std::to_string(i);
      topology["hosts"].push_back({{"name", host}, {"hca", "edr_hca"}, {"cpu", "cpu"}});
      topology["links"].push_back(
          {{"a", host}, {"b", "leaf0:" + std::to_string(i + 1)}, {"rate", "EDR 4x"}, {"length", "2 m"}});
    }
    std::ofstream(folder_.path() + "/topology.json") << topology;
    const std::string path = folder_.path() + "/scenario.json";
    std::ofstream(path) << nlohmann::json{{"topology", folder_.path() + "/topology.json"},
                                          {"programs", programs},
                                          {"faults", faults},
                                          {"time_limit", "100 s"}};
    return path;
  }
  static nlohmann::json program(const char* host, const std::string& command, const char* start = "0 s",
                                bool background = false) {
    const nlohmann::json folders = {{"OSM_CACHE_DIR", "/tmp"}, {"OSM_TMP_DIR", "/tmp"}};
    return {
        {"host", host}, {"command", command}, {"start", start}, {"env", folders}, {"background", background}};
  }
  static nlohmann::json opensm(const char* host, const std::string& options = "", const char* start = "0 s") {
    return program(host, "opensm -f /dev/stdout " + options, start, true);
  }
  equality::BothModes run(const std::string& path) {
    support::RunRequest request;
    request.scenario = path;
    request.options = {"--pcap", capture()};
    return equality::run_both(request);
  }
  std::string capture() const { return folder_.path() + "/traps.pcapng"; }

  support::TemporaryFolder folder_;
};

using Numbers = std::set<std::string>;

// Trap 258, which describes the datagram; and the count in PortInfo.
TEST_F(Traps, of_a_wrong_q_key_are_repressed_by_the_simulations_own_manager) {
  const auto runs = run(scenario({program("h2", support::quoted(REAL_PROGRAMS "/wrong_key")),
                                  program("h1", "smpquery portinfo 3 1", "3 s")},
                                 nlohmann::json::array(), "simulated"));
  equality::expect_equal(runs);
  const std::string& port = runs.slices.output("h1");
  EXPECT_NE(port.find("QkeyViolations:..................1"), std::string::npos) << runs.slices.story();
  EXPECT_NE(port.find("IsTrapSupported"), std::string::npos) << runs.slices.story();
  const TrapsSeen seen = traps_in(capture());
  EXPECT_EQ(seen.traps, Numbers{"0x0102"});
  EXPECT_EQ(seen.repressed, Numbers{"0x0102"});
  EXPECT_EQ(seen.malformed, 0);
}

// Trap 257, for the port of h1, which the packets of another partition reach. In slices alone: who waits for the retries polls.
TEST_F(Traps, of_a_wrong_p_key_name_the_partition) {
  support::RunRequest request;
  request.topology = "partitions_4";
  request.commands = {"h1=sh -c 'ib_write_bw -n 5 --pkey_index=1 || true'",
                      "h0=sh -c 'ib_write_bw -n 5 --pkey_index=0 h1 || true'",
                      "h2=sh -c 'sleep 20; /usr/sbin/smpquery portinfo 2 1'"};
  request.options = {"--pcap", capture(), "--time-limit", "100s"};
  const support::RunReport run = support::run(request);
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.output("h2").find("PkeyViolations:..................0"), std::string::npos)
      << run.story();
  const TrapsSeen seen = traps_in(capture());
  EXPECT_EQ(seen.traps, Numbers{"0x0101"});
  EXPECT_EQ(seen.repressed, Numbers{"0x0101"});
  EXPECT_EQ(seen.malformed, 0);
}

// Trap 128: OpenSM sweeps again, long before its own interval has passed, and gives the recovered port its
// LID.
TEST_F(Traps, of_a_link_that_fails_make_opensm_sweep_again) {
  const auto runs =
      run(scenario({opensm("h0", "-s 0"), program("h2", "ibv_asyncwatch", "10 s", true),
                    program("h1", "sleep 30", "15 s")},
                   {{{"action", "link_down"}, {"link", "h2"}, {"at", "20 s"}, {"until", "25 s"}}}));
  equality::expect_equal(runs);
  EXPECT_NE(runs.slices.output("h0").find("num:128 (Link state change)"), std::string::npos)
      << runs.slices.story();
  const std::string& events = runs.slices.output("h2");
  EXPECT_EQ(events.substr(events.find('\n') + 1),
            "  event_type IBV_EVENT_PORT_ERR (10), port 1\n"
            "  event_type IBV_EVENT_CLIENT_REREGISTER (17), port 1\n"
            "  event_type IBV_EVENT_PORT_ACTIVE (9), port 1\n");
  const TrapsSeen seen = traps_in(capture());
  EXPECT_EQ(seen.traps, Numbers{"0x0080"});
  EXPECT_EQ(seen.repressed, Numbers{"0x0080"});
  EXPECT_EQ(seen.malformed, 0);
}

// Trap 256 of the port of h2, whose M_Key is OpenSM's; 144 when another subnet manager begins on h1.
TEST_F(Traps, of_a_wrong_m_key_and_of_another_manager_come_to_opensm) {
  const std::string options = folder_.path() + "/opensm.conf";
  std::ofstream(options) << "m_key 0x1234567890\nm_key_protection_level 2\nm_key_lease_period 0\n";
  const auto runs =
      run(scenario({opensm("h0", "-p 15 -F " + support::quoted(options)),
                    opensm("h1", "-p 1 -F " + support::quoted(options), "15 s"),
                    program("h2", "sh -c 'sleep 5; /usr/sbin/smpquery portinfo 1 1 || sleep 20'", "10 s")}));
  equality::expect_equal(runs);
  EXPECT_NE(runs.slices.output("h0").find("num:256"), std::string::npos) << runs.slices.story();
  EXPECT_NE(runs.slices.output("h0").find("num:144"), std::string::npos) << runs.slices.story();
  const TrapsSeen seen = traps_in(capture());
  EXPECT_TRUE(seen.traps.contains("0x0090")) << "h0's own stay within its adapter";
  EXPECT_EQ(seen.malformed, 0);
}

// A manager's settings reach programs as asynchronous events: its LID and its own, partitions, the prefix of
// GIDs, and that clients should register again.
TEST_F(Traps, settings_of_opensm_are_asynchronous_events) {
  const std::string options = folder_.path() + "/opensm.conf",
                    partitions = folder_.path() + "/partitions.conf";
  std::ofstream(options) << "subnet_prefix 0xfec0000000000000\npartition_config_file " << partitions << "\n";
  std::ofstream(partitions) << "Default=0x7fff,ipoib:ALL=full;\nred=0x0001:ALL=full;\n";
  const auto runs = run(
      scenario({program("h2", "ibv_asyncwatch", "0 s", true),
                opensm("h0", "-F " + support::quoted(options), "1 s"), program("h1", "sleep 20", "1 s")}));
  equality::expect_equal(runs);
  for (const char* event :
       {"LID_CHANGE", "SM_CHANGE", "PKEY_CHANGE", "GID_CHANGE", "CLIENT_REREGISTER", "PORT_ACTIVE"}) {
    EXPECT_NE(runs.slices.output("h2").find(std::string("IBV_EVENT_") + event), std::string::npos)
        << runs.slices.story();
  }
}

}  // namespace
}  // namespace verbatim::real
