// Debian's ibnetdiscover within an imported fabric prints the imported fabric: GUIDs, names, ports, LIDs and
// links.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "sim/config/cabling.h"
#include "sim/config/import/import.h"
#include "sim/config/import/opensm.h"
#include "sim/config/load.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::real {
namespace {

// Sorts blocks of nodes and lines within them; removes comments, blanks, vendors, and the kind of port 0.
std::string normalised(const std::string& text) {
  std::set<std::string> blocks;
  std::vector<std::string> block;
  const auto end_block = [&] {
    std::sort(block.begin(), block.end());
    std::string joined;
    for (const std::string& line : block) joined += line + "\n";
    if (!joined.empty()) blocks.insert(joined);
    block.clear();
  };
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) end_block();
    if (line.empty() || line.front() == '#' || line.starts_with("vendid")) continue;
    std::istringstream words(line);
    std::string joined;
    for (std::string word; words >> word;) {
      if (word != "enhanced" && word != "base") joined += (joined.empty() ? "" : " ") + word;
    }
    block.push_back(joined);
  }
  end_block();
  std::string joined;
  for (const std::string& one : blocks) joined += one + "\n";
  return joined;
}

// The output of ibnetdiscover on a host of the fabric that the text describes.
std::string printed_in(const std::string& text, const std::string& host) {
  namespace imports = config::imports;
  config::Diagnostics diagnostics;
  const std::vector<imports::Source> sources{{"discovered", text}};
  const auto fabric = imports::read_fabric(sources, std::nullopt, diagnostics);
  if (!fabric) {
    ADD_FAILURE() << to_string(diagnostics.findings().front());
    return {};
  }
  const support::TemporaryFolder folder;
  const std::string topology = folder.path() + "/t.json";
  std::ofstream(topology) << imports::write_topology(*fabric, {}).text;
  const support::RunReport run =
      support::run({.topology = topology, .commands = {host + "=ibnetdiscover"}, .options = {"--time-limit", "100s"}});
  EXPECT_EQ(run.code, 0) << run.story();
  return run.output(host);
}

bool is_installed() { return std::filesystem::exists("/usr/sbin/ibnetdiscover"); }

// A host with two adapters, unordered ports, three rates, and LIDs with gaps.
constexpr const char* kFabric = R"(
vendid=0x2c9
devid=0xd2f0
sysimgguid=0x2c9020000a001
switchguid=0x2c9020000a000(2c9020000a000)
Switch 40 "S-0002c9020000a000"  # "leaf one" enhanced port 0 lid 11 lmc 0
[1] "H-0002c9020000b000"[1](2c9020000b001)   # "node01 mlx5_0" lid 20 4xHDR
[2] "H-0002c9020000b100"[1](2c9020000b101)   # "node01 mlx5_1" lid 300 4xEDR
[40] "S-0002c9020000a100"[3]  # "spine" lid 12 4xHDR

vendid=0x2c9
devid=0xd2f2
sysimgguid=0x2c9020000a100
switchguid=0x2c9020000a100(2c9020000a100)
Switch 64 "S-0002c9020000a100"  # "spine" enhanced port 0 lid 12 lmc 0
[3] "S-0002c9020000a000"[40]  # "leaf one" lid 11 4xHDR
[4] "H-0002c9020000c000"[1](2c9020000c001)   # "node02 HCA-1" lid 22 2xHDR

vendid=0x2c9
devid=0x101b
sysimgguid=0x2c9020000b000
caguid=0x2c9020000b000
Ca 1 "H-0002c9020000b000"  # "node01 mlx5_0"
[1](2c9020000b001)  "S-0002c9020000a000"[1]  # lid 20 lmc 0 "leaf one" lid 11 4xHDR

vendid=0x2c9
devid=0x1013
sysimgguid=0x2c9020000b000
caguid=0x2c9020000b100
Ca 1 "H-0002c9020000b100"  # "node01 mlx5_1"
[1](2c9020000b101)  "S-0002c9020000a000"[2]  # lid 300 lmc 0 "leaf one" lid 11 4xEDR

vendid=0x2c9
devid=0x101b
sysimgguid=0x2c9020000c000
caguid=0x2c9020000c000
Ca 1 "H-0002c9020000c000"  # "node02 HCA-1"
[1](2c9020000c001)  "S-0002c9020000a100"[4]  # lid 22 lmc 0 "spine" lid 12 2xHDR
)";

TEST(ImportedFabric, is_what_ibnetdiscover_prints_in_it) {
  if (!is_installed()) GTEST_SKIP() << "infiniband-diags is not installed";
  EXPECT_EQ(normalised(printed_in(kFabric, "node02")), normalised(kFabric));
}

TEST(ImportedFabric, of_sixteen_hosts_is_the_one_that_was_discovered) {
  if (!is_installed()) GTEST_SKIP() << "infiniband-diags is not installed";
  const support::RunReport first =
      support::run({.topology = "leaf_spine_16", .commands = {"h3=ibnetdiscover"}, .options = {"--time-limit", "100s"}});
  ASSERT_EQ(first.code, 0) << first.story();
  const std::string discovered = first.output("h3");
  EXPECT_EQ(normalised(printed_in(discovered, "h3")), normalised(discovered));
}

// OpenSM configures a fabric with ftree; its list of links and its dump of tables become a topology with its
// LIDs and routes.
TEST(ImportedFabric, has_the_routes_that_opensm_has_dumped) {
  if (!std::filesystem::exists("/usr/sbin/opensm")) GTEST_SKIP() << "opensm is not installed";
  const support::TemporaryFolder folder;
  const std::string conf = folder.path() + "/opensm.conf", topology = folder.path() + "/t.json",
                    scenario = folder.path() + "/s.json";
  std::ofstream(conf) << "dump_files_dir /tmp\n";
  std::ofstream(topology) << nlohmann::json{
      {"name", "t"},
      {"subnet_manager", "none"},
      {"generate", {{"shape", "leaf_spine"}, {"hosts", 8}, {"hosts_per_leaf", 4}, {"spines", 2}, {"rate", "EDR 4x"}}}};
  const nlohmann::json script = {
      "sh", "-c",
      "opensm -o -R ftree -D 0x43 -f /tmp/log -F /tmp/opensm.conf >/dev/null; cat /tmp/opensm-subnet.lst; "
      "echo =====; cat /tmp/opensm-lfts.dump"};
  const nlohmann::json manager = {
      {"host", "h0"}, {"command", script}, {"start", "1 s"}, {"files", {{"/tmp/opensm.conf", conf}}}};
  std::ofstream(scenario) << nlohmann::json{{"topology", topology}, {"programs", {manager}}, {"time_limit", "100 s"}};
  const support::RunReport run = support::run({.scenario = scenario});
  const std::string& output = run.output("h0");
  const std::size_t cut = output.find("=====\n");
  ASSERT_NE(cut, std::string::npos) << run.story();

  namespace imports = config::imports;
  config::Diagnostics diagnostics;
  const std::vector<imports::Source> sources{{"links", output.substr(0, cut)}, {"tables", output.substr(cut + 6)}};
  const auto fabric = imports::read_fabric(sources, std::nullopt, diagnostics);
  ASSERT_TRUE(fabric) << to_string(diagnostics.findings().front());
  config::FileTexts files;
  files.texts["imported.json"] = imports::write_topology(*fabric, {}).text;
  const auto imported =
      config::load_topology("imported.json", {{VERBATIM_SOURCE_DIR "/topologies/profiles"}, &files}, diagnostics);
  ASSERT_TRUE(imported) << to_string(diagnostics.findings().front());
  const subnet::Plan plan = config::plan_of(*imported);
  imports::LineFindings findings("tables", diagnostics);
  const auto tables = imports::read_forwarding_tables(sources[1].text, findings);
  ASSERT_TRUE(tables);
  std::size_t compared = 0;
  for (const subnet::NodePlan& node : plan.nodes) {
    if (node.forwarding_table.empty()) continue;
    for (const imports::TableEntry& entry : tables->at(node.guid)) {
      EXPECT_EQ(node.forwarding_table.at(entry.lid).value, entry.port) << "LID " << entry.lid;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 4u * 12u - 2u);  // ftree has no routes between spines
}

}  // namespace
}  // namespace verbatim::real
