// The overview of a run (run_overview.h) as the page of `verbatim report` has it: distributions of flows,
// loads of ports, depths of queues by tier, and what the hosts of collectives did.
#pragma once

#include <nlohmann/json.hpp>

#include "tools/verbatim/page_rows.h"
#include "tools/verbatim/run_overview.h"

namespace verbatim::cli {

// `report`: run.json, or null. The index is the "overview" of the page's head, all times in ps:
//
//  - "begin", "part", "parts", "end", "last" (nothing was sent later); "detail_until", "is_part": what is known of packets
//    is of a part of the run.
//  - "hosts", "tiers", "groups": names. "host_groups": of each host.
//  - "flows": "all" and "workloads" (none where one has all flows), each with "name", "flows", "finished", "failed", "endless";
//    "curve", pairs of a time and how many flows took at most so long; "classes", the same by size, with "bytes", "is_exact" and
//    percentiles of times ("p50") and, where the least time of flows is known, of slowdowns in thousandths ("s50"); "slowdown",
//    rows of sizes with "least", "most", "count", "s50", "s95", "s99". "slowest": rows of single flows.
//  - "classes": of ports, from one tier to another, with "tier", "far_tier", "ports".
//  - "collectives": of run.json, with their runs.
//  - "timeline": "from", "to", "bins", "lanes" (hosts), "operations" in the page; null: there are none.
//
// Blocks: "ports-0": class, group, rate in Mbps. "loads-0": percent of the rate, by port and part. "depths-0": of each class the
// most bytes and the median of the ports' bytes, by part. "lanes-0": of each lane, by bin, percent of the time in which it
// computes, sends and gets messages. "operations-0": lane, kind, peer (host), bytes, from less that of the one before of its lane,
// took.
PageBlocks overview_blocks(const RunOverview& overview, const nlohmann::json& report);

}  // namespace verbatim::cli
