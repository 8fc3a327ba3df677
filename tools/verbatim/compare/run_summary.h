// The figures of a run that people compare, read from its run.json.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/verbatim/kept_digest.h"

namespace verbatim::cli {

// Completion times of flows of about one size.
struct SizeClass {
  std::uint64_t most_bytes = 0;  // of the largest that may be in it; 0: flows of any size
  bool is_exact = false;         // all have so many
  std::uint64_t flows = 0, finished = 0;
  // Times and rates of the finished ones; nullopt: there are none. Rates are of payload, in Mbps.
  std::optional<std::uint64_t> p50_ps, p95_ps, p99_ps, longest_ps, p50_mbps;

  std::string name() const;  // "8 MiB", "up to 4 KiB", "any size"
};

struct WorkloadSummary {
  std::string name;                 // empty: all flows of the run
  std::vector<SizeClass> classes;   // ascending, the one of any size last
  std::vector<std::int64_t> times;  // ps, of the flows that run.json has rows of; ascending
};

// A workload whose messages wait for each other.
struct CollectiveSummary {
  std::string name, what;  // "all-reduce by ring, 64 MiB, 256 hosts"
  std::uint64_t runs = 0, ended = 0;
  // Over runs that have ended: median and longest time, medians of the least possible time and of the bus bandwidth, in bytes a
  // second as nccl-tests computes it; nullopt: there is none.
  std::optional<std::uint64_t> time_ps, longest_ps, ideal_ps, bus_bandwidth;
};

struct PortSummary {
  std::string port;  // "leaf0:1"
  std::uint64_t deepest_queue_bytes = 0, paused_ps = 0, packets_marked = 0,
                packets_dropped = 0;  // of all its lanes
};

struct RunSummary {
  std::string path;   // as the user named it
  std::string label;  // short, for tables and legends; label_runs() sets it
  std::string outcome;
  std::optional<KeptDigest> digest;
  // nullopt: run.json does not have it.
  std::optional<std::uint64_t> virtual_time_ps, packets, packets_dropped, packets_sent_again;
  std::uint64_t pauses = 0, paused_ps = 0, packets_marked = 0, rate_changes = 0;
  bool has_flows = false;
  bool has_all_rows = false;               // of its flows, with their times
  std::vector<WorkloadSummary> workloads;  // first that of all flows; empty: the run had none
  std::vector<CollectiveSummary> collectives;
  std::vector<PortSummary> ports;          // in the order of run.json
  // The run's inputs, a name and a text each, in an order that is the same for all runs. Equal texts mean equal
  // inputs.
  std::vector<std::pair<std::string, std::string>> inputs;

  std::vector<std::pair<std::string, std::string>> settings;  // of a sweep's point: short names, and values

  // That of all flows; nullptr: it had none.
  const SizeClass* all_flows() const;
};

RunSummary summary_of(const nlohmann::json& run_json);

// The file of a sweep's point, beside its run.json: what the sweep has set.
inline constexpr char kPointFile[] = "point.json";

// `path`: a folder of `run --out`, its run.json, or a recording. nullopt, and a sentence: it is none.
std::optional<RunSummary> read_summary(const std::string& path, std::string* failure);

}  // namespace verbatim::cli
