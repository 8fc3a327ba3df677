#include "sim/config/load.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/config/arguments.h"
#include "sim/config/generate/generate.h"
#include "sim/config/profile_files.h"
#include "sim/config/tables.h"
#include "sim/config/words.h"
#include "verbs_shim/protocol/path_view.h"

namespace verbatim::config {

namespace {

std::optional<Json> load_json(const std::string& path, const LoadOptions& options, const FileRequest& request,
                              Diagnostics& diagnostics) {
  const auto text = load_text(path, options, diagnostics);
  if (!text || refuse_foreign_text(path, *text, request, diagnostics)) return std::nullopt;
  auto json = parse_json(*text, path, diagnostics);
  if (!json || refuse_other_kind(path, *json, request, diagnostics)) return std::nullopt;
  return json;
}

TopologySpec read_topology(const Json& json, const std::string& path, const LoadOptions& options,
                           Diagnostics& diagnostics) {
  // Before the table that refers to them: lists of many keys are built on the stack, which may be small.
  hca_profile_table();
  switch_profile_table();
  TopologySpec topology;
  topology.file = path;
  check_object(json, topology_table(), &topology, path, "", diagnostics);
  generate(topology, json, diagnostics);
  ProfileReader profiles(options, path, topology.profile_changes, diagnostics);
  using enum FileKind;
  for (HostSpec& host : topology.hosts) {
    profiles.resolve(host.hca, hca_profile_table(), kHcaProfile, host.pointer + "/hca", &host.hca_profile);
    for (FurtherAdapterSpec& further : host.further_adapters)
      profiles.resolve(further.hca, hca_profile_table(), kHcaProfile, further.pointer + "/hca", &further.hca_profile);
    profiles.resolve(host.cpu, cpu_profile_table(), kCpuProfile, host.pointer + "/cpu", &host.cpu_profile);
  }
  for (SwitchSpec& s : topology.switches) {
    const char* const key = s.pointer.starts_with("/generate") ? "/switch" : "/profile";
    profiles.resolve(s.profile, switch_profile_table(), kSwitchProfile, s.pointer + key, &s.switch_profile);
  }
  profiles.check_changes();
  resolve_topology(topology, diagnostics);
  return topology;
}

// Whether the file's list of hosts has no findings.
bool knows_hosts(const TopologySpec& topology, const Diagnostics& diagnostics) {
  return !topology.hosts.empty() && std::ranges::none_of(diagnostics.findings(), [&](const Finding& finding) {
    return finding.file == topology.file && (finding.pointer.starts_with("/generate") || finding.pointer == "/hosts" ||
                                             (finding.pointer.starts_with("/hosts") && finding.pointer.ends_with("/name")));
  }) && std::ranges::none_of(topology.hosts, [](const HostSpec& host) { return host.name.empty(); });
}

// Checks a program's files: each is put into a folder that its host does not share, and must exist on this
// machine.
void check_files(const ScenarioSpec& scenario, ProgramSpec& program, bool looks, Diagnostics& diagnostics) {
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
      diagnostics.add(scenario.file, pointer, in_quotes(path) + " is not in a folder that the host has for itself",
                      "these folders are " + list);
    }
    source = beside(scenario.file, source);
    struct stat status {};
    if (!looks) continue;
    if (::stat(source.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || ::access(source.c_str(), R_OK) != 0) {
      diagnostics.add(scenario.file, pointer, in_quotes(source) + " is not a file that can be read",
                      "name a file of this machine, relative to the scenario's folder");
    }
  }
}

// `looks`: whether files that the scenario names are looked for on this machine.
void check_scenario(ScenarioSpec& scenario, bool looks, Diagnostics& diagnostics) {
  if (scenario.programs.empty() && scenario.flows.empty() && scenario.workloads.empty()) {
    diagnostics.add(scenario.file, "/programs", "there is no program",
                    "add at least one {\"host\": …, \"command\": …}, or \"flows\" with {\"from\": …, \"to\": …, \"bytes\": …}, or "
                    "\"workloads\" with {\"pattern\": …, \"size\": …}");
  }
  std::vector<std::string> names;
  if (knows_hosts(scenario.topology, diagnostics)) {
    for (const HostSpec& host : scenario.topology.hosts) names.push_back(host.name);
  }
  check_foreground(scenario, scenario.file, "/programs", diagnostics);
  resolve_arguments(scenario, scenario.ranges, scenario.file, "/ranges", diagnostics);
  for (ProgramSpec& program : scenario.programs) {
    if (program.host.empty()) continue;  // already a finding
    if (const auto host = scenario.topology.host(program.host)) {
      program.host_index = *host;
      check_runs_programs(scenario.topology, *host, scenario.file, program.pointer + "/host", diagnostics);
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
    check_files(scenario, program, looks, diagnostics);
    if (!program.working_directory.empty()) {
      program.working_directory = beside(scenario.file, program.working_directory);
      struct stat status {};
      if (looks && (::stat(program.working_directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))) {
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

// Loads the topology that a scenario names, or adds a finding about the scenario's reference.
std::optional<Json> load_topology_of(const ScenarioSpec& scenario, const std::string& topology, const LoadOptions& options,
                                     Diagnostics& diagnostics) {
  const auto text = load_text(topology, options, diagnostics);
  if (!text) return std::nullopt;
  const FileRequest request{WantedFile::kTopology, options.verb};
  Diagnostics of_kind;
  std::optional<Json> json;
  if (!refuse_foreign_text(topology, *text, request, of_kind)) {
    json = parse_json(*text, topology, diagnostics);
    if (!json) return std::nullopt;
    refuse_other_kind(topology, *json, request, of_kind);
  }
  if (of_kind.empty()) return json;
  diagnostics.add(scenario.file, "/topology", in_quotes(topology) + ": " + of_kind.findings().front().text,
                  "name a topology's file, relative to the scenario's folder");
  return std::nullopt;
}

void resolve_traffic(ScenarioSpec& scenario, const LoadOptions& options, Diagnostics& diagnostics) {
  resolve_flows(scenario, diagnostics);
  resolve_workloads(scenario, options, diagnostics);
  draw_traffic(scenario);
  check_traffic(scenario, diagnostics);
  const auto in_background = [&](const workload::FlowPlan& flow) { return scenario.traffic.is_background(flow); };
  const auto is_graph = [](const WorkloadSpec& one) { return one.is_ready_graph; };
  const bool has_flows = !scenario.traffic.empty() || !scenario.traffic.loads.empty();
  if (!scenario.programs.empty() || !has_flows || scenario.until != Duration(0) ||
      std::ranges::any_of(scenario.workloads, is_graph) || !std::ranges::all_of(scenario.traffic.flows, in_background))
    return;
  diagnostics.add(scenario.file, "/workloads", "every workload is in the background, so the run has no end",
                  "give \"until\", or a workload a \"size\"");
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
                      "name a topology's file, relative to the scenario's folder");
    } else if (const auto json_of_topology = load_topology_of(scenario, topology, options, diagnostics)) {
      const std::size_t before = diagnostics.findings().size();
      scenario.topology = read_topology(*json_of_topology, topology, options, diagnostics);
      // The ends of a link are known if it has no finding.
      has_links = diagnostics.findings().size() == before && !scenario.topology.links.empty();
    }
  }
  if (!scenario.root.empty()) scenario.root = beside(path, scenario.root);
  check_scenario(scenario, options.files == nullptr || !options.files->has_machine, diagnostics);
  if (knows_hosts(scenario.topology, diagnostics)) resolve_traffic(scenario, options, diagnostics);
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

void check_runs_programs(const TopologySpec& topology, std::size_t host, const std::string& file, const std::string& pointer,
                         Diagnostics& diagnostics) {
  if (topology.runs_programs(host)) return;
  diagnostics.add(file, pointer, in_quotes(topology.hosts[host].name) + " has a light endpoint, which carries flows and runs no programs",
                  "give the host an adapter profile without \"endpoint\": \"light\"");
}

void check_foreground(const ScenarioSpec& scenario, const std::string& file, const std::string& pointer,
                      Diagnostics& diagnostics) {
  const auto in_background = [](const ProgramSpec& program) { return program.background; };
  if (scenario.programs.empty() || !std::ranges::all_of(scenario.programs, in_background)) return;
  diagnostics.add(file, pointer, "every program is marked \"background\"",
                  "a background program is ended when the others have ended; leave \"background\" out of one program");
}

std::string beside(const std::string& file, const std::string& reference) {
  if (!reference.empty() && reference.front() == '/') return reference;
  const std::size_t slash = file.rfind('/');
  std::string folder = slash == std::string::npos ? "" : file.substr(0, slash + 1);
  std::string rest = reference;
  while (rest.rfind("./", 0) == 0) rest.erase(0, 2);
  // "scenarios/" and "../x" become "x", which reads better in findings; ".." after ".." or a root remains.
  while (rest.rfind("../", 0) == 0 && folder.size() > 1) {
    const std::size_t before = folder.rfind('/', folder.size() - 2);
    const std::string last = folder.substr(before == std::string::npos ? 0 : before + 1);
    if (last == "../" || last == "./" || last == "/") break;
    folder.erase(folder.size() - last.size());
    rest.erase(0, 3);
  }
  // "." is the file's folder itself.
  if (rest == "." && folder.size() > 1) return folder.substr(0, folder.size() - 1);
  return folder + rest;
}

std::optional<TopologySpec> load_topology(const std::string& path, const LoadOptions& options,
                                          Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.findings().size();
  const auto json = load_json(path, options, {WantedFile::kTopology, options.verb}, diagnostics);
  if (!json) return std::nullopt;
  TopologySpec topology = read_topology(*json, path, options, diagnostics);
  if (diagnostics.findings().size() != before) return std::nullopt;
  return topology;
}

std::optional<ScenarioSpec> load_scenario(const std::string& path, const LoadOptions& options,
                                          Diagnostics& diagnostics, ScenarioSpec* as_read) {
  const std::size_t before = diagnostics.findings().size();
  const auto json = load_json(path, options, {WantedFile::kScenario, options.verb}, diagnostics);
  if (!json) return std::nullopt;
  ScenarioSpec scenario = read_scenario(*json, path, options, diagnostics);
  if (diagnostics.findings().size() == before) return scenario;
  if (as_read != nullptr) *as_read = std::move(scenario);
  return std::nullopt;
}

std::optional<FileKind> check_file(const std::string& path, const LoadOptions& options,
                                   Diagnostics& diagnostics, std::optional<TopologySpec>* topology) {
  const auto json = load_json(path, options, {}, diagnostics);
  if (!json) return std::nullopt;
  const auto kind = kind_of(*json);
  const std::size_t before = diagnostics.findings().size();
  std::optional<TopologySpec> of_file;
  switch (*kind) {
    case FileKind::kTopology:
      of_file = read_topology(*json, path, options, diagnostics);
      break;
    case FileKind::kScenario:
      of_file = read_scenario(*json, path, options, diagnostics).topology;
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
  if (topology != nullptr && diagnostics.findings().size() == before) *topology = std::move(of_file);
  return kind;
}

}  // namespace verbatim::config
