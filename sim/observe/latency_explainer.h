// Where the time of messages went: for each kind and size a table of named parts whose sum is the measured
// latency to the picosecond, with the number of messages and the fastest, median and slowest latency.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/core/engine.h"
#include "sim/core/trail.h"
#include "sim/observe/latency_counts.h"
#include "sim/observe/text_trace_sink.h"
#include "sim/observe/watched.h"

namespace verbatim::observe {

// Name of a step without its amount: "forwarding", "forwarding: clock edge" …
std::string label_of(const TrailPart& part);
// "completed", "received", "acknowledged"
std::string_view name_of(MessageEnd end);

class LatencyExplainer final : public MessageObserver {
 public:
  // With a `trace`, the parts of every message are written there, one a line. With a `watch`, only messages of its
  // adapters that were posted in its time are counted. All arguments must outlive the explainer.
  explicit LatencyExplainer(const ComponentTable& components, TraceWords* trace = nullptr, const WatchSet* watch = nullptr)
      : components_(components), trace_(trace), watch_(watch) {}

  void on_message(const MessageReport& report) override;

  // Messages are grouped by this, and tables are sorted by it.
  struct Kind {
    std::string_view service, operation;
    MessageEnd end = MessageEnd::kCompleted;
    std::uint32_t status = 0;
    std::uint64_t bytes = 0;
    friend auto operator<=>(const Kind&, const Kind&) = default;
  };
  struct Example {
    TrailMessage message;
    ComponentId ended_at;
    Instant posted;
    std::vector<TrailStep> steps;

    std::int64_t latency_ps() const { return steps.empty() ? 0 : to_ps(steps.back().end - posted); }
  };
  struct Part {
    std::uint64_t messages = 0;  // messages with this part; it is 0 in the others
    std::int64_t least_ps = 0, greatest_ps = 0, sum_ps = 0;
  };
  struct Group {
    std::uint64_t messages = 0;
    LatencyCounts latencies;
    std::map<std::int64_t, Example> examples;  // first message of each latency, up to kExamples
    Example slowest;                           // first of the slowest messages
    std::map<std::string, Part> parts;         // by label

    std::int64_t least_ps() const { return latencies.least_ps(); }
    std::int64_t greatest_ps() const { return latencies.greatest_ps(); }
    std::int64_t median_ps() const { return latencies.median_ps(); }
    // A message with the median latency, or the nearest one that is kept.
    const Example& typical() const;
  };
  const std::map<Kind, Group>& groups() const { return groups_; }

  // Human-readable tables.
  std::string text() const;

 private:
  // Number of latencies of which an example is kept; a run seldom has more.
  static constexpr std::size_t kExamples = 1024;

  void trace(const MessageReport& report, const std::vector<TrailStep>& steps) const;
  // Table of the steps of a message; `latency` describes it ("median").
  std::string table(const Example& example, std::string_view latency) const;

  const ComponentTable& components_;
  TraceWords* trace_;
  const WatchSet* watch_;
  std::map<Kind, Group> groups_;
};

}  // namespace verbatim::observe
