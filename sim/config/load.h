// Files to checked specs: reads, checks against the tables, follows references, and then asks the questions
// that need more than one value (names, cables, reachability).
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

// Files of a run as they were when it was first loaded, so that it can be loaded again where they are not.
struct FileTexts {
  std::map<std::string, std::string> texts;  // by path, as it was composed
  bool are_all = false;                      // there is no other file; otherwise what is read is added
  std::string keeper;                        // the file in which they are kept; empty: none
};

struct LoadOptions {
  // Folders searched for a profile that is not a file beside the one that names it, in order.
  std::vector<std::string> profile_folders;
  FileTexts* files = nullptr;  // outlives the loading; nullptr: nobody keeps them
  std::string verb = "run";    // of the command line, for hints
};

// The content of a file that a scenario names; on failure nothing and a finding.
std::optional<std::string> load_text(const std::string& path, const LoadOptions& options, Diagnostics& diagnostics);

// Each gives a spec only when there was no finding in it.
std::optional<TopologySpec> load_topology(const std::string& path, const LoadOptions& options,
                                          Diagnostics& diagnostics);
// `as_read`, unless nullptr, gets what could be read of a scenario with findings, so that its programs can be looked at, too.
std::optional<ScenarioSpec> load_scenario(const std::string& path, const LoadOptions& options,
                                          Diagnostics& diagnostics, ScenarioSpec* as_read = nullptr);

// Finds the ends that faults name, and refuses keys that do not go together. `file` is what findings name.
void resolve_faults(const TopologySpec& topology, std::vector<FaultSpec>& faults, const std::string& file,
                    Diagnostics& diagnostics);
// One fault as JSON text, of the command line.
std::optional<FaultSpec> parse_fault(const std::string& text, const TopologySpec& topology,
                                     const std::string& file, Diagnostics& diagnostics);

// Finds the adapters that flows join, and asks what else depends on the topology. Its hosts are known.
void resolve_flows(ScenarioSpec& scenario, Diagnostics& diagnostics);
// Questions that flows and workloads have in common. `what` is "flow" or "workload", `pointer` its place.
void check_traffic_keys(const ScenarioSpec& scenario, const std::string& what, const std::string& pointer, Duration start,
                        std::uint32_t traffic_class, Diagnostics& diagnostics);
void check_message_size(const ScenarioSpec& scenario, const std::vector<std::uint32_t>& adapters, const std::string& pointer,
                        std::int64_t bytes, Diagnostics& diagnostics);
// Checks that the topology can carry all traffic: it has a subnet manager, and adapters have enough queue pairs.
void check_traffic(const ScenarioSpec& scenario, Diagnostics& diagnostics);
// Finds who takes part in workloads, reads their files, and refuses keys that do not go together.
void resolve_workloads(ScenarioSpec& scenario, const LoadOptions& options, Diagnostics& diagnostics);
// One of them that is a graph, and whose name and members are known.
void resolve_graph(const ScenarioSpec& scenario, WorkloadSpec& spec, const LoadOptions& options, Diagnostics& diagnostics);
// Those that are resolved, in their order, each with a kind of its own.
workload::Traffic traffic_of(const std::vector<FlowSpec>& flows);
// Makes the traffic of a resolved scenario anew, with a kind for each flow and each workload. Loading does, and whoever
// changes the seed afterwards.
void draw_traffic(ScenarioSpec& scenario);

// A finding where a program is to run on a host that runs none; the host is one of the topology's.
void check_runs_programs(const TopologySpec& topology, std::size_t host, const std::string& file, const std::string& pointer,
                         Diagnostics& diagnostics);

// A run ends when nothing but the background is left: a finding when there is nothing else.
void check_foreground(const ScenarioSpec& scenario, const std::string& file, const std::string& pointer,
                      Diagnostics& diagnostics);

// Any of the files; what kind it was found to be. `topology`, unless nullptr, gets that of the file or of its scenario, when
// there is no finding in it.
std::optional<FileKind> check_file(const std::string& path, const LoadOptions& options,
                                   Diagnostics& diagnostics, std::optional<TopologySpec>* topology = nullptr);

// Resolves ends, addresses and reachability of a topology whose profiles are loaded; also for topologies that are built by
// programs rather than read. Where the file has findings, what would only follow from them is no finding of its own.
void resolve_topology(TopologySpec& topology, Diagnostics& diagnostics);

// Path of `reference`, written in `file`: relative to the folder of `file`.
std::string beside(const std::string& file, const std::string& reference);

}  // namespace verbatim::config
