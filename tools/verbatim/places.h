// Source locations in programs that caused events of a trace.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/explore/decision.h"
#include "sim/observe/trace_line.h"
#include "tools/verbatim/run_report.h"

namespace verbatim::cli {

class Places {
 public:
  Places() = default;
  explicit Places(std::vector<RunReport::Place> places);

  // Location of the call that a thread entered or left late: "app.c:88, from app.c:120", or "app.c:120, through app.h:88" if
  // the call is in a wrapper: a function that posts for several callers, or one in a header. "" if unknown, and for
  // decisions of adapters.
  std::string of(const explore::Decision& decision) const;
  // Virtual id of that thread; 0 if unknown.
  std::uint32_t thread_of(const explore::Decision& decision) const;
  // Location of the latest post of a send to the queue pair (0: to any) until then; "" if unknown. Without wr_id: of any request.
  std::string of_post(std::string_view component, std::uint64_t qpn, std::int64_t until_ps,
                      std::optional<std::uint64_t> wr_id) const;
  // Whether the latest post with the completion's queue pair and wr_id is that of a send.
  bool is_of_send(const observe::TraceLine& completion) const;
  // End of the thread's delay, in ps; nullopt if unknown.
  std::optional<std::int64_t> end_of(const explore::Decision& decision) const;
  // Location of the request that belongs to a completion or packet, or of the call that armed a CQ: "posted
  // at app.c:88"; several if it is ambiguous, "" if unknown.
  std::string of(const observe::TraceLine& line) const;

 private:
  const RunReport::Place* find(const explore::Decision& decision) const;
  // The place as it is shown, with the frame outside the program's wrappers first.
  std::string shown(const std::string& place) const;
  std::vector<RunReport::Place> places_;
  std::set<std::string> wrappers_;  // locations that several callers share
};

}  // namespace verbatim::cli
