// The view of a run in `verbatim report`: columns, rows in the order of time, requests from post to
// completion, states of queue pairs, loads of links, output. It is made from the trace alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/verbatim/binned_values.h"
#include "tools/verbatim/recorded_run.h"

namespace verbatim::cli {

struct RunPicture {
  // One end of a queue pair, or a host's programs.
  struct Column {
    std::string host;
    std::uint64_t qpn = 0;  // 0: programs, and everything without a queue pair
  };
  // Flags of rows.
  static constexpr std::uint32_t kDropped = 1, kRetransmission = 2, kNak = 4, kRnrNak = 8, kFlushed = 16, kError = 32,
                                 kFault = 64, kDuplicate = 128;
  // A packet between columns, or an event in one column.
  struct Row {
    std::int64_t time_ps = 0;
    std::int64_t end_ps = -1;   // of a packet: arrival or drop; -1: unknown
    int from = -1, to = -1;     // columns; to is -1 unless it is a packet
    std::uint32_t text = 0;     // index in `strings`
    std::uint32_t note = 0;     // index in `strings` of an explanation; 0: none
    std::uint64_t psn = 0;
    std::uint32_t bytes = 0;    // on the wire
    std::uint32_t flags = 0;
    std::int32_t request = -1;  // index in `requests`
  };
  // A work request of a send queue; unknown times are -1.
  struct Request {
    int column = 0;
    std::optional<std::uint64_t> wr_id;  // known if calls were recorded
    std::uint32_t place = 0;    // index in `strings`
    std::uint64_t bytes = 0, first_psn = 0, last_psn = 0;
    std::int64_t posted = -1, rung = -1, fetched = -1, first_left = -1, last_left = -1, last_came = -1, acknowledged = -1,
                 completed = -1;
    std::uint64_t status = 0;

    // When it was posted, or the first known time after that.
    std::int64_t begin_ps() const { return posted >= 0 ? posted : rung >= 0 ? rung : fetched; }
    // When its completion was written or, if unknown, when it was acknowledged.
    std::int64_t end_ps() const { return completed >= 0 ? completed : acknowledged; }
  };
  struct Change {
    std::int64_t time_ps = 0;
    int column = 0;
    unsigned to = 0;  // ib::QpState
  };
  struct Link {
    std::string port;  // the sending port
    BinnedValues bytes;               // over the time with packets
    std::vector<std::int64_t> drops;  // times in ps, ascending
  };
  struct Output {
    std::int64_t time_ps = 0;
    std::string host, text;
    bool is_error = false;
  };

  std::vector<std::string> strings = {""};
  std::vector<Column> columns;
  std::vector<std::pair<int, int>> peers;  // pairs of connected columns, in both directions
  std::vector<Row> rows;
  std::vector<Request> requests;
  std::vector<Change> changes;
  std::vector<Link> links;
  std::vector<Output> output;
  std::int64_t first_packet_ps = 0, last_packet_ps = 0;
  std::uint64_t packets = 0;

  // Part of the time with packets (BinnedValues::kBins) that contains a time; times before or after get the
  // first or last part.
  std::size_t bin_of(std::int64_t time_ps) const;
};

RunPicture picture_of(const RecordedRun& run);

}  // namespace verbatim::cli
