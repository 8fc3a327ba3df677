// The variable parts of the page of `verbatim report`.
#pragma once

#include <string>

#include "tools/verbatim/recorded_run.h"
#include "tools/verbatim/run_figures.h"
#include "tools/verbatim/run_picture.h"

namespace verbatim::cli {

// Data that the page needs at once, as JSON for a <script> element, and elements with blocks that are read on
// demand.
struct PageData {
  std::string head, blocks;
};

PageData data_of(const RecordedRun& run, const RunPicture& picture, const RecordedFigures& figures);

}  // namespace verbatim::cli
