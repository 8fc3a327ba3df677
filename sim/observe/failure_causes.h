// Why a run failed, from its trace: each failure with its causes, the most likely first, and remedies.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/observe/trace_line.h"

namespace verbatim::observe {

struct FailureCause {
  std::string evidence;  // "QP 72 of server, the peer, was in INIT until 150248.158 us; …"
  std::string remedy;    // may be empty
};

// A request, a call or a queue that failed; or a mistake that a check found, which may have caused no
// failure.
struct Failure {
  std::int64_t time_ps = 0;
  std::string what;     // "QP 72 of client: work request with wr_id 7 completes with transport retry counter exceeded"
  std::string subject;  // a topic of `verbatim explain`: "IBV_WC_RETRY_EXC_ERR", "EINVAL ibv_modify_qp"
  std::vector<FailureCause> causes;  // at least one
  bool is_finding = false;           // a check's finding
};

// `facts` are lines in the order of time; those without tells_of_failure() are ignored. Returns failures in
// the order of time, each text once, at most kMostFailures.
inline constexpr std::size_t kMostFailures = 50;
std::vector<Failure> failures_of(std::span<const TraceLine> facts);

}  // namespace verbatim::observe
