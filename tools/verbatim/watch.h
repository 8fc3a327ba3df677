// `--watch` and `--watch-time`: the part of a run that --trace, --pcap and --record show.
#pragma once

#include <string>
#include <vector>

#include "sim/config/diagnostics.h"
#include "sim/config/spec.h"
#include "sim/observe/watched.h"
#include "tools/verbatim/cli.h"

namespace verbatim::cli {

// Checks both options; findings name them. Components are those of config::Simulation::component_names(). Without `--watch` all are
// watched, without `--watch-time` always.
observe::WatchSet parse_watch(const RunOptions& options, const config::TopologySpec& topology, config::Diagnostics& diagnostics);

// The words on the command line that give the same set.
std::vector<std::string> watch_words(const RunOptions& options);

}  // namespace verbatim::cli
