#include "sim/config/load.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/config/arguments.h"
#include "sim/config/tables.h"
#include "sim/config/words.h"
#include "verbs_shim/protocol/path_view.h"

namespace verbatim::config {

namespace {

bool is_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool is_there(const std::string& path, const LoadOptions& options) {
  if (options.files != nullptr && options.files->are_all) return options.files->texts.contains(path);
  return is_file(path);
}

std::optional<Json> load_json(const std::string& path, const LoadOptions& options, Diagnostics& diagnostics) {
  const auto text = load_text(path, options, diagnostics);
  if (!text) return std::nullopt;
  return parse_json(*text, path, diagnostics);
}

// A profile from its JSON: the table, then what needs more than one value.
template <class Profile>
void read_profile(const Json& json, const Object& table, const std::string& path, Profile* profile,
                  Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.findings().size();
  check_object(json, table, profile, path, "", diagnostics);
  if constexpr (requires { profile->arbitration; }) {
    if (diagnostics.findings().size() != before) return;
    check_arbitration(profile->arbitration, profile->virtual_lanes, path, diagnostics);
  }
}

// Profiles by path, so that one named by many hosts is read, and complained about, once.
class ProfileReader {
 public:
  ProfileReader(const LoadOptions& options, const std::string& file, Diagnostics& diagnostics)
      : options_(options), file_(file), diagnostics_(diagnostics) {}

  template <class Profile>
  void resolve(const std::string& reference, const Object& table, std::string_view kind,
               const std::string& pointer, Profile* target) {
    const std::string path = find(reference, kind, pointer);
    if (path.empty()) return;
    auto [entry, is_new] = cache_.try_emplace({std::string(kind), path});
    if (is_new) {
      auto profile = std::make_shared<Profile>();
      const auto json = load_json(path, options_, diagnostics_);
      if (json) read_profile(*json, table, path, profile.get(), diagnostics_);
      entry->second = profile;
    }
    *target = *std::static_pointer_cast<Profile>(entry->second);
  }

 private:
  std::string find(const std::string& reference, std::string_view kind, const std::string& pointer) {
    std::vector<std::string> candidates = {beside(file_, reference), beside(file_, reference + ".json"),
                                           beside(file_, "profiles/" + reference + ".json")};
    if (reference.find('/') == std::string::npos) {
      for (const std::string& folder : options_.profile_folders) {
        candidates.push_back(folder + "/" + reference);
        candidates.push_back(folder + "/" + reference + ".json");
      }
    }
    for (const std::string& candidate : candidates) {
      if (is_there(candidate, options_)) return candidate;
    }
    diagnostics_.add(
        file_, pointer, "there is no profile " + in_quotes(reference),
        "name a " + std::string(kind) + " profile file beside this file, or one of the profiles folder");
    return "";
  }

  const LoadOptions& options_;
  const std::string& file_;
  Diagnostics& diagnostics_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<void>> cache_;
};

TopologySpec read_topology(const Json& json, const std::string& path, const LoadOptions& options,
                           Diagnostics& diagnostics) {
  TopologySpec topology;
  topology.file = path;
  const std::size_t before = diagnostics.findings().size();
  check_object(json, topology_table(), &topology, path, "", diagnostics);
  generate(topology, diagnostics);
  ProfileReader profiles(options, path, diagnostics);
  for (HostSpec& host : topology.hosts) {
    profiles.resolve(host.hca, hca_profile_table(), "hca", host.pointer + "/hca", &host.hca_profile);
    for (FurtherAdapterSpec& further : host.further_adapters)
      profiles.resolve(further.hca, hca_profile_table(), "hca", further.pointer + "/hca", &further.hca_profile);
    profiles.resolve(host.cpu, cpu_profile_table(), "cpu", host.pointer + "/cpu", &host.cpu_profile);
  }
  for (SwitchSpec& s : topology.switches) {
    profiles.resolve(s.profile, switch_profile_table(), "switch", s.pointer + "/profile", &s.switch_profile);
  }
  // Reachability means little while names are missing, so those questions wait until the file is well formed.
  const bool well_formed = std::none_of(
      diagnostics.findings().begin() + static_cast<std::ptrdiff_t>(before), diagnostics.findings().end(),
      [&](const Finding& f) { return f.file == path && f.text.find("profile") == std::string::npos; });
  if (well_formed) resolve_topology(topology, diagnostics);
  return topology;
}

// What a program is given lies in folders of its host's own, and is there to be copied.
void check_files(const ScenarioSpec& scenario, ProgramSpec& program, Diagnostics& diagnostics) {
  const auto home = program.environment.find("HOME");
  std::vector<std::string> folders(std::begin(protocol::kOwnFolders), std::end(protocol::kOwnFolders));
  folders.push_back(home == program.environment.end() ? protocol::kHome : home->second);
  for (auto& [path, source] : program.files) {
    const std::string pointer = join_pointer(program.pointer + "/files", path);
    const bool plain = (path + "/").find("/../") == std::string::npos && (path + "/").find("/./") == std::string::npos &&
                       path.find("//") == std::string::npos && !path.ends_with('/');
    const bool inside = std::any_of(folders.begin(), folders.end(), [&path = path](const std::string& folder) {
      return folder.size() > 1 && path.starts_with(folder + "/");
    });
    if (!plain || !inside) {
      std::string list;
      for (const std::string& folder : folders) list += (list.empty() ? "" : ", ") + folder;
      diagnostics.add(scenario.file, pointer, in_quotes(path) + " is no file of the host's own folders",
                      "these are " + list);
    }
    source = beside(scenario.file, source);
    struct stat status {};
    if (::stat(source.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || ::access(source.c_str(), R_OK) != 0) {
      diagnostics.add(scenario.file, pointer, in_quotes(source) + " is not a file that can be read",
                      "name a file of this machine, relative to the scenario's folder");
    }
  }
}

void check_scenario(ScenarioSpec& scenario, Diagnostics& diagnostics) {
  if (scenario.programs.empty()) {
    diagnostics.add(scenario.file, "/programs", "there is no program",
                    "add at least one {\"host\": …, \"command\": …}");
  }
  std::vector<std::string> names;
  for (const HostSpec& host : scenario.topology.hosts) names.push_back(host.name);
  check_foreground(scenario, scenario.file, "/programs", diagnostics);
  resolve_arguments(scenario, scenario.ranges, scenario.file, "/ranges", diagnostics);
  for (ProgramSpec& program : scenario.programs) {
    if (program.host.empty()) continue;  // already a finding
    if (const auto host = scenario.topology.host(program.host)) {
      program.host_index = *host;
    } else if (!names.empty()) {
      std::string list;
      for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
      const std::string near = nearest(program.host, names);
      diagnostics.add(scenario.file, program.pointer + "/host",
                      "the topology has no host " + in_quotes(program.host),
                      near.empty() ? "its hosts are " + list : "did you mean \"" + near + "\"?");
    }
    if (program.kill != Duration(0) && program.kill <= program.start) {
      diagnostics.add(scenario.file, program.pointer + "/kill",
                      "the program is killed at " + format_quantity(program.kill.count(), Dimension::kDuration) +
                          ", before it starts",
                      "both are virtual times from the start of the run");
    }
    check_files(scenario, program, diagnostics);
    if (!program.working_directory.empty()) {
      program.working_directory = beside(scenario.file, program.working_directory);
      struct stat status {};
      if (::stat(program.working_directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
        diagnostics.add(scenario.file, program.pointer + "/cwd",
                        in_quotes(program.working_directory) + " is not a directory",
                        "make it, or leave the key out");
      }
    }
  }
}

template <class Profile>
void check_profile(const Json& json, const Object& table, const std::string& path, Diagnostics& diagnostics) {
  Profile profile;
  read_profile(json, table, path, &profile, diagnostics);
}

ScenarioSpec read_scenario(const Json& json, const std::string& path, const LoadOptions& options,
                           Diagnostics& diagnostics) {
  ScenarioSpec scenario;
  scenario.file = path;
  check_object(json, scenario_table(), &scenario, path, "", diagnostics);
  bool has_links = false;
  if (!scenario.topology_reference.empty()) {
    const std::string topology = beside(path, scenario.topology_reference);
    if (!is_there(topology, options)) {
      diagnostics.add(path, "/topology", "there is no file " + in_quotes(topology),
                      "the path is relative to the scenario file");
    } else if (const auto json_of_topology = load_json(topology, options, diagnostics)) {
      const std::size_t before = diagnostics.findings().size();
      scenario.topology = read_topology(*json_of_topology, topology, options, diagnostics);
      // The ends of a link are known where nothing is wrong.
      has_links = diagnostics.findings().size() == before && !scenario.topology.links.empty();
    }
  }
  check_scenario(scenario, diagnostics);
  if (has_links) {
    resolve_faults(scenario.topology, scenario.faults, path, diagnostics);
  }
  return scenario;
}

}  // namespace

std::optional<std::string> load_text(const std::string& path, const LoadOptions& options, Diagnostics& diagnostics) {
  if (options.files == nullptr) return read_file(path, diagnostics);
  const auto kept = options.files->texts.find(path);
  if (kept != options.files->texts.end()) return kept->second;
  if (options.files->are_all) {
    diagnostics.add(path, "", "is not among the files that were kept", "check the path");
    return std::nullopt;
  }
  auto text = read_file(path, diagnostics);
  if (text) options.files->texts.emplace(path, *text);
  return text;
}

void check_foreground(const ScenarioSpec& scenario, const std::string& file, const std::string& pointer,
                      Diagnostics& diagnostics) {
  const auto in_background = [](const ProgramSpec& program) { return program.background; };
  if (scenario.programs.empty() || !std::ranges::all_of(scenario.programs, in_background)) return;
  diagnostics.add(file, pointer, "every program is marked \"background\"",
                  "a background program is ended when the others have ended; leave one unmarked");
}

std::string beside(const std::string& file, const std::string& reference) {
  if (!reference.empty() && reference.front() == '/') return reference;
  const std::size_t slash = file.rfind('/');
  std::string folder = slash == std::string::npos ? "" : file.substr(0, slash + 1);
  std::string rest = reference;
  while (rest.rfind("./", 0) == 0) rest.erase(0, 2);
  // "scenarios/" and "../x" meet as "x", which reads better in findings; ".." after ".." or a root stays.
  while (rest.rfind("../", 0) == 0 && folder.size() > 1) {
    const std::size_t before = folder.rfind('/', folder.size() - 2);
    const std::string last = folder.substr(before == std::string::npos ? 0 : before + 1);
    if (last == "../" || last == "./" || last == "/") break;
    folder.erase(folder.size() - last.size());
    rest.erase(0, 3);
  }
  return folder + rest;
}

std::string_view name_of(FileKind kind) {
  switch (kind) {
    case FileKind::kTopology:
      return "topology";
    case FileKind::kScenario:
      return "scenario";
    case FileKind::kHcaProfile:
      return "hca profile";
    case FileKind::kSwitchProfile:
      return "switch profile";
    case FileKind::kCpuProfile:
      return "cpu profile";
  }
  CHECK(false);
}

std::optional<FileKind> kind_of(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  if (const auto profile = json.find("profile"); profile != json.end() && profile->is_string()) {
    if (*profile == "hca") return FileKind::kHcaProfile;
    if (*profile == "switch") return FileKind::kSwitchProfile;
    if (*profile == "cpu") return FileKind::kCpuProfile;
    return std::nullopt;
  }
  if (json.contains("programs") || json.contains("topology")) return FileKind::kScenario;
  if (json.contains("hosts") || json.contains("switches") || json.contains("links") ||
      json.contains("generate"))
    return FileKind::kTopology;
  return std::nullopt;
}

std::optional<TopologySpec> load_topology(const std::string& path, const LoadOptions& options,
                                          Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.findings().size();
  const auto json = load_json(path, options, diagnostics);
  if (!json) return std::nullopt;
  TopologySpec topology = read_topology(*json, path, options, diagnostics);
  if (diagnostics.findings().size() != before) return std::nullopt;
  return topology;
}

std::optional<ScenarioSpec> load_scenario(const std::string& path, const LoadOptions& options,
                                          Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.findings().size();
  const auto json = load_json(path, options, diagnostics);
  if (!json) return std::nullopt;
  if (kind_of(*json) == FileKind::kTopology) {
    diagnostics.add(path, "", "this is a topology, not a scenario",
                    "use `verbatim run --topology FILE HOST=COMMAND …`");
    return std::nullopt;
  }
  ScenarioSpec scenario = read_scenario(*json, path, options, diagnostics);
  if (diagnostics.findings().size() != before) return std::nullopt;
  return scenario;
}

std::optional<FileKind> check_file(const std::string& path, const LoadOptions& options,
                                   Diagnostics& diagnostics) {
  const auto json = load_json(path, options, diagnostics);
  if (!json) return std::nullopt;
  const auto kind = kind_of(*json);
  if (!kind) {
    diagnostics.add(
        path, "", "this is neither a topology, a scenario nor a profile",
        "a topology has \"hosts\" and \"links\", a scenario \"topology\" and \"programs\", a profile "
        "\"profile\": \"hca\", \"switch\" or \"cpu\"");
    return std::nullopt;
  }
  switch (*kind) {
    case FileKind::kTopology:
      read_topology(*json, path, options, diagnostics);
      break;
    case FileKind::kScenario:
      read_scenario(*json, path, options, diagnostics);
      break;
    case FileKind::kHcaProfile:
      check_profile<hca::HcaProfile>(*json, hca_profile_table(), path, diagnostics);
      break;
    case FileKind::kSwitchProfile:
      check_profile<fabric::SwitchProfile>(*json, switch_profile_table(), path, diagnostics);
      break;
    case FileKind::kCpuProfile:
      check_profile<CpuProfile>(*json, cpu_profile_table(), path, diagnostics);
      break;
  }
  return kind;
}

}  // namespace verbatim::config
