// Routes of Debian's OpenSM: a run in a fabric of eight lanes, and its tables, levels and lanes. Cables may fail during
// the run.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "sim/config/import/opensm.h"
#include "tests/subnet/planned.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::real {

using fabric::PortNumber;
using subnet::Engine;
using subnet::Graph;
using subnet::NodeKind;
using subnet::Plan;
namespace imports = config::imports;

// Lane of a packet of a level that passes a switch from `in` to `out`.
using Lanes =
    std::function<std::uint8_t(std::size_t node, PortNumber in, PortNumber out, std::uint8_t level)>;

// Routes of one subnet manager. The plan has LIDs and tables; `level` is that of a path between two LIDs.
struct Routed {
  std::string engine;  // that computed the tables
  Plan plan;
  std::function<std::uint8_t(ib::Lid from, ib::Lid to)> level;
  Lanes lane;
  std::size_t needed = 0;  // lanes that the engine reports; 0: not reported
};

struct Asked {
  Engine engine;
  std::vector<std::size_t> roots;  // nodes
  std::optional<subnet::TorusGraph> torus;
  std::vector<std::size_t> broken;  // cables between switches that fail after the first routes
};

// OpenSM's order is by GUID, the built-in engines' by name: GUIDs ascend in the order of names.
inline std::map<std::size_t, std::uint64_t> guids_of_switches(const Graph& graph) {
  std::vector<std::size_t> switches = nodes_of(graph, NodeKind::kSwitch);
  std::ranges::sort(switches, {}, [&](std::size_t node) { return graph.nodes[node].name; });
  std::map<std::size_t, std::uint64_t> guids;
  for (const std::size_t node : switches) guids[node] = 0x200000 + 16 * guids.size();
  return guids;
}

inline std::string hexadecimal(std::uint64_t value) {
  std::ostringstream text;
  text << "0x" << std::hex << value;
  return text.str();
}

inline std::string end_of(const Graph& graph, const subnet::Attachment& at) {
  const subnet::Node& own = graph.nodes[at.node];
  return own.kind == NodeKind::kAdapter ? own.name : own.name + ":" + std::to_string(at.port.value);
}

// One run of OpenSM in a fabric of eight lanes. Cables fail at 20 s; the traps of their ports begin a sweep.
class OpenSmRun {
 public:
  OpenSmRun(const Graph& graph, const Asked& asked)
      : graph_(graph), asked_(asked), guids_(guids_of_switches(graph)) {
    write_topology();
    const std::string host = graph.nodes[nodes_of(graph, NodeKind::kAdapter)[0]].name;
    std::string command =
        "opensm -Q -D 0x43 -f /tmp/log -F /tmp/opensm.conf -R " + std::string(name_of(asked.engine));
    std::string text = "dump_files_dir /tmp\nforce_log_flush TRUE\n";
    nlohmann::json files = {{"/tmp/opensm.conf", write("opensm.conf", text)}};
    if (!asked.roots.empty()) {
      std::string roots;
      for (const std::size_t root : asked.roots) roots += hexadecimal(guids_.at(root)) + "\n";
      files["/tmp/roots"] = write("roots", roots);
      command += " -a /tmp/roots";
    }
    if (asked.torus) {
      files["/tmp/torus.conf"] = write("torus.conf", torus_seed());
      command += " --torus_config /tmp/torus.conf";
    }
    const nlohmann::json folders = {{"OSM_CACHE_DIR", "/tmp"}, {"OSM_TMP_DIR", "/tmp"}};
    const nlohmann::json manager = {{"host", host},   {"command", command}, {"start", "1 s"},
                                    {"env", folders}, {"files", files},     {"background", true}};
    const nlohmann::json show = {
        "sh", "-c",
        "cat /tmp/opensm-subnet.lst; echo =====; cat /tmp/opensm-lfts.dump; echo =====; saquery -p; echo =====; "
        "cat /tmp/opensm-sl2vl.dump; echo =====; grep -e 'tables configured' -e 'Lanes needed' /tmp/log"};
    const nlohmann::json shown = {{"host", host}, {"command", show}, {"start", "40 s"}};
    nlohmann::json faults = nlohmann::json::array();
    for (const std::size_t cable : asked.broken)
      faults.push_back({{"action", "link_down"}, {"link", end_of(graph, graph.cables[cable].a)}, {"at", "20 s"}});
    std::ofstream(folder_.path() + "/s.json") << nlohmann::json{{"topology", folder_.path() + "/t.json"},
                                                                {"programs", {manager, shown}},
                                                                {"faults", faults},
                                                                {"time_limit", "200 s"}};
    run_ = support::run({.scenario = folder_.path() + "/s.json"});
    std::string rest = run_.output(host + ".2");
    for (std::size_t cut; (cut = rest.find("=====\n")) != std::string::npos; rest.erase(0, cut + 6))
      parts_.push_back(rest.substr(0, cut));
    parts_.push_back(rest);
  }

  // Fails the test if the output is not as expected.
  std::optional<Routed> routes() {
    if (parts_.size() != 5) {
      ADD_FAILURE() << run_.story();
      return std::nullopt;
    }
    Routed routed;
    std::istringstream log(parts_[4]);
    for (std::string word, before; log >> word; before = word) {
      if (word == "tables") routed.engine = before;
      if (before == "needed:") routed.needed = std::stoul(word);
    }
    routed.plan.nodes.resize(graph_.nodes.size());
    if (!read_tables(routed.plan)) return std::nullopt;
    routed.level = [levels = levels()](ib::Lid from, ib::Lid to) {
      const auto found = levels.find({from.value, to.value});
      return found == levels.end() ? std::uint8_t{0} : found->second;
    };
    routed.lane = [lanes = lanes()](std::size_t node, PortNumber in, PortNumber out, std::uint8_t level) {
      return lanes.at({node, in.value, out.value}).at(level);
    };
    return routed;
  }

 private:
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() + "/" + name) << text;
    return folder_.path() + "/" + name;
  }

  void write_topology() const {
    write("lanes.json", R"({"profile": "switch", "name": "lanes", "virtual_lanes": 8})");
    write("eight.json", R"({"profile": "hca", "name": "eight", "virtual_lanes": 8})");
    nlohmann::json hosts, switches, links;
    for (std::size_t node = 0; node < graph_.nodes.size(); ++node) {
      const subnet::Node& own = graph_.nodes[node];
      if (own.kind == NodeKind::kAdapter)
        hosts.push_back({{"name", own.name}, {"hca", "eight"}, {"cpu", "cpu"}});
      else
        switches.push_back({{"name", own.name},
                            {"profile", "lanes"},
                            {"ports", own.ports},
                            {"node", {{"guid", hexadecimal(guids_.at(node))}}}});
    }
    for (const subnet::Cable& cable : graph_.cables)
      links.push_back(
          {{"a", end_of(graph_, cable.a)}, {"b", end_of(graph_, cable.b)}, {"rate", "EDR 4x"}, {"length", "2 m"}});
    std::ofstream(folder_.path() + "/t.json") << nlohmann::json{{"name", "t"},
                                                                {"subnet_manager", "none"},
                                                                {"hosts", hosts},
                                                                {"switches", switches},
                                                                {"links", links}};
  }

  // Sizes, and for each dimension the cable from the first switch onwards.
  std::string torus_seed() const {
    const subnet::Torus& torus = asked_.torus->torus;
    std::string sizes = "torus", seeds;
    std::size_t stride = torus.switches.size();
    for (std::size_t d = 0; d < 3; ++d) {
      const std::uint32_t size = d < torus.dimensions.size() ? torus.dimensions[d].size : 1;
      sizes += " " + std::to_string(size);
      stride /= size;
      if (size > 1)
        seeds += std::string{"xyz"[d]} + "p_link " + hexadecimal(guids_.at(torus.switches[0])) + " " +
                 hexadecimal(guids_.at(torus.switches[stride])) + "\n";
    }
    return sizes + "\n" + seeds;
  }

  bool read_tables(Plan& plan) const {
    config::Diagnostics diagnostics;
    imports::LineFindings of_links("links", diagnostics), of_tables("tables", diagnostics);
    const auto fabric = imports::read_opensm_links(parts_[0], of_links);
    const auto tables = imports::read_forwarding_tables(parts_[1], of_tables);
    if (!fabric || !tables) {
      ADD_FAILURE() << to_string(diagnostics.findings().front());
      return false;
    }
    std::size_t known = 0;
    for (const imports::Device& device : fabric->devices) {
      const std::size_t node = node_named(graph_, device.name);
      if (node == graph_.nodes.size()) continue;
      ++known;
      plan.nodes[node].ports.push_back({.lid = ib::Lid{static_cast<std::uint16_t>(device.lid)}});
      if (!device.is_switch) continue;
      std::vector<PortNumber>& table = plan.nodes[node].forwarding_table;
      for (const imports::TableEntry& entry : tables->at(device.guid)) {
        if (table.size() <= entry.lid) table.resize(entry.lid + 1, fabric::RouteTable::kNoRoute);
        table[entry.lid] = PortNumber{static_cast<std::uint8_t>(entry.port)};
      }
    }
    EXPECT_EQ(known, graph_.nodes.size());
    return known == graph_.nodes.size();
  }

  // By source and destination LID, from the answers about path records.
  std::map<std::pair<std::uint16_t, std::uint16_t>, std::uint8_t> levels() const {
    std::map<std::pair<std::uint16_t, std::uint16_t>, std::uint8_t> levels;
    std::istringstream lines(parts_[2]);
    std::uint16_t from = 0, to = 0;
    for (std::string line; std::getline(lines, line);) {
      const std::string value = line.substr(line.rfind('.') + 1);
      if (line.find("dlid.") != std::string::npos)
        to = static_cast<std::uint16_t>(std::stoul(value));
      else if (line.find("slid.") != std::string::npos)
        from = static_cast<std::uint16_t>(std::stoul(value));
      else if (line.find("\tsl.") != std::string::npos)
        levels[{from, to}] = static_cast<std::uint8_t>(std::stoul(value, nullptr, 16));
    }
    return levels;
  }

  // By switch, input and output: 16 lanes.
  std::map<std::tuple<std::size_t, std::uint8_t, std::uint8_t>, std::vector<std::uint8_t>> lanes() const {
    std::map<std::tuple<std::size_t, std::uint8_t, std::uint8_t>, std::vector<std::uint8_t>> lanes;
    std::istringstream lines(parts_[3]);
    std::size_t node = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("Switch")) {
        const std::size_t name = line.find('"') + 1;
        node = node_named(graph_, line.substr(name, line.rfind('"') - name));
      } else if (node < graph_.nodes.size() && !line.empty() && line[0] >= '0' && line[0] <= '9') {
        std::istringstream numbers(line);
        unsigned in = 0, out = 0, lane = 0;
        char colon = 0;
        numbers >> in >> out >> colon;
        std::vector<std::uint8_t> row;
        while (numbers >> lane) row.push_back(static_cast<std::uint8_t>(lane));
        lanes[{node, static_cast<std::uint8_t>(in), static_cast<std::uint8_t>(out)}] = row;
      } else if (line.starts_with("Channel") || line.starts_with("HCA") || line.starts_with("CA")) {
        node = graph_.nodes.size();
      }
    }
    return lanes;
  }

  const Graph& graph_;
  const Asked asked_;
  const std::map<std::size_t, std::uint64_t> guids_;
  support::TemporaryFolder folder_;
  support::RunReport run_;
  std::vector<std::string> parts_;
};

}  // namespace verbatim::real
