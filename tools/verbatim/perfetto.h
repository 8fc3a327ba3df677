// A run as a trace of Perfetto (perfetto.dev, "Track events"; the schema is perfetto/trace/track_event/*.proto), for
// ui.perfetto.dev, trace_processor and whatever else reads that format.
//
// Each host is a process. Under it lie what its programs printed and did, and its queue pairs, each with its states, its work
// requests as slices with their parts, and the packets that it sent and got. A flow leads from a request over its packets to its
// end. Links have a counter of their load each, and one of drops where there were any. Times are virtual, in nanoseconds.
#pragma once

#include <string>

#include "tools/verbatim/run_picture.h"

namespace verbatim::cli {

std::string perfetto_trace(const RunPicture& picture);

}  // namespace verbatim::cli
