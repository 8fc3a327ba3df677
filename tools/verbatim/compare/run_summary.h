// Figures of a run for comparison, read from its run.json.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/verbatim/kept_digest.h"

namespace verbatim::cli {

// Completion times of flows of similar size.
struct SizeClass {
  std::uint64_t most_bytes = 0;  // upper limit of the class; 0: any size
  bool is_exact = false;         // all flows have this size
  std::uint64_t flows = 0, finished = 0;
  // Times and rates of finished flows; nullopt if there are none. Rates are of payload, in Mbps.
  std::optional<std::uint64_t> mean_ps, p50_ps, p95_ps, p99_ps, longest_ps, p50_mbps;

  std::string name() const;  // "8 MiB", "up to 4 KiB", "any size"
};

struct WorkloadSummary {
  std::string name;                 // empty: all flows of the run
  std::vector<SizeClass> classes;   // ascending, any size last
  std::vector<std::int64_t> times;  // ps, of the flows listed in run.json; ascending
};

// A workload whose messages wait for each other.
struct CollectiveSummary {
  std::string name, what;  // "all-reduce by ring, 64 MiB, 256 hosts"
  std::uint64_t runs = 0, ended = 0;
  // Over finished repetitions: median and longest time, median of the ideal time and of the bus bandwidth in
  // bytes a second as computed by nccl-tests; nullopt if there is none.
  std::optional<std::uint64_t> time_ps, longest_ps, ideal_ps, bus_bandwidth;
};

struct PortSummary {
  std::string port;  // "leaf0:1"
  std::uint64_t deepest_queue_bytes = 0, paused_ps = 0, packets_marked = 0,
                packets_dropped = 0;  // over all lanes
};

struct RunSummary {
  std::string path;   // as the user named it
  std::string label;  // short name for tables and legends, set by label_runs()
  std::string outcome;
  std::optional<KeptDigest> digest;
  // nullopt: not in run.json.
  std::optional<std::uint64_t> virtual_time_ps, packets, packets_dropped, packets_discarded, packets_sent_again;
  std::uint64_t pauses = 0, paused_ps = 0, packets_marked = 0, rate_changes = 0;
  bool has_flows = false;
  bool has_all_rows = false;               // run.json lists all flows with times
  std::vector<WorkloadSummary> workloads;  // first that of all flows; empty: no flows
  std::vector<CollectiveSummary> collectives;
  std::vector<PortSummary> ports;          // in the order of run.json
  // The run's inputs: names and texts, in the same order for all runs. Equal texts mean equal inputs.
  std::vector<std::pair<std::string, std::string>> inputs;

  // Names of programs and libraries, and digests of their content.
  std::vector<std::pair<std::string, std::string>> code;

  std::vector<std::pair<std::string, std::string>> settings;  // of a sweep's point: short names and values

  // The class of all flows; nullptr if there were none.
  const SizeClass* all_flows() const;
};

RunSummary summary_of(const nlohmann::json& run_json);

// File beside the run.json of a sweep's point, with the settings of the sweep.
inline constexpr char kPointFile[] = "point.json";

// `path` is a folder of `run --out`, its run.json, or a recording. Returns nullopt, with a sentence, if it is
// none of these.
std::optional<RunSummary> read_summary(const std::string& path, std::string* failure);

}  // namespace verbatim::cli
