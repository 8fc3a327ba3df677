// A run as a trace of Perfetto (perfetto.dev, "Track events"; the schema is
// perfetto/trace/track_event/*.proto), for ui.perfetto.dev, trace_processor and other readers of that format.
//
// Each host is a process. Its tracks are the output and calls of its programs, and its queue pairs, each with
// its states, its work requests as slices with their parts, and its packets. A Perfetto flow connects a
// request, its packets and its completion. Each link has a counter of its load, and one of its drops if there
// were any. Times are virtual, in nanoseconds.
#pragma once

#include <string>

#include "tools/verbatim/run_picture.h"

namespace verbatim::cli {

std::string perfetto_trace(const RunPicture& picture);

}  // namespace verbatim::cli
