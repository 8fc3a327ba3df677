// The trace for people: one fact a line, virtual time first, then component, event, key=value.
#pragma once

#include <cstdio>
#include <string>

#include "sim/core/trace.h"
#include "sim/observe/trace_order.h"

namespace verbatim::observe {

// `101.234567890 ms  port/server:1  packet-transmitted  opcode=SEND Only …` without the newline. Times are
// microseconds with all six decimals, so that columns line up and nothing is rounded.
std::string to_text(const TraceRecord& record, std::span<const std::byte> bytes,
                    const ComponentTable& components);

// Its values alone: "cqn=128 qpn=72 wr_id=0 status=0".
std::string values_text(const TraceRecord& record);

// Takes lines for the trace that are no records.
class TraceWords {
 public:
  // `text`: whole lines, which stay together, of something that belongs to a component and a time.
  virtual void add(std::int64_t time_ps, ComponentId component, std::string text) = 0;

 protected:
  ~TraceWords() = default;
};

// Lines in the order of traces (trace_order.h).
class TextTraceSink final : public TraceSink, public TraceWords {
 public:
  // `file` and `components` outlive the sink; write errors are the owner's to ask for (ferror).
  TextTraceSink(std::FILE* file, const ComponentTable& components);
  ~TextTraceSink() { flush(); }

  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;
  void add(std::int64_t time_ps, ComponentId component, std::string text) override;
  // Everything that is still to come must not be of an earlier time than what has come.
  void flush() { order_.flush(); }

 private:
  const ComponentTable& components_;
  TraceOrder<std::string> order_;
};

}  // namespace verbatim::observe
