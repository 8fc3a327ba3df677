// Loads files as checked specs: reads them, checks them against the tables (fields.h), follows references,
// and checks relations between values (names, cables, reachability).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/diagnostics.h"
#include "sim/config/file_kind.h"
#include "sim/config/json_text.h"
#include "sim/config/spec.h"

namespace verbatim::config {

// The files of a run as they were first loaded, so that it can be loaded again on a machine without them.
struct FileTexts {
  std::map<std::string, std::string> texts;  // by the path that the loader opens (beside())
  bool are_all = false;                      // true: no other file may be read; false: files that are read are added
  std::string keeper;                        // the bundle or recording that stores the texts; empty: none
  bool has_machine = false;                  // `keeper` also has the programs' files: their existence is not checked
};

struct LoadOptions {
  // Folders searched, in order, for a profile that is not a file beside the one that names it.
  std::vector<std::string> profile_folders;
  FileTexts* files = nullptr;  // outlives the loading; nullptr: contents are not kept
  std::string verb = "run";    // of the command line, used in hints
};

// The content of a file that a scenario names; nullopt, with a finding, on failure.
std::optional<std::string> load_text(const std::string& path, const LoadOptions& options, Diagnostics& diagnostics);

// Each returns a spec only if it has no finding.
std::optional<TopologySpec> load_topology(const std::string& path, const LoadOptions& options,
                                          Diagnostics& diagnostics);
// `as_read`, if not null, gets whatever could be read of a scenario with findings, so that its programs can
// be checked as well.
std::optional<ScenarioSpec> load_scenario(const std::string& path, const LoadOptions& options,
                                          Diagnostics& diagnostics, ScenarioSpec* as_read = nullptr);

// Finds the ends that faults name, and refuses keys that do not go together. `file` is the name in findings.
void resolve_faults(const TopologySpec& topology, std::vector<FaultSpec>& faults, const std::string& file,
                    Diagnostics& diagnostics);
// Parses one fault, given as JSON text on the command line.
std::optional<FaultSpec> parse_fault(const std::string& text, const TopologySpec& topology,
                                     const std::string& file, Diagnostics& diagnostics);

// Finds the adapters that flows join, and makes the other checks that depend on the topology. Its hosts are
// resolved.
void resolve_flows(ScenarioSpec& scenario, Diagnostics& diagnostics);
// Checks common to flows and workloads. `what` is "flow" or "workload"; `pointer` is its place in the file.
void check_traffic_keys(const ScenarioSpec& scenario, const std::string& what, const std::string& pointer, Duration start,
                        std::uint32_t traffic_class, std::uint32_t acknowledgement_traffic_class, Diagnostics& diagnostics);
void check_message_size(const ScenarioSpec& scenario, const std::vector<std::uint32_t>& adapters, const std::string& pointer,
                        std::int64_t bytes, Diagnostics& diagnostics);
// Checks that the topology can carry all traffic: it has a subnet manager, and adapters have enough queue pairs.
void check_traffic(const ScenarioSpec& scenario, Diagnostics& diagnostics);
// Finds the members of workloads, reads the files of workloads, and refuses keys that do not go together.
void resolve_workloads(ScenarioSpec& scenario, const LoadOptions& options, Diagnostics& diagnostics);
// Resolves a workload that is a graph. Its name and members are known.
void resolve_graph(const ScenarioSpec& scenario, WorkloadSpec& spec, const LoadOptions& options, Diagnostics& diagnostics);
// Makes traffic of resolved flows, in their order, each with a kind of its own.
workload::Traffic traffic_of(const std::vector<FlowSpec>& flows);
// Draws the traffic of a resolved scenario, with a kind for each flow and each workload. Loading calls this;
// call it again after a change of the seed.
void draw_traffic(ScenarioSpec& scenario);

// Adds a finding if the host, which exists in the topology, runs no programs.
void check_runs_programs(const TopologySpec& topology, std::size_t host, const std::string& file, const std::string& pointer,
                         Diagnostics& diagnostics);

// Adds a finding if all programs are in the background: a run ends when only these are left.
void check_foreground(const ScenarioSpec& scenario, const std::string& file, const std::string& pointer,
                      Diagnostics& diagnostics);

// Checks a file of any kind and returns the kind that was found. `topology`, if not null, gets the file's or
// its scenario's topology if that has no finding.
std::optional<FileKind> check_file(const std::string& path, const LoadOptions& options,
                                   Diagnostics& diagnostics, std::optional<TopologySpec>* topology = nullptr);

// Resolves ends, addresses and reachability of a topology whose profiles are loaded. Also used for topologies
// built in code. Errors that only follow from findings in the file are not reported.
void resolve_topology(TopologySpec& topology, Diagnostics& diagnostics);

// `reference` as written in `file`, which is relative to the folder of `file`, as a path to open.
std::string beside(const std::string& file, const std::string& reference);

}  // namespace verbatim::config
