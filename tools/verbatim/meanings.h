// What the words of verbs mean, for people: statuses of completions, asynchronous events, events of rdma_cm and their statuses,
// errors of verbs, checks, congestion. After the man pages and the InfiniBand Architecture specification, in words of our own.
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
  std::string_view causes[kMostCauses] = {};  // the likeliest first; empty ones end the list
};

std::span<const Meaning> completion_meanings();  // by the number of the status
std::span<const Meaning> async_meanings();       // by the number of the event
std::span<const Meaning> cm_meanings();          // events by their number, then those with a status
std::span<const Meaning> error_meanings();       // of each error and verb, then of errors alone, then of verbs alone
std::span<const Meaning> check_meanings();
std::span<const Meaning> congestion_meanings();  // words of flow control and congestion control

}  // namespace verbatim::cli
