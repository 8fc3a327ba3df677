// A line of the text trace, taken apart again: what tools that compare and show traces work on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/input_file.h"

namespace verbatim::observe {

struct TraceLine {
  std::int64_t time_ps = 0;
  std::string component;  // "hca/server"
  std::string event;      // "completion"
  std::string values;     // "cqn=128 qpn=72 wr_id=0 status=0", without the bytes
  std::string bytes;      // "64:2bd70b4f6d1951a6", empty where there are none

  // Whatever its time, and whatever its bytes.
  bool is_same_fact(const TraceLine& other) const {
    return event == other.event && component == other.component && values == other.values;
  }
  friend bool operator==(const TraceLine&, const TraceLine&) = default;
  // Of `name` among the values: "72" for "qpn"; empty: it has none.
  std::string_view value(std::string_view name) const;
};

// The number that the text begins with, decimal or with 0x; 0: none.
std::uint64_t number_in(std::string_view text);
// Of `name` among the values; 0: it has none.
std::uint64_t number_of(const TraceLine& line, std::string_view name);
// "100538.450000" as picoseconds; negative: it is no time, or one beyond the end of virtual time.
std::int64_t picoseconds_of(std::string_view microseconds);

// "IBV_WC_RETRY_EXC_ERR" of 12.
std::string status_name(std::uint64_t status);
// "IBV_EVENT_QP_FATAL of QP 72": the type of an asynchronous event with the number of what it is about.
std::string async_event_text(std::uint64_t type, std::uint64_t number);

// Without component and time: "ibv_req_notify_cq of CQ 129", "completion of wr_id 7, QP 72, in CQ 129".
std::string in_words(const TraceLine& line);

// nullopt: the line is none of the trace's records.
std::optional<TraceLine> parse_trace_line(std::string_view line);
// All records that are left of a trace file; other lines are passed over. nullopt: it cannot be read, file.problem() says why.
std::optional<std::vector<TraceLine>> read_trace(InputFile& file);

}  // namespace verbatim::observe
