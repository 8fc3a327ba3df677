// The figures at the top of the page of `verbatim report`: how much a run moved, how long its messages took, what went wrong.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/verbatim/run_picture.h"

namespace verbatim::cli {

struct RecordedFigures {
  // Work requests of send queues that ended without an error: completed, or acknowledged where no completion is known.
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;        // of those messages, without headers
  std::int64_t busy_ps = 0;       // while at least one of them was between post and end
  std::int64_t p50_ps = -1, p99_ps = -1, longest_ps = -1;  // from post to end (nearest rank); -1: no message ended
  std::uint64_t packets = 0;      // sent by adapters
  std::uint64_t drops = 0;        // packets dropped, at ports and in adapters
  std::uint64_t retries = 0;      // times that a queue pair began to send again
  std::uint64_t repeated_packets = 0;  // request packets that were sent before
  std::uint64_t rnr_naks = 0;     // "receiver not ready" answers
  std::uint64_t completions = 0, failed_completions = 0;
  std::uint64_t flushed_completions = 0;  // of the failed ones: requests flushed after an error

  // Bits per second while a message was under way; nothing without a message, or without a time.
  std::optional<double> throughput() const;
};

RecordedFigures figures_of(const RecordedRun& run, const RunPicture& picture);

nlohmann::ordered_json to_json(const RecordedFigures& figures);

}  // namespace verbatim::cli
