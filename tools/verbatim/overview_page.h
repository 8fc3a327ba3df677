// The overview of a run (run_overview.h) in the page of `verbatim report`: distributions of flows, loads of
// ports, queue depths by tier, and activity of collectives' hosts.
#pragma once

#include <nlohmann/json.hpp>

#include "tools/verbatim/page_rows.h"
#include "tools/verbatim/run_overview.h"

namespace verbatim::cli {

// `report`: run.json, or null. The index is the "overview" of the page's head, all times in ps:
//
//  - "begin", "part", "parts", "end", "last" (nothing was sent later); "detail_until", "is_part": packets were recorded
//    for a part of the run only.
//  - "hosts", "tiers", "groups": names. "host_groups": by host.
//  - "flows": "all" and "workloads" (empty if one workload has all flows), each with "name", "flows", "finished",
//    "failed", "endless"; "curve", pairs of a time and the number of flows that took at most that long; "classes", the
//    same by size, with "bytes", "is_exact", "mean" and percentiles of times ("p50") and, if ideal times are known, of slowdowns in
//    thousandths ("s50"); "slowdown", rows of sizes with "least", "most", "count", "s50", "s95", "s99". "slowest": rows
//    of single flows.
//  - "classes": of ports, from one tier to another, with "tier", "far_tier", "ports".
//  - "collectives": those of run.json, with their repetitions.
//  - "timeline": "from", "to", "bins", "lanes" (hosts), "operations" in the page; null: there are none.
//
// Blocks: "ports-0": class, group, rate in Mbps. "loads-0": percent of the rate, by port and part. "depths-0": for each
// class the most bytes and the median over its ports, by part. "lanes-0": for each lane, by bin, percent of the time
// spent computing, sending and receiving messages. "operations-0": lane, kind, peer (host), bytes, start minus that of
// the lane's previous operation, duration.
PageBlocks overview_blocks(const RunOverview& overview, const nlohmann::json& report);

}  // namespace verbatim::cli
