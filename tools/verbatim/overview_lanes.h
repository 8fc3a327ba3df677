// Activity of the hosts of collectives over time, as blocks of the page of `verbatim report`.
#pragma once

#include "tools/verbatim/page_rows.h"
#include "tools/verbatim/run_overview.h"

namespace verbatim::cli {

// See overview_blocks(). The index is null where there are no operations. A lane is a host; single operations
// are in the page if there are kMostPageOperations at most.
inline constexpr std::size_t kMostPageOperations = 400'000;
PageBlocks lanes_blocks(const RunOverview& overview);

}  // namespace verbatim::cli
