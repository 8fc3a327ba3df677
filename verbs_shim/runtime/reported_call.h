// Reports a call of the program to the supervisor when it begins and when it ends, if calls are traced
// (kReportsCalls). A report takes no virtual time.
#pragma once

#include "verbs_shim/protocol/reported_calls.h"
#include "verbs_shim/runtime/runtime.h"

namespace verbatim::shim {

inline bool reports_calls() { return (checks() & protocol::kReportsCalls) != 0; }

VERBATIM_EXPORT void report_call(const protocol::ReportedCall& call);
VERBATIM_EXPORT std::uint32_t reporting_thread();

class CallReport {
 public:
  CallReport(protocol::ReportedCallKind kind, std::uint32_t number, std::int64_t a0 = 0, std::int64_t a1 = 0,
            std::int64_t a2 = 0, std::int64_t a3 = 0, std::int64_t a4 = 0, std::int64_t a5 = 0) {
    if (!reports_calls()) [[likely]]
      return;
    call_ = {kind, protocol::ReportedCallStep::kBegins, number, 0, {a0, a1, a2, a3, a4, a5}, 0};
    thread_ = reporting_thread();
    report_call(call_);
  }
  CallReport(const CallReport&) = delete;

  // Returns `result`. In a forked copy of the process the call did not begin, and nothing is reported.
  template <class T>
  T ended(T result, protocol::ReportedCallStep step = protocol::ReportedCallStep::kHasEnded) {
    if (thread_ == 0 || thread_ != reporting_thread()) [[likely]]
      return result;
    call_.step = step;
    call_.result = result;
    report_call(call_);
    return result;
  }

 private:
  protocol::ReportedCall call_;
  std::uint32_t thread_ = 0;  // 0: calls are not reported
};

}  // namespace verbatim::shim
