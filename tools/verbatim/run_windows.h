// What was under way or left over the time of a run, as `verbatim report` draws it: for each of equal parts of the time with packets
// the least and the most that there was.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/verbatim/run_picture.h"

namespace verbatim::cli {

inline constexpr std::size_t kWindowBins = 600;

// Requests of a send queue between doorbell (or post) and completion (or acknowledgement).
struct Outstanding {
  int column = 0;  // of the picture
  std::uint32_t most = 0;
  std::vector<std::uint32_t> bins;  // the most of each
};

std::vector<Outstanding> outstanding_of(const RunPicture& picture);

}  // namespace verbatim::cli
