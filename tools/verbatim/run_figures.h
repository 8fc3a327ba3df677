// The figures at the top of the page of `verbatim report`: amount of data, message times, failures.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/verbatim/run_picture.h"

namespace verbatim::cli {

struct RecordedFigures {
  // Successful work requests of send queues: completed or, if no completion is known, acknowledged.
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;        // payload of these messages
  std::int64_t busy_ps = 0;       // time during which at least one of them was between post and end
  std::int64_t p50_ps = -1, p99_ps = -1, longest_ps = -1;  // from post to end (nearest rank); -1: no message ended
  std::uint64_t packets = 0;      // sent by adapters
  std::uint64_t drops = 0;        // dropped at ports and in adapters
  std::uint64_t retries = 0;      // times that a queue pair started to retransmit
  // Retransmitted packets: by run.json or, without it, request packets whose PSN was sent before.
  std::uint64_t repeated_packets = 0;
  std::uint64_t rnr_naks = 0;     // RNR NAKs ("receiver not ready")
  std::uint64_t completions = 0, failed_completions = 0;
  std::uint64_t flushed_completions = 0;  // of failed completions: requests flushed after an error

  // Bits per second while messages were in flight; nullopt without messages or without a duration.
  std::optional<double> throughput() const;
};

RecordedFigures figures_of(const RecordedRun& run, const RunPicture& picture);

nlohmann::ordered_json to_json(const RecordedFigures& figures);

}  // namespace verbatim::cli
