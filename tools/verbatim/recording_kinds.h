// What the entries of a run's recording are, beside those that are named as the trace's events and as calls are.
#pragma once

#include <string_view>

namespace verbatim::cli {

// By FactObserver::Queue: number, level.
inline constexpr std::string_view kLevelNames[] = {"level cq", "level qp", "level srq"};
// Process, address, length, and the queue pair's number, doubled, with 1 for an answer.
inline constexpr std::string_view kPlacementName = "placement";
// Of the component of a port: lane, blocks, of so many.
inline constexpr std::string_view kCreditsName = "credits";
// At the component of a port: lane, bytes.
inline constexpr std::string_view kOutputQueueName = "output-queue";
// At the component that has marked or dropped a packet: lane; lane, reason.
inline constexpr std::string_view kMarkName = "mark", kDropName = "drop";
// Ended at its time: pid, tid, how long, string of what for.
inline constexpr std::string_view kWaitName = "wait";

}  // namespace verbatim::cli
