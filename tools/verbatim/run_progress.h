// The progress of a run, for a person who waits for it.
#pragma once

#include <functional>

#include "sim/core/engine.h"
#include "sim/core/trace.h"
#include "tools/verbatim/progress.h"

namespace verbatim::cli {

// Checks the clock once in a number of records. Added to a run only if the line is shown.
class RunProgress final : public TraceSink {
 public:
  // `packets` returns the number of packets. `end` is the expected virtual end; kEndOfTime: unknown.
  RunProgress(Progress& progress, const Engine& engine, Instant end, std::function<std::uint64_t()> packets)
      : progress_(progress), engine_(engine), end_(end), packets_(std::move(packets)) {}

  void on_record(const TraceRecord&, std::span<const std::byte>) override {
    if (++facts_ % kFactsBetweenLooks == 0 && progress_.is_due()) show();
  }

 private:
  static constexpr std::uint64_t kFactsBetweenLooks = 32;

  void show();

  Progress& progress_;
  const Engine& engine_;
  const Instant end_;
  const std::function<std::uint64_t()> packets_;
  std::uint64_t facts_ = 0;
};

}  // namespace verbatim::cli
