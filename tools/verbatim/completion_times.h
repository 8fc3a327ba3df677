// Flow completion times in the format of HPCC's fct.txt, for scripts that read it.
#pragma once

#include <cstdio>
#include <span>

#include "sim/config/spec.h"
#include "tools/verbatim/run_flows.h"

namespace verbatim::cli {

// Writes a line for each finished flow, in the order of their ends: the IPv4 addresses of sender and receiver
// in hexadecimal, ports, bytes, start, completion time and ideal time (FlowFigures::ideal), times in whole
// nanoseconds, rounded down. As in HPCC the first flow between two hosts has the sender's port 10000, the
// next one 10001; the receiver's port is that of the flow.txt, or 100.
void write_completion_times(std::FILE* file, const config::ScenarioSpec& scenario,
                            std::span<const FlowFigures> figures);

}  // namespace verbatim::cli
