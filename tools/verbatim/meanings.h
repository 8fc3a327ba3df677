// Explanations of names in verbs: completion statuses, asynchronous events, events of rdma_cm and their
// statuses, errors of verbs, checks, congestion, parts of a message's latency. Sources are the man pages and the
// InfiniBand Architecture specification.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace verbatim::cli {

struct Meaning {
  static constexpr std::size_t kMostCauses = 8;
  std::string_view name;     // "IBV_WC_RETRY_EXC_ERR"; of an error of a verb "EINVAL ibv_modify_qp"; of a status of an event
                             // "RDMA_CM_EVENT_REJECTED 28"
  std::string_view meaning;
  std::string_view causes[kMostCauses] = {};  // the most likely first; empty ones end the list
};

std::span<const Meaning> completion_meanings();  // by the number of the status
std::span<const Meaning> async_meanings();       // by the number of the event
std::span<const Meaning> cm_meanings();          // events by their number, then those with a status
std::span<const Meaning> error_meanings();       // errors of verbs, then errors, then verbs
std::span<const Meaning> check_meanings();
std::span<const Meaning> congestion_meanings();  // terms of flow control and congestion control
// By the name of --explain-latency; "clock edge" and "earlier work" for all stages, "lost" for all causes.
std::span<const Meaning> latency_meanings();

}  // namespace verbatim::cli
