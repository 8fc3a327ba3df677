// The page of `verbatim report` without what is the same in every page.
#pragma once

#include <string>

#include "tools/verbatim/recorded_run.h"
#include "tools/verbatim/run_figures.h"
#include "tools/verbatim/run_picture.h"

namespace verbatim::cli {

// What the page needs at once, as JSON for a <script> element, and the elements with blocks that it reads when it needs them.
struct PageData {
  std::string head, blocks;
};

PageData data_of(const RecordedRun& run, const RunPicture& picture, const RecordedFigures& figures);

}  // namespace verbatim::cli
