// Rules of the project that can be checked automatically: include dependencies, guides, lengths of files,
// nothing specific to a machine in the sources. Every failure names the file and the rule.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = VERBATIM_SOURCE_DIR;

// Files of the project, as sorted relative paths, without build folders and git's own files.
std::vector<std::string> project_files() {
  std::vector<std::string> files;
  const auto skipped = [](const std::string& name) {
    return name == ".git" || name == "out" || name == "build" || name.rfind("build-", 0) == 0;
  };
  for (auto it = fs::recursive_directory_iterator(kRoot); it != fs::recursive_directory_iterator(); ++it) {
    if (it->is_directory() && skipped(it->path().filename().string()) && it.depth() == 0) {
      it.disable_recursion_pending();
    } else if (it->is_regular_file() && it->path().filename() != ".git") {  // of a second worktree
      files.push_back(fs::relative(it->path(), kRoot).string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool is_source(const std::string& file) {
  const std::string extension = fs::path(file).extension().string();
  return extension == ".h" || extension == ".cc" || extension == ".c" || extension == ".cpp";
}

std::vector<std::string> lines_of(const std::string& file) {
  std::ifstream stream(kRoot / file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// "sim/hca" of "sim/hca/hca.h".
std::string folder_of(const std::string& path) {
  const std::size_t first = path.find('/');
  const std::size_t second = first == std::string::npos ? first : path.find('/', first + 1);
  return second == std::string::npos ? path.substr(0, first) : path.substr(0, second);
}

// The include table of the design: a folder may include itself and the folders of its row.
const std::map<std::string, std::set<std::string>>& include_table() {
  static const std::map<std::string, std::set<std::string>> table = {
      {"verbs_shim/protocol", {}},
      {"sim/core", {}},
      {"sim/libraries", {}},
      {"sim/ib", {"sim/core"}},
      {"sim/mad", {"sim/core", "sim/ib"}},
      {"sim/management", {"sim/core", "sim/ib", "sim/mad"}},
      {"sim/cm", {"sim/core", "sim/ib", "sim/mad", "sim/management"}},
      {"sim/fabric", {"sim/core", "sim/ib"}},
      {"sim/host", {"sim/core"}},
      // The adapter, from the lowest folder to the highest; files that its parts share are in the folder itself.
      {"sim/hca/congestion", {"sim/core", "sim/ib"}},
      {"sim/hca",
       {"sim/core", "sim/ib", "sim/host", "sim/fabric", "sim/hca/congestion", "verbs_shim/protocol"}},
      {"sim/hca/queues", {"sim/core", "sim/ib", "sim/hca", "verbs_shim/protocol"}},
      {"sim/hca/transport",
       {"sim/core", "sim/ib", "sim/host", "sim/hca", "sim/hca/queues", "verbs_shim/protocol"}},
      {"sim/hca/stages",
       {"sim/core", "sim/ib", "sim/host", "sim/fabric", "sim/hca", "sim/hca/transport", "sim/hca/congestion"}},
      {"sim/hca/datapath",
       {"sim/core", "sim/ib", "sim/host", "sim/fabric", "sim/hca", "sim/hca/queues", "sim/hca/transport", "sim/hca/stages",
        "sim/hca/congestion", "verbs_shim/protocol"}},
      {"sim/hca/commands", {"sim/core", "sim/ib", "sim/hca", "sim/hca/datapath", "sim/hca/stages"}},
      {"sim/hca/light",
       {"sim/core", "sim/ib", "sim/host", "sim/fabric", "sim/hca", "sim/hca/queues", "sim/hca/transport", "sim/hca/stages",
        "sim/hca/congestion", "verbs_shim/protocol"}},
      {"sim/workload", {"sim/core", "sim/ib", "sim/hca"}},
      {"sim/subnet", {"sim/core", "sim/ib", "sim/fabric"}},
      {"sim/faults", {"sim/core", "sim/ib", "sim/fabric", "sim/host", "sim/hca"}},
      {"sim/observe", {"sim/core", "sim/ib"}},
      {"sim/bundle", {"sim/core", "sim/supervisor/spec"}},
      {"sim/explore", {"sim/core"}},
      {"sim/config",
       {"sim/core", "sim/ib", "sim/mad", "sim/management", "sim/cm", "sim/fabric", "sim/host", "sim/hca",
        "sim/hca/congestion", "sim/hca/light", "sim/workload", "sim/subnet", "sim/faults", "sim/observe", "sim/config/generate", "verbs_shim/protocol"}},
      {"sim/config/generate", {"sim/config"}},
      // Readers of other tools' files, independent of the model.
      {"sim/config/import", {"sim/core", "sim/config"}},
      // The supervisor: scheduling. Its parts are subfolders, each with a row of its own.
      {"sim/supervisor",
       {"sim/core", "sim/ib", "sim/management", "sim/cm", "sim/host", "sim/hca", "verbs_shim/protocol",
        "sim/supervisor/spin", "sim/supervisor/code", "sim/supervisor/spec", "sim/supervisor/machine",
        "sim/supervisor/files", "sim/supervisor/tasks", "sim/supervisor/net", "sim/supervisor/trees",
        "sim/supervisor/kernel", "sim/supervisor/scheduling"}},
      {"sim/supervisor/spin", {"sim/core", "verbs_shim/protocol"}},
      {"sim/supervisor/code", {"sim/core", "sim/host", "verbs_shim/protocol"}},
      {"sim/supervisor/spec",
       {"sim/core", "sim/ib", "sim/cm", "sim/hca", "verbs_shim/protocol", "sim/supervisor/code"}},
      {"sim/supervisor/machine",
       {"sim/core", "sim/host", "verbs_shim/protocol", "sim/supervisor/code", "sim/supervisor/spin",
        "sim/supervisor/spec"}},
      {"sim/supervisor/files", {"sim/core", "sim/hca", "verbs_shim/protocol"}},
      {"sim/supervisor/tasks",
       {"sim/core", "sim/host", "sim/hca", "verbs_shim/protocol", "sim/supervisor/spin",
        "sim/supervisor/code", "sim/supervisor/spec", "sim/supervisor/machine", "sim/supervisor/files"}},
      {"sim/supervisor/net",
       {"sim/core", "sim/ib", "sim/hca", "verbs_shim/protocol", "sim/supervisor/spec", "sim/supervisor/machine",
        "sim/supervisor/files", "sim/supervisor/tasks"}},
      {"sim/supervisor/trees",
       {"sim/core", "sim/ib", "sim/hca", "verbs_shim/protocol", "sim/supervisor/code", "sim/supervisor/spec",
        "sim/supervisor/machine", "sim/supervisor/files", "sim/supervisor/tasks", "sim/supervisor/net"}},
      {"sim/supervisor/kernel",
       {"sim/core", "sim/ib", "sim/management", "sim/cm", "sim/host", "sim/hca", "verbs_shim/protocol",
        "sim/supervisor/spin", "sim/supervisor/code", "sim/supervisor/spec", "sim/supervisor/machine",
        "sim/supervisor/files", "sim/supervisor/tasks", "sim/supervisor/net", "sim/supervisor/trees"}},
      {"sim/supervisor/scheduling",
       {"sim/core", "sim/host", "sim/hca", "verbs_shim/protocol", "sim/supervisor/spec",
        "sim/supervisor/machine"}},
      {"verbs_shim/runtime", {"verbs_shim/protocol"}},
      {"verbs_shim/abi", {"verbs_shim/protocol", "verbs_shim/runtime"}},
      {"verbs_shim/verbs", {"verbs_shim/protocol", "verbs_shim/runtime", "verbs_shim/abi"}},
      {"verbs_shim/mlx5", {"verbs_shim/protocol", "verbs_shim/runtime"}},
  };
  return table;
}

// Like folder_of(), but a part with a row of its own is returned: "sim/hca/queues" for
// "sim/hca/queues/queue_pair.h".
std::string part_of(const std::string& path) {
  const std::string part = fs::path(path).parent_path().string();
  return include_table().contains(part) ? part : folder_of(path);
}

TEST(Style, folders_include_only_what_their_row_names) {
  const std::regex include("^\\s*#\\s*include\\s+\"([^\"]+)\"");
  std::size_t seen = 0;
  for (const std::string& file : project_files()) {
    if (!is_source(file)) continue;
    const std::string from = part_of(file);
    const auto row = include_table().find(from);
    if (row == include_table().end()) {
      EXPECT_NE(from.substr(0, 4), "sim/") << file << ": the include table has no row for " << from;
      continue;
    }
    for (const std::string& line : lines_of(file)) {
      std::smatch match;
      if (!std::regex_search(line, match, include)) continue;
      ++seen;
      const std::string to = part_of(match[1]);
      EXPECT_TRUE(to == from || row->second.contains(to))
          << file << " includes " << match[1] << "; " << from << " may not";
    }
  }
  EXPECT_GT(seen, 100u);
}

// Whether the table lets `from` include `to`, directly or indirectly.
bool may_reach(const std::string& from, const std::string& to, std::set<std::string>& seen) {
  if (!seen.insert(from).second) return false;
  const auto row = include_table().find(from);
  if (row == include_table().end()) return false;
  return row->second.contains(to) ||
         std::ranges::any_of(row->second, [&](const std::string& next) { return may_reach(next, to, seen); });
}

// Folders that include each other cannot be read, tested or changed separately.
TEST(Style, folders_include_each_other_in_no_circle) {
  // Generators of topologies use the types of the topology's reader, which calls them.
  const std::set<std::string> known = {"sim/config", "sim/config/generate"};
  for (const auto& [folder, row] : include_table()) {
    if (known.contains(folder)) continue;
    std::set<std::string> seen;
    EXPECT_FALSE(may_reach(folder, folder, seen)) << folder << " may include itself by a detour";
  }
}

// Adds all project files that a file includes, directly or indirectly.
void add_reach(const std::string& file, std::set<std::string>& reach) {
  static const std::regex include("^\\s*#\\s*include\\s+\"([^\"]+)\"");
  for (const std::string& line : lines_of(file)) {
    std::smatch match;
    if (std::regex_search(line, match, include) && reach.insert(match[1]).second) add_reach(match[1], reach);
  }
}

// The transport decides and the data path executes. The transport is tested without the data path, so it must
// not include it, directly or indirectly.
TEST(Style, the_transport_cannot_see_the_data_path) {
  std::size_t seen = 0;
  for (const std::string& file : project_files()) {
    if (!is_source(file) || part_of(file) != "sim/hca/transport") continue;
    ++seen;
    std::set<std::string> reach;
    add_reach(file, reach);
    for (const std::string& reached : reach) {
      const std::string part = part_of(reached);
      EXPECT_TRUE(part != "sim/hca/stages" && part != "sim/hca/datapath" && part != "sim/hca/commands")
          << file << " sees " << reached;
    }
  }
  EXPECT_GT(seen, 10u);
}

// A mistake in shared code would be invisible to the comparison with the clocked references.
TEST(Style, clocked_references_share_nothing_with_the_model_but_types) {
  const std::regex include("^\\s*#\\s*include\\s+\"([^\"]+)\"");
  const std::set<std::string> plain = {"clocked_fabric.h", "clocked_memory.h", "clocked_port.h", "fabric_case.h",
                                       "dma_case.h"};
  // Shared files: a profile, names, and random numbers, which must be equal in both.
  const std::set<std::string> shared = {"sim/host/pcie_profile.h", "sim/ib/drop_reason.h", "sim/core/rng.h"};
  const std::string folder = "tests/timing/reference/";
  std::size_t seen = 0;
  for (const std::string& file : project_files()) {
    if (file.rfind(folder, 0) != 0) continue;
    const std::string name = file.substr(folder.size());
    if (name.rfind("clocked_", 0) != 0 && !plain.contains(name)) continue;
    ++seen;
    for (const std::string& line : lines_of(file)) {
      EXPECT_EQ(line.find("byte_time("), std::string::npos)
          << file << ": a reference works rates out by itself";
      std::smatch match;
      if (!std::regex_search(line, match, include)) continue;
      const std::string to = match[1];
      const bool is_own = to.rfind(folder, 0) == 0 && plain.contains(to.substr(folder.size()));
      EXPECT_TRUE(is_own || shared.contains(to)) << file << " includes " << to;
    }
  }
  EXPECT_EQ(seen, 9u);
}

TEST(Style, project_includes_are_written_from_the_root) {
  const std::regex include("^\\s*#\\s*include\\s+\"([^\"]+)\"");
  for (const std::string& file : project_files()) {
    if (!is_source(file)) continue;
    for (const std::string& line : lines_of(file)) {
      std::smatch match;
      if (!std::regex_search(line, match, include)) continue;
      // A program under test (C, below tests/) is compiled alone and may have a header beside it.
      const bool is_of_litmus = file.rfind("tests/litmus/", 0) == 0 && fs::path(file).extension() == ".h";
      const bool program = ((file.rfind("tests/", 0) == 0 && fs::path(file).extension() == ".c") || is_of_litmus) &&
                           fs::exists((kRoot / file).parent_path() / match[1].str());
      // A lab is built elsewhere, beside the header that all labs share.
      const bool lab = file.rfind("scenarios/labs/", 0) == 0 && (match[1] == "lab.h" || match[1] == "lab_cm.h");
      EXPECT_TRUE(program || lab || fs::exists(kRoot / match[1].str())) << file << " includes " << match[1];
    }
  }
}

// DESIGN 6: core to hca only use the standard library; JSON, hashing, logging and Asio each have their
// folders.
TEST(Style, libraries_stay_in_their_folders) {
  const std::pair<std::string, std::set<std::string>> kLibraries[] = {
      {"boost/", {"sim/supervisor"}},
      {"nlohmann/", {"sim/config", "sim/observe"}},
      {"spdlog/", {"sim/supervisor", "sim/observe", "sim/libraries"}},
      {"fmt/", {"sim/supervisor", "sim/observe", "sim/libraries"}},
      {"xxhash.h", {"sim/supervisor", "sim/observe", "sim/bundle"}},
      {"zstd.h", {"sim/observe", "sim/bundle"}},
      {"Zydis/", {"sim/supervisor"}},
      {"CLI/", {}},
      {"valijson/", {}}};
  for (const std::string& file : project_files()) {
    if (!is_source(file) || (file.rfind("sim/", 0) != 0 && file.rfind("verbs_shim/", 0) != 0)) continue;
    for (const std::string& line : lines_of(file)) {
      for (const auto& [library, folders] : kLibraries) {
        if (line.rfind("#include <" + library, 0) != 0) continue;
        EXPECT_TRUE(folders.contains(folder_of(file))) << file << " includes <" << library << "…>";
      }
    }
  }
}

TEST(Style, every_folder_has_a_guide) {
  std::set<std::string> folders;
  for (const std::string& file : project_files()) {
    if (is_source(file) &&
        (file.rfind("sim/", 0) == 0 || file.rfind("verbs_shim/", 0) == 0 || file.rfind("tools/", 0) == 0)) {
      folders.insert(folder_of(file));
      folders.insert(part_of(file));
    }
  }
  for (const char* folder : {"topologies", "scenarios", "tests", "tools"}) folders.insert(folder);
  for (const std::string& folder : folders) {
    EXPECT_TRUE(fs::exists(kRoot / folder / "README.md")) << folder << " has no README.md";
  }
}

TEST(Style, no_file_is_longer_than_600_lines) {
  for (const std::string& file : project_files()) {
    if (!is_source(file)) continue;
    EXPECT_LE(lines_of(file).size(), 600u) << file << ": look for the second noun";
  }
}

TEST(Style, lines_fit_and_end_cleanly) {
  for (const std::string& file : project_files()) {
    if (!is_source(file)) continue;
    const auto lines = lines_of(file);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string& line = lines[i];
      // Width counts characters, not bytes. Lines with literals are exempt, because a divided literal is hard
      // to search for.
      const auto width = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
      if (line.find('"') == std::string::npos) {
        EXPECT_LE(width, 130) << file << ":" << i + 1;
      }
      EXPECT_TRUE(line.empty() || (line.back() != ' ' && line.back() != '\t' && line.back() != '\r'))
          << file << ":" << i + 1 << " ends in a blank";
      EXPECT_EQ(line.find('\t'), std::string::npos) << file << ":" << i + 1 << " has a tab";
    }
  }
}

TEST(Style, headers_are_included_once) {
  for (const std::string& file : project_files()) {
    if (fs::path(file).extension() != ".h") continue;
    const auto lines = lines_of(file);
    EXPECT_TRUE(std::find(lines.begin(), lines.end(), "#pragma once") != lines.end())
        << file << " lacks #pragma once";
  }
}

// The patterns are divided, so that this file does not contain them.
TEST(Style, nothing_of_one_machine_or_of_unfinished_work) {
  const std::vector<std::string> kForbidden = {std::string("TO") + "DO",          std::string("FIX") + "ME",
                                               std::string("XX") + "X:",          std::string("/wo") + "rk/",
                                               std::string("/ho") + "me/",        std::string("/ro") + "ot/",
                                               std::string("deb.deb") + "ian.org"};
  for (const std::string& file : project_files()) {
    const std::string extension = fs::path(file).extension().string();
    if (extension == ".csv" || extension == ".pcap") continue;
    const auto lines = lines_of(file);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      for (const std::string& word : kForbidden) {
        EXPECT_EQ(lines[i].find(word), std::string::npos) << file << ":" << i + 1 << " has " << word;
      }
    }
  }
}

// The model must have no access to real time or to random numbers of the machine.
TEST(Style, the_model_has_no_wall_clock_and_no_randomness_of_its_own) {
  const std::regex forbidden(
      "(system_clock|steady_clock|high_resolution_clock|random_device|mt19937|_distribution<|\\brand\\(|"
      "\\btime\\(nullptr\\)|"
      "gettimeofday|clock_gettime)");
  const std::set<std::string> kModel = {"sim/core",   "sim/ib",     "sim/fabric",  "sim/host",  "sim/hca",
                                        "sim/subnet", "sim/faults", "sim/observe", "sim/config"};
  for (const std::string& file : project_files()) {
    if (!is_source(file) || !kModel.contains(folder_of(file))) continue;
    for (const std::string& line : lines_of(file)) {
      const std::string code = line.substr(0, line.find("//"));
      EXPECT_FALSE(std::regex_search(code, forbidden)) << file << ": " << line;
    }
  }
}

}  // namespace
