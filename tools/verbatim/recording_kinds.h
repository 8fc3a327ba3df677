// Kinds of entries in a run's recording, in addition to the events of the trace and the names of calls.
#pragma once

#include <string_view>

namespace verbatim::cli {

// Names by FactObserver::Queue. Values: number, level.
inline constexpr std::string_view kLevelNames[] = {"level cq", "level qp", "level srq"};
// Values: process, address, length, and QP number * 2 + 1 if it is a response.
inline constexpr std::string_view kPlacementName = "placement";
// Component: a port. Values: lane, blocks, total blocks.
inline constexpr std::string_view kCreditsName = "credits";
// Component: a port. Values: lane, bytes.
inline constexpr std::string_view kOutputQueueName = "output-queue";
// Component: the one that marked or dropped a packet. Values of a mark: lane; of a drop: lane, reason.
inline constexpr std::string_view kMarkName = "mark", kDropName = "drop";
// The entry's time is the end. Values: pid, tid, duration, string number of the reason.
inline constexpr std::string_view kWaitName = "wait";

}  // namespace verbatim::cli
