// The digest of a run: XXH3-128 over every trace record and the bytes that belong to it, in order. Two runs
// are the same if and only if (but for a collision of 128 bits) their digests are.
#pragma once

#include <memory>
#include <string>

#include "sim/core/trace.h"

struct XXH3_state_s;

namespace verbatim::observe {

class DigestSink final : public TraceSink {
 public:
  DigestSink();
  ~DigestSink();

  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;

  // 32 hexadecimal digits over everything so far; may be asked at any time.
  std::string hex() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace verbatim::observe
