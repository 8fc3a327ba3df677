// Debian's unmodified infiniband-diags on simulated hosts: each queries the agents of ports and switches, or
// the subnet administrator, in slices and call by call; and the datagrams that they send, according to
// tshark.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "tests/equality/both_modes.h"
#include "tests/real/captured.h"

namespace verbatim::real {
namespace {

struct Diagnosis {
  const char* name;
  const char* command;
  std::vector<const char*> says;
  const char* topology = "two_hosts";
  const char* host = "client";
  const char* other = "";  // a program on the other host, first
};

const Diagnosis kDiagnoses[] = {
    {"ibstat", "ibstat", {"CA 'mlx5_0'", "State: Active", "Physical state: LinkUp", "Rate: 100", "Base lid: 1"}},
    {"ibstat_ports", "ibstat -p", {"0x0256420000000101"}},
    {"ibstatus", "ibstatus", {"base lid:", "4: ACTIVE", "100 Gb/sec (4X EDR)", "InfiniBand"}},
    {"ibaddr", "ibaddr", {"GID fe80::256:4200", "LID start 0x1 end 0x1"}},
    {"ibnodes", "ibnodes", {"\"client mlx5_0\"", "\"server mlx5_0\"", "Switch\t: 0x", "ports 36 \"leaf0\""}},
    {"ibhosts", "ibhosts", {"\"client mlx5_0\"", "\"server mlx5_0\""}},
    {"ibswitches", "ibswitches", {"ports 36 \"leaf0\" base port 0 lid 3 lmc 0"}},
    {"ibnetdiscover", "ibnetdiscover", {"Switch\t36", "# \"server mlx5_0\" lid 2 4xEDR", "Ca\t1"}},
    {"iblinkinfo", "iblinkinfo", {"25.78125 Gbps Active/  LinkUp", "\"server mlx5_0\"", "Down/ Polling"}},
    {"perfquery", "perfquery", {"PortSelect:......................1", "PortXmitPkts", "VL15Dropped:.....................0"}},
    {"perfquery_of_a_switch", "perfquery 3 2", {"PortSelect:......................2", "PortXmitPkts"}},
    {"perfquery_of_all_ports", "perfquery -a 3", {"PortSelect:......................255"}},
    {"perfquery_extended", "perfquery -x 2", {"PortXmitData", "PortUnicastRcvPkts", "PortMulticastXmitPkts:...........0"}},
    {"perfquery_reset", "perfquery -R 3 2", {}},
    {"congestion_info", "ibccquery CongestionInfo 2", {"ControlTableCap:.................2"}},
    {"congestion_settings", "ibccquery CACongestionSetting 2", {"Port_Control:....................0x0000", "CCTI_Increase:...................0"}},
    {"congestion_table", "ibccquery CongestionControlTable 2", {"CCTI_Limit:......................0"}},
    {"congestion_of_a_switch", "ibccquery SwitchCongestionSetting 3", {"Threshold:.......................0x00"}},
    {"congestion_log_of_a_switch", "ibccquery CongestionLog 3", {"LogType:.........................1", "LogEventsCounter:................0"}},
    {"congestion_log", "ibccquery CongestionLog 2", {"LogType:.........................2"}},
    {"congestion_key", "ibccquery CongestionKeyInfo 2", {"CC_KeyProtectBit:................0"}},
    {"congestion_time", "ibccquery Timestamp 2", {"Timestamp:"}},
    {"nodeinfo", "smpquery nodeinfo 2", {"NodeType:........................Channel Adapter", "NumPorts:........................1"}},
    {"nodeinfo_directed", "smpquery -D nodeinfo 0,1", {"NodeType:........................Switch", "LocalPort:"}},
    {"nodeinfo_of_itself", "smpquery -D nodeinfo 0", {"Channel Adapter"}},
    {"nodeinfo_beyond", "smpquery -D nodeinfo 0,1,1", {"Channel Adapter"}},
    {"nodeinfo_combined", "smpquery -c nodeinfo 3 0,1", {"Channel Adapter"}},
    {"portinfo", "smpquery portinfo 2 1", {"LinkState:.......................Active", "LinkWidthActive:.................4X",
                                           "Lid:.............................2", "25.78125 Gbps"}},
    {"nodedesc", "smpquery nodedesc 3", {"leaf0"}},
    {"switchinfo", "smpquery switchinfo 3", {"LinearFdbCap:....................49151", "LinearFdbTop:....................3"}},
    {"pkeys", "smpquery pkeys 2", {"0xffff"}},
    {"sl2vl", "smpquery sl2vl 2", {"SL2VL"}},
    {"vlarb", "smpquery vlarb 2", {"VLArb"}},
    {"guids", "smpquery guidinfo 2", {"0x02564200"}},
    {"sminfo", "sminfo", {"sm lid 1 sm guid 0x256420000000101", "SMINFO_MASTER"}},
    {"ibroute", "ibroute 3", {"0x0002 00", "3 valid lids dumped"}},
    {"ibtracert", "ibtracert 1 2", {"leaf0", "To ca {"}},
    {"ibqueryerrors", "ibqueryerrors", {"## Summary: 3 nodes checked, 0 bad nodes found"}},
    {"saquery_nodes", "saquery", {"NodeDescription.........server mlx5_0", "NodeDescription.........leaf0"}},
    {"saquery_ports", "saquery PIR", {"PortInfoRecord", "EndPortLid..............3"}},
    {"saquery_links", "saquery LR", {"FromLID....................3"}},
    {"saquery_paths", "saquery PR", {"dlid....................2"}},
    {"saquery_class", "saquery -c", {"Class version............2"}},
    {"saquery_switches", "saquery SWIR", {"LinearFDBTop"}},
    {"saquery_manager", "saquery SMIR", {"SMInfoRecord"}},
    {"ibping", "ibping -c 5 2", {"5 packets transmitted, 5 received, 0% packet loss"}, "two_hosts", "client",
     "server=ibping -S &"},
    {"network", "ibnetdiscover -p", {"SW", "'h15 mlx5_0'"}, "leaf_spine_16", "h3"},
    {"way", "ibtracert 1 16", {"spine", "To ca {"}, "leaf_spine_16", "h3"},
    {"roce_ibstat", "ibstat", {"Link layer: Ethernet", "State: Active"}, "two_hosts_roce"},
};

class InfinibandDiags : public testing::TestWithParam<Diagnosis> {};

TEST_P(InfinibandDiags, says_what_is_there) {
  const Diagnosis& diagnosis = GetParam();
  if (!std::filesystem::exists("/usr/sbin/ibstat")) GTEST_SKIP() << "infiniband-diags is not installed";
  support::RunRequest request;
  request.topology = diagnosis.topology;
  if (*diagnosis.other != '\0') request.commands.push_back(diagnosis.other);
  request.commands.push_back(std::string(diagnosis.host) + "=" + diagnosis.command);
  request.options = {"--time-limit", "100s"};
  const equality::BothModes runs = equality::run_both(request);
  equality::expect_equal(runs);
  for (const char* const text : diagnosis.says) {
    EXPECT_NE(runs.slices.output(diagnosis.host).find(text), std::string::npos) << text << "\n" << runs.slices.story();
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, InfinibandDiags, testing::ValuesIn(kDiagnoses),
                         [](const auto& info) { return std::string(info.param.name); });

// A cable between switches fails at 1 s and is repaired at 3 s; the subnet manager has swept 100 ms later.
TEST(Sweep, ibtracert_shows_the_routes_of_its_time) {
  if (!std::filesystem::exists("/usr/sbin/ibtracert")) GTEST_SKIP() << "infiniband-diags is not installed";
  const support::TemporaryFolder folder;
  const std::string topology = folder.path() + "/t.json", file = folder.path() + "/s.json";
  std::ofstream(topology) << nlohmann::json{
      {"name", "t"}, {"generate", {{"shape", "leaf_spine"}, {"hosts", 8}, {"hosts_per_leaf", 4}, {"spines", 2}, {"rate", "EDR 4x"}}}};
  const auto ask = [](const char* start) { return nlohmann::json{{"host", "h0"}, {"command", "ibtracert 1 5"}, {"start", start}}; };
  const nlohmann::json fault = {{"action", "link_down"}, {"link", "leaf0:5"}, {"at", "1 s"}, {"until", "3 s"}};
  std::ofstream(file) << nlohmann::json{{"topology", topology}, {"programs", {ask("0 s"), ask("2 s"), ask("4 s")}}, {"faults", {fault}}};
  const support::RunReport run = support::run({.scenario = file});
  EXPECT_EQ(run.code, 0) << run.story();
  const std::string spines[] = {"spine0", "spine1", "spine0"};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string output = run.output(i == 0 ? "h0" : "h0." + std::to_string(i + 1));
    EXPECT_NE(output.find("\"" + spines[i] + "\""), std::string::npos) << output;
  }
}

// Before the cable fails, and after the sweep: entries of leaf0 (LID 9) with port 5, and its link there.
TEST(Sweep, saquery_shows_the_tables_and_links_of_its_time) {
  if (!std::filesystem::exists("/usr/sbin/saquery")) GTEST_SKIP() << "infiniband-diags is not installed";
  const support::TemporaryFolder folder;
  std::ofstream(folder.path() + "/t.json")
      << R"({"name": "t", "generate": {"shape": "leaf_spine", "hosts": 8, "hosts_per_leaf": 4, "spines": 2, "rate": "EDR 4x", "cpu": "cpu"}})";
  std::ofstream(folder.path() + "/s.json")
      << R"({"topology": "t.json", "programs": [{"host": "h1", "command": "saquery LFTR 9"}, {"host": "h1", "command": "saquery LR 9"},
            {"host": "h1", "command": "saquery LFTR 9", "start": "2 s"}, {"host": "h1", "command": "saquery LR 9", "start": "3 s"}],
            "faults": [{"action": "link_down", "link": "leaf0:5", "at": "1 s"}]})";
  const support::RunReport run = support::run({.scenario = folder.path() + "/s.json"});
  EXPECT_EQ(run.code, 0) << run.story();
  const std::string by_port = "\t5\n", link = "FromPort...................5";
  EXPECT_NE(run.output("h1").find("\t7" + by_port), std::string::npos) << run.output("h1");
  EXPECT_NE(run.output("h1.2").find(link), std::string::npos);
  EXPECT_NE(run.output("h1.3").find("\t7\t6\n"), std::string::npos) << run.output("h1.3");
  EXPECT_EQ(run.output("h1.3").find("\t7" + by_port), std::string::npos);
  EXPECT_EQ(run.output("h1.4").find(link), std::string::npos);
  EXPECT_NE(run.output("h1.4").find("FromPort...................6"), std::string::npos);
}

TEST(Umad, of_a_failed_adapter_answers_eio) {
  const support::TemporaryFolder folder;
  const std::string file = folder.path() + "/failed.json", program = folder.path() + "/umad.py";
  std::ofstream(program) << "import os\n"
                            "fd = os.open('/dev/infiniband/umad0', os.O_RDWR | os.O_NONBLOCK)\n"
                            "def tell(call):\n"
                            "    try: call()\n"
                            "    except OSError as error: print(error.strerror)\n"
                            "tell(lambda: os.read(fd, 512))\n"
                            "import time\n"
                            "time.sleep(1)\n"
                            "tell(lambda: os.read(fd, 512))\n"
                            "tell(lambda: os.write(fd, bytes(320)))\n";
  const nlohmann::json asks = {{"host", "client"}, {"command", "/usr/bin/python3 " + support::quoted(program)}};
  const nlohmann::json fault = {{"action", "device_fatal"}, {"host", "client"}, {"at", "500 ms"}};
  std::ofstream(file) << nlohmann::json{
      {"topology", support::topology("two_hosts")}, {"programs", {asks}}, {"faults", {fault}}};
  const support::RunReport run = support::run({.scenario = file});
  EXPECT_EQ(run.output("client"), "Resource temporarily unavailable\nInput/output error\nInput/output error\n") << run.story();
}

// device_fatal: reads and writes of programs return EIO from then on, and blocked reads and polls return.
TEST(Umad, wakes_its_readers_when_the_adapter_fails) {
  const support::TemporaryFolder folder;
  const std::string file = folder.path() + "/failed.json", program = folder.path() + "/umad.py";
  std::ofstream(program) << "import os, select, sys\n"
                            "fd = os.open('/dev/infiniband/umad0', os.O_RDWR)\n"
                            "if sys.argv[1] == 'polls':\n"
                            "    watch = select.poll()\n"
                            "    watch.register(fd, select.POLLIN)\n"
                            "    print(watch.poll()[0][1] == select.POLLERR)\n"
                            "else:\n"
                            "    try: os.read(fd, 512)\n"
                            "    except OSError as error: print(error.strerror)\n";
  nlohmann::json programs;
  for (const char* way : {" reads", " polls"}) {
    programs.push_back({{"host", "client"}, {"command", "/usr/bin/python3 " + support::quoted(program) + way}});
  }
  const nlohmann::json fault = {{"action", "device_fatal"}, {"host", "client"}, {"at", "500 ms"}};
  std::ofstream(file) << nlohmann::json{{"topology", support::topology("two_hosts")}, {"programs", programs}, {"faults", {fault}}};
  support::RunRequest request;
  request.scenario = file;
  const equality::BothModes runs = equality::run_both(request);
  equality::expect_equal(runs);
  EXPECT_EQ(runs.slices.code, 0) << runs.slices.story();
  EXPECT_THAT(runs.slices.out, testing::HasSubstr("Input/output error")) << runs.slices.story();
  EXPECT_THAT(runs.slices.out, testing::HasSubstr("True")) << runs.slices.story();
}

// Classes: subnet management by LID and directed, administration, performance, and ibping's vendor class.
TEST(InfinibandDiagsCapture, tshark_reads_every_management_datagram) {
  if (!tshark_is_installed()) GTEST_SKIP() << "tshark is not installed";
  if (!std::filesystem::exists("/usr/sbin/ibstat")) GTEST_SKIP() << "infiniband-diags is not installed";
  const support::TemporaryFolder folder;
  const std::string file = folder.path() + "/diags.pcapng";
  std::set<std::string> classes;
  // From the server, because queries to the manager on its own host do not use a cable.
  for (const char* command : {"iblinkinfo", "smpquery portinfo 1 1", "perfquery -x 3 1", "saquery PR", "ibping -c 1 1"}) {
    support::RunRequest request;
    if (std::string(command).starts_with("ibping")) request.commands.push_back("client=ibping -S &");
    request.commands.push_back(std::string("server=") + command);
    request.options = {"--time-limit", "100s"};
    classes.merge(captured_datagrams(request, file, "-e infiniband.mad.mgmtclass"));
  }
  EXPECT_EQ(classes, (std::set<std::string>{"0x01", "0x03", "0x04", "0x32", "0x81"}));
}

}  // namespace
}  // namespace verbatim::real
