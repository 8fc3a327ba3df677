// Parses lines of the text trace, for tools that compare and show traces.
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
  std::string bytes;      // "64:2bd70b4f6d1951a6"; empty if the record has no bytes

  // Ignores time and bytes.
  bool is_same_fact(const TraceLine& other) const {
    return event == other.event && component == other.component && values == other.values;
  }
  friend bool operator==(const TraceLine&, const TraceLine&) = default;
  // The value called `name`: "72" for "qpn"; empty if absent.
  std::string_view value(std::string_view name) const;
};

// The number at the beginning of the text, decimal or with 0x; 0 if there is none.
std::uint64_t number_in(std::string_view text);
// The value called `name` as a number; 0 if absent.
std::uint64_t number_of(const TraceLine& line, std::string_view name);
// "100538.450000" in picoseconds; negative if it is no time, or later than the end of virtual time.
std::int64_t picoseconds_of(std::string_view microseconds);

// The name of a completion status: "IBV_WC_RETRY_EXC_ERR" for 12.
std::string status_name(std::uint64_t status);
// "IBV_EVENT_QP_FATAL of QP 72": name of an asynchronous event and its object.
std::string async_event_text(std::uint64_t type, std::uint64_t number);

// The record as a phrase, without component and time: "ibv_req_notify_cq of CQ 129", "completion of wr_id 7,
// QP 72, in CQ 129".
std::string in_words(const TraceLine& line);

// nullopt if the line is not a trace record.
std::optional<TraceLine> parse_trace_line(std::string_view line);
// All remaining records of a trace file; other lines are skipped. nullopt if it cannot be read;
// file.problem() is the reason.
std::optional<std::vector<TraceLine>> read_trace(InputFile& file);

}  // namespace verbatim::observe
