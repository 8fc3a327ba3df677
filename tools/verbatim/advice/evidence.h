// Records of a failing run, and of the same run without one of its decisions, for the rules that derive
// advice.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/explore/decision.h"
#include "sim/observe/trace_line.h"
#include "tools/verbatim/places.h"
#include "tools/verbatim/run_report.h"

namespace verbatim::cli {

using Trace = std::vector<observe::TraceLine>;

// A call of a thread, from the list of calls (calls/call_list.h). Polls that were repeated in vain are left
// out.
struct ThreadCall {
  std::int64_t begin_ps = 0;
  std::int64_t end_ps = std::numeric_limits<std::int64_t>::max();  // max(): it has not ended
  std::string host;
  std::uint32_t pid = 0, tid = 0;
  std::string name;       // "ibv_poll_cq"
  std::string arguments;  // "CQ 129"
  std::string result;     // "2 [wr_id 11 success, wr_id 11 success]"; empty: it has not ended

  bool has_ended() const { return !result.empty(); }
  // The number behind `what` in the arguments: 129 for "CQ "; 0 if absent.
  std::uint64_t number_of(std::string_view what) const;
  // Number of completions that a poll has returned; 0 for other calls.
  std::size_t polled() const;
  std::string text() const;  // "ibv_poll_cq(CQ 129) = 1 [wr_id 0 success]"
};
// In the order of their beginnings. Lines in another form are skipped.
std::vector<ThreadCall> thread_calls_of(std::string_view list);

// The first unexpected end of a program; for a run that hangs, the hang.
struct FailureEnd {
  std::string host;       // empty for a hang
  std::uint32_t pid = 0;  // 0: unknown
  std::int64_t time_ps = 0;
  bool hangs() const { return host.empty(); }
};

class Evidence {
 public:
  // One run: its trace, and facts in the form of `--keep-trace`.
  struct Run {
    Trace trace, facts;
    bool fails_alike = false;  // of a run without a decision: it fails in the same way
  };
  // `without[i]` lacks decisions[i]; fewer are possible, and empty traces are unknown. `report` is that of
  // the failing run; it, `places` and the decisions must outlive this object.
  Evidence(Run failing, std::vector<Run> without, const std::vector<explore::Decision>& decisions,
           std::vector<ThreadCall> calls, const Places& places, const RunReport& report, bool is_minimal = true);

  // Whether the decisions are the fewest: else a decision may only be in the way of another one.
  bool is_minimal() const { return is_minimal_; }
  const FailureEnd& end() const { return end_; }
  const RunReport& report() const { return report_; }
  const Places& places() const { return places_; }
  const Run& failing() const { return failing_; }
  const Trace& trace() const { return failing_.trace; }
  const Trace& facts() const { return failing_.facts; }
  const std::vector<ThreadCall>& calls() const { return calls_; }  // until the end

  struct Difference {
    const explore::Decision& decision;
    std::size_t number;  // of the decision, counted from 1
    const Run& without;
    std::size_t first;  // index of the first different record; the failing trace may end before it
  };
  // The decisions without which the run does not fail in this way; their runs exist and differ.
  const std::vector<Difference>& differences() const { return differences_; }

  // Whether the process belongs to the program that failed first; of a hang, every process.
  bool has_failed(std::uint32_t pid) const { return end_.hangs() || end_.pid == pid; }
  // Time from which the thread of the decision is held: that of the decision, which may be earlier than the thread's
  // previous call, or the end of that call.
  std::int64_t held_from(const explore::Decision& decision) const;
  // Last call of the failed program before its end that fulfils the condition; nullptr: none.
  const ThreadCall* last_call(const std::function<bool(const ThreadCall&)>& condition) const;
  // The failed program's last poll that returned completions.
  const ThreadCall* last_poll() const;
  // The completions that this poll has returned; empty if they are unknown.
  std::vector<const observe::TraceLine*> completions_of(const ThreadCall& poll) const;

  // Location of the latest post to this queue pair until then: "app.c:88"; "" if unknown. Without wr_id: of
  // any request.
  std::string posted_at(std::string_view component, std::uint64_t qpn, std::int64_t until_ps,
                        std::optional<std::uint64_t> wr_id = {}) const;
  // The queue pair whose packet caused this write to memory, and whether it is a response; nullopt: unknown.
  struct Placed {
    std::uint64_t qpn = 0;
    bool is_response = false;
  };
  static std::optional<Placed> placed_by(const Run& run, const observe::TraceLine& write);
  std::optional<Placed> placed_by(const observe::TraceLine& write) const {
    return placed_by(failing_, write);
  }
  // The number of the queue pair with this handle of the process, at that time; 0 if unknown.
  std::uint64_t queue_pair_of(std::string_view host, std::uint32_t pid, std::uint64_t handle,
                              std::int64_t until_ps) const;
  // The queue pair that a call like ibv_destroy_qp(handle 5) concerns; 0 if unknown.
  std::uint64_t queue_pair_of(const ThreadCall& call) const;
  // Whether the completion, a record of this run's trace, is that of a receive; nullopt: its facts do not say so.
  static std::optional<bool> is_of_receive(const Run& run, const observe::TraceLine& completion);
  // Whether the completion is that of a send: by the facts of the failing run; without them by its CQ if the queue pair
  // has two, else by the latest post with its wr_id.
  bool is_of_send(const observe::TraceLine& completion) const;
  // The call with the number of its queue pair instead of the handle: "ibv_destroy_qp(QP 72) = 0".
  std::string text_of(const ThreadCall& call) const;
  // Opcode and time of the last packet with data that arrived for this queue pair until then.
  const observe::TraceLine* last_request(std::string_view host, std::uint64_t qpn,
                                         std::int64_t until_ps) const;

 private:
  FailureEnd find_end() const;

  Run failing_;
  std::vector<Run> without_;
  std::vector<ThreadCall> calls_;
  const Places& places_;
  const RunReport& report_;
  bool is_minimal_;
  FailureEnd end_;
  std::vector<Difference> differences_;
};

// "server" for "hca/server", "host/server" and "port/server:1".
std::string host_in(std::string_view component);

}  // namespace verbatim::cli
