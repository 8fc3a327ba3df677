// Keeps a run's trace, so that two runs can be compared record by record and the first difference be found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/trace.h"
#include "sim/observe/trace_order.h"

namespace verbatim::observe {

// A record with a summary of its bytes: hash, length and first bytes.
struct LogEntry {
  TraceRecord record;
  std::uint64_t bytes_hash = 0;
  std::uint64_t bytes_length = 0;
  char head[32] = {};
  friend bool operator==(const LogEntry&, const LogEntry&) = default;
};
static_assert(sizeof(LogEntry) == 104);

// Writes entries to a file descriptor, in the order of traces.
class Recorder final : public TraceSink {
 public:
  // `fd` must stay open while the recorder exists; the recorder does not close it.
  explicit Recorder(int fd);
  ~Recorder() { flush(); }

  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;
  // Returns 0, or the errno of a failed write; the log is then unusable.
  int flush();

 private:
  static constexpr std::size_t kBufferedEntries = 4096;
  void write_buffer();

  int fd_;
  int error_ = 0;
  TraceOrder<LogEntry> order_;
  std::vector<LogEntry> buffer_;
};

// The first difference of two logs; one side is empty if that log is shorter.
struct Divergence {
  std::uint64_t index = 0;  // of the record, from 0
  std::optional<LogEntry> first, second;
};

// Compares two logs from their beginnings; nullopt if they are equal.
std::optional<Divergence> compare(int first_fd, int second_fd);

// A text of several lines: the index of the record, then both sides with time, component, event, values.
std::string to_text(const Divergence& divergence, const ComponentTable& components);

}  // namespace verbatim::observe
