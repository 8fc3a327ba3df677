// `--watch` and `--watch-time`: the part of a run in --trace, --pcap, --record and --explain-latency.
#pragma once

#include <string>
#include <vector>

#include "sim/config/diagnostics.h"
#include "sim/config/spec.h"
#include "sim/observe/watched.h"
#include "tools/verbatim/cli.h"

namespace verbatim::cli {

// Checks both options; findings name them. Components are numbered as in config::Simulation::components().
// Without `--watch` all are included, without `--watch-time` all times.
observe::WatchSet parse_watch(const RunOptions& options, const config::TopologySpec& topology,
                              config::Diagnostics& diagnostics);

// The command line words that give the same set.
std::vector<std::string> watch_words(const RunOptions& options);

}  // namespace verbatim::cli
