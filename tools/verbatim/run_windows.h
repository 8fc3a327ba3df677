// Quantities over time for `verbatim report`: outstanding requests, unacknowledged packets and credits, with
// minimum and maximum for equal parts of the time with packets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/verbatim/run_picture.h"

namespace verbatim::cli {

// Requests of a send queue between doorbell (or post) and completion (or acknowledgement).
struct Outstanding {
  int column = 0;  // of the picture
  std::uint32_t most = 0;
  BinnedValues bins{BinnedValues::Join::kMost};  // maximum for each part of the time with packets
};

std::vector<Outstanding> outstanding_of(const RunPicture& picture);
// Packets of a queue pair that were sent and not acknowledged, including expected READ responses.
std::vector<Outstanding> unacknowledged_of(const RunPicture& picture);

// Minimum and maximum of credits for each part of the time with packets; -1: not recorded.
struct Credits {
  std::int64_t fewest = -1;
  BinnedValues least{BinnedValues::Join::kLeast, -1}, most{BinnedValues::Join::kMost, -1};
};
// End-to-end credits: the number of receives that the peer advertised in its acknowledgements (IBA 9.7.7.2).
struct PeerCredits : Credits {
  int column = 0;  // of the picture
};
// Credits of a lane of a link: blocks of 64 bytes that the port may still send.
struct LinkCredits : Credits {
  std::string port;
  std::uint32_t lane = 0, of = 0;
};
// Sorted by host and queue pair.
std::vector<PeerCredits> peer_credits_of(const RecordedRun& run, const RunPicture& picture);
// Sorted by port and lane; if there are more than `most`, those with the lowest minimum.
std::vector<LinkCredits> link_credits_of(const RecordedRun& run, const RunPicture& picture, std::size_t most);

}  // namespace verbatim::cli
