// Keeps a run's trace so that two runs can be compared record by record, and names the first difference.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/trace.h"
#include "sim/observe/trace_order.h"

namespace verbatim::observe {

// One record with what identifies its bytes: their hash, their number and the first of them.
struct LogEntry {
  TraceRecord record;
  std::uint64_t bytes_hash = 0;
  std::uint64_t bytes_length = 0;
  char head[32] = {};
  friend bool operator==(const LogEntry&, const LogEntry&) = default;
};
static_assert(sizeof(LogEntry) == 104);

// Writes entries to a file descriptor, in the order of traces: any length of run, in any process.
class Recorder final : public TraceSink {
 public:
  // `fd` outlives the recorder and is not closed.
  explicit Recorder(int fd);
  ~Recorder() { flush(); }

  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;
  // 0, or the errno with which something could not be written: the log cannot be used.
  int flush();

 private:
  static constexpr std::size_t kBufferedEntries = 4096;
  void write_buffer();

  int fd_;
  int error_ = 0;
  TraceOrder<LogEntry> order_;
  std::vector<LogEntry> buffer_;
};

// The first place where two logs differ; one side is empty when that log ended.
struct Divergence {
  std::uint64_t index = 0;  // of the record, from 0
  std::optional<LogEntry> first, second;
};

// Compares two logs from their beginnings. Nothing when they are the same.
std::optional<Divergence> compare(int first_fd, int second_fd);

// Several lines for people: which record, then both sides with time, component, event, values.
std::string to_text(const Divergence& divergence, const ComponentTable& components);

}  // namespace verbatim::observe
