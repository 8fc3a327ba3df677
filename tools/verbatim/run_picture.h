// A run as `verbatim report` shows it: columns, rows in the order of time, requests from post to completion, lives of queue
// pairs, loads of links, output. Made from the lines of a trace alone.
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
    std::uint64_t qpn = 0;  // 0: programs and whatever has no queue pair
  };
  // Flags of rows.
  static constexpr std::uint32_t kDropped = 1, kRetransmission = 2, kNak = 4, kRnrNak = 8, kFlushed = 16, kError = 32,
                                 kFault = 64, kDuplicate = 128;
  // A packet from column to column, or something that happens in one.
  struct Row {
    std::int64_t time_ps = 0;
    std::int64_t end_ps = -1;   // of a packet: when it came, or was dropped; -1: it is not known
    int from = -1, to = -1;     // columns; to is -1 for what is no packet
    std::uint32_t text = 0;     // of `strings`
    std::uint32_t note = 0;     // why it stands out; 0: nothing is said
    std::uint64_t psn = 0;
    std::uint32_t bytes = 0;    // on the wire
    std::uint32_t flags = 0;
    std::int32_t request = -1;  // of `requests`
  };
  // A work request of a send queue; times are -1 where they are not known.
  struct Request {
    int column = 0;
    std::optional<std::uint64_t> wr_id;  // known where calls were kept
    std::uint32_t place = 0;    // of `strings`
    std::uint64_t bytes = 0, first_psn = 0, last_psn = 0;
    std::int64_t posted = -1, rung = -1, fetched = -1, first_left = -1, last_left = -1, last_came = -1, acknowledged = -1,
                 completed = -1;
    std::uint64_t status = 0;

    // When the program posted it, or the first that is known after that.
    std::int64_t begin_ps() const { return posted >= 0 ? posted : rung >= 0 ? rung : fetched; }
    // When its completion was written, or when it was acknowledged where no completion is known.
    std::int64_t end_ps() const { return completed >= 0 ? completed : acknowledged; }
  };
  struct Change {
    std::int64_t time_ps = 0;
    int column = 0;
    unsigned to = 0;  // ib::QpState
  };
  struct Link {
    std::string port;  // that sends
    BinnedValues bytes;               // over the time with packets
    std::vector<std::int64_t> drops;  // the time of each, in their order; ps
  };
  struct Output {
    std::int64_t time_ps = 0;
    std::string host, text;
    bool is_error = false;
  };

  std::vector<std::string> strings = {""};
  std::vector<Column> columns;
  std::vector<std::pair<int, int>> peers;  // columns that are connected, both ways
  std::vector<Row> rows;
  std::vector<Request> requests;
  std::vector<Change> changes;
  std::vector<Link> links;
  std::vector<Output> output;
  std::int64_t first_packet_ps = 0, last_packet_ps = 0;
  std::uint64_t packets = 0;

  // The part of the time with packets (BinnedValues::kBins) of a time; the first or the last for times before or after it.
  std::size_t bin_of(std::int64_t time_ps) const;
};

RunPicture picture_of(const RecordedRun& run);

}  // namespace verbatim::cli
