// Activity of collectives' hosts over time, as blocks of the page of `verbatim report`.
#pragma once

#include "tools/verbatim/page_rows.h"
#include "tools/verbatim/run_overview.h"

namespace verbatim::cli {

// See overview_blocks(). The index is null if there are no operations. A lane is a host; single operations
// are included if there are at most kMostPageOperations.
inline constexpr std::size_t kMostPageOperations = 400'000;
PageBlocks lanes_blocks(const RunOverview& overview);

}  // namespace verbatim::cli
