// The trace for people: one fact a line, virtual time first, then component, event, key=value.
#pragma once

#include <cstdio>
#include <string>

#include "sim/core/trace.h"

namespace verbatim::observe {

// `101.234567890 ms  port/server:1  packet-transmitted  opcode=SEND Only …` without the newline. Times are
// microseconds with all six decimals, so that columns line up and nothing is rounded.
std::string to_text(const TraceRecord& record, std::span<const std::byte> bytes,
                    const ComponentTable& components);

// Its values alone: "cqn=128 qpn=72 wr_id=0 status=0".
std::string values_text(const TraceRecord& record);

class TextTraceSink final : public TraceSink {
 public:
  // `file` and `components` outlive the sink; write errors are the owner's to ask for (ferror).
  TextTraceSink(std::FILE* file, const ComponentTable& components) : file_(file), components_(components) {}

  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;

 private:
  std::FILE* file_;
  const ComponentTable& components_;
};

}  // namespace verbatim::observe
