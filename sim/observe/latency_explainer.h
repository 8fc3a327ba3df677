// Where the time of messages went: for each kind and size a table of named parts whose sum is the measured
// latency, to the picosecond, and how many messages there were, the fastest, the median and the slowest of
// them.
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

namespace verbatim::observe {

// "forwarding", "forwarding: clock edge" …: what a step is, without its amount.
std::string label_of(const TrailPart& part);
// "completed", "received", "acknowledged"
std::string_view name_of(MessageEnd end);

class LatencyExplainer final : public MessageObserver {
 public:
  // With a `trace`, the parts of every message are written there, too, one a line. Both outlive the
  // explainer.
  explicit LatencyExplainer(const ComponentTable& components, TraceWords* trace = nullptr)
      : components_(components), trace_(trace) {}

  void on_message(const MessageReport& report) override;

  // What is told apart, in the order of the tables.
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
    std::uint64_t messages = 0;  // that have it; it is nothing in the others
    std::int64_t least_ps = 0, greatest_ps = 0, sum_ps = 0;
  };
  struct Group {
    std::uint64_t messages = 0;
    LatencyCounts latencies;
    std::map<std::int64_t, Example> examples;  // the first message of each latency, as far as they are kept
    Example slowest;                           // the first of those that took longest
    std::map<std::string, Part> parts;         // by label

    std::int64_t least_ps() const { return latencies.least_ps(); }
    std::int64_t greatest_ps() const { return latencies.greatest_ps(); }
    std::int64_t median_ps() const { return latencies.median_ps(); }
    // One with the median latency; when it was not kept, the nearest that was.
    const Example& typical() const;
  };
  const std::map<Kind, Group>& groups() const { return groups_; }

  // For people.
  std::string text() const;

 private:
  // Latencies of which a message is kept; a run seldom has more.
  static constexpr std::size_t kExamples = 1024;

  void trace(const MessageReport& report, const std::vector<TrailStep>& steps) const;
  // The way of a message, of what `latency` says ("median"), step by step.
  std::string table(const Example& example, std::string_view latency) const;

  const ComponentTable& components_;
  TraceWords* trace_;
  std::map<Kind, Group> groups_;
};

}  // namespace verbatim::observe
