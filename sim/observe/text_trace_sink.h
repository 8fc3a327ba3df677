// The human-readable trace: one record a line, with virtual time, component, event, and key=value pairs.
#pragma once

#include <cstdio>
#include <string>

#include "sim/core/trace.h"
#include "sim/observe/trace_order.h"

namespace verbatim::observe {

// `101.234567 us  port/server:1  packet-transmitted  opcode=SEND Only …` without the newline. Times are
// microseconds with six decimals, so nothing is rounded.
std::string to_text(const TraceRecord& record, std::span<const std::byte> bytes,
                    const ComponentTable& components);

// The values alone: "cqn=128 qpn=72 wr_id=0 status=0".
std::string values_text(const TraceRecord& record);

// Accepts lines of the trace that are not records.
class TraceWords {
 public:
  // `text` is one or more whole lines, which stay together, of a component and a time.
  virtual void add(std::int64_t time_ps, ComponentId component, std::string text) = 0;

 protected:
  ~TraceWords() = default;
};

// Writes lines in the order of traces (trace_order.h).
class TextTraceSink final : public TraceSink, public TraceWords {
 public:
  // `file` and `components` must outlive the sink; the caller checks for write errors (ferror).
  TextTraceSink(std::FILE* file, const ComponentTable& components);
  ~TextTraceSink() { flush(); }

  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;
  void add(std::int64_t time_ps, ComponentId component, std::string text) override;
  // Writes pending lines. Later lines must not have earlier times than these.
  void flush() { order_.flush(); }

 private:
  const ComponentTable& components_;
  TraceOrder<std::string> order_;
};

}  // namespace verbatim::observe
