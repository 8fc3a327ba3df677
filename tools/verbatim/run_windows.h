// What was under way or left over the time of a run, as `verbatim report` draws it: for each of equal parts of the time with
// packets the least and the most that there was.
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
  BinnedValues bins{BinnedValues::Join::kMost};  // the most of each part of the time with packets
};

std::vector<Outstanding> outstanding_of(const RunPicture& picture);
// Packets of a queue pair that have left and are not acknowledged, those that come as the answer to a READ among them.
std::vector<Outstanding> unacknowledged_of(const RunPicture& picture);

// The fewest and the most credits of each part of the time with packets; -1: nothing was recorded in it.
struct Credits {
  std::int64_t fewest = -1;
  BinnedValues least{BinnedValues::Join::kLeast, -1}, most{BinnedValues::Join::kMost, -1};
};
// End-to-end: how many receives the other side of a queue pair told, with its acknowledgements, that it has (IBA 9.7.7.2).
struct PeerCredits : Credits {
  int column = 0;  // of the picture
};
// Of a lane of a link: blocks of 64 bytes that may still be sent by the port.
struct LinkCredits : Credits {
  std::string port;
  std::uint32_t lane = 0, of = 0;
};
// By host and queue pair.
std::vector<PeerCredits> peer_credits_of(const RecordedRun& run, const RunPicture& picture);
// By port and lane. Those of which the least was left, if there are more than `most` of them.
std::vector<LinkCredits> link_credits_of(const RecordedRun& run, const RunPicture& picture, std::size_t most);

}  // namespace verbatim::cli
