#include "sim/observe/latency_explainer.h"

#include <algorithm>

#include "sim/core/check.h"
#include "sim/core/time_text.h"
#include "sim/observe/microseconds.h"

namespace verbatim::observe {

namespace {

// "1234.567": exact nanoseconds.
std::string nanoseconds(std::int64_t ps) {
  const std::string decimals = std::to_string(ps % 1000);
  return std::to_string(ps / 1000) + "." + std::string(3 - decimals.size(), '0') + decimals;
}

std::string right(const std::string& text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

std::string left(const std::string& text, std::size_t width) {
  return text.size() < width ? text + std::string(width - text.size(), ' ') : text;
}

std::string label_with_amount(const TrailPart& part, const ComponentTable& components) {
  std::string text = label_of(part);
  if (part.kind == TrailKind::kBytes) text += ", " + std::to_string(part.amount) + " bytes";
  if (part.kind == TrailKind::kCycles) text += ", " + std::to_string(part.amount) + " cycles";
  if (part.kind == TrailKind::kWaitFor) text += ", " + components.name(waited_for(part));
  return text;
}

std::string words_of(const LatencyExplainer::Kind& kind) {
  std::string text = std::string(kind.service) + " " + std::string(kind.operation) + ", " +
                     std::to_string(kind.bytes) + " bytes, until ";
  switch (kind.end) {
    case MessageEnd::kCompleted:
      text += "the completion of the request is visible";
      break;
    case MessageEnd::kReceived:
      text += "the completion of the receive is visible";
      break;
    case MessageEnd::kAcknowledged:
      text += "it is acknowledged or sent (unsignaled)";
      break;
  }
  if (kind.status != 0) text += ", with status " + std::to_string(kind.status);
  return text;
}

constexpr std::size_t kWhereWidth = 22, kPartWidth = 50, kTimeWidth = 16;

}  // namespace

std::string label_of(const TrailPart& part) {
  std::string text = part.name;
  if (part.kind == TrailKind::kEdge) text += ": clock edge";
  if (part.kind == TrailKind::kBusy) text += ": earlier work";
  return text;
}

std::string_view name_of(MessageEnd end) {
  switch (end) {
    case MessageEnd::kCompleted:
      return "completed";
    case MessageEnd::kReceived:
      return "received";
    case MessageEnd::kAcknowledged:
      return "acknowledged";
  }
  return "unknown";
}

const LatencyExplainer::Example& LatencyExplainer::Group::typical() const {
  const std::int64_t median = median_ps();
  const auto above = examples.lower_bound(median);
  if (above == examples.begin() || (above != examples.end() && above->first == median)) return above->second;
  const auto below = std::prev(above);
  if (above == examples.end() || median - below->first <= above->first - median) return below->second;
  return above->second;
}

void LatencyExplainer::on_message(const MessageReport& report) {
  const TrailMessage* message = report.trail.message();
  CHECK(message != nullptr && report.trail.end() == report.at);
  if (watch_ != nullptr && !watch_->has(message->adapter, to_ps(report.trail.begin()))) return;
  const std::vector<TrailStep> steps = report.trail.steps();
  const std::int64_t latency = to_ps(report.at - report.trail.begin());
  Group& group = groups_[{message->service, message->operation, report.end, report.status, message->bytes}];
  const auto example = [&] { return Example{*message, report.adapter, report.trail.begin(), steps}; };
  if (group.messages == 0 || latency > group.greatest_ps()) group.slowest = example();
  ++group.messages;
  group.latencies.add(latency);
  if (group.examples.size() < kExamples && group.examples.find(latency) == group.examples.end()) {
    group.examples.emplace(latency, example());
  }
  std::map<std::string, std::int64_t> own;
  Instant before = report.trail.begin();
  for (const TrailStep& step : steps) {
    if (step.end > before) own[label_of(step.part)] += to_ps(step.end - before);
    before = step.end;
  }
  std::int64_t sum = 0;
  for (const auto& [label, ps] : own) {
    Part& part = group.parts[label];
    part.least_ps = part.messages == 0 ? ps : std::min(part.least_ps, ps);
    part.greatest_ps = std::max(part.greatest_ps, ps);
    part.sum_ps += ps;
    ++part.messages;
    sum += ps;
  }
  CHECK(sum == latency);
  if (trace_ != nullptr) trace(report, steps);
}

void LatencyExplainer::trace(const MessageReport& report, const std::vector<TrailStep>& steps) const {
  const TrailMessage& message = *report.trail.message();
  const std::string from = microseconds(to_ps(report.at)) + " us  " + components_.name(report.adapter) + "  ";
  std::string text =
      from + "message  service=" + std::string(message.service) + " operation=\"" +
      std::string(message.operation) + "\" bytes=" + std::to_string(message.bytes) +
      " from=" + components_.name(message.adapter) + " qpn=" + std::to_string(message.queue_pair) +
      " work=" + std::to_string(message.work) + " end=" + std::string(name_of(report.end)) +
      " at_qpn=" + std::to_string(report.queue_pair) + " status=" + std::to_string(report.status) +
      " posted_ps=" + std::to_string(to_ps(report.trail.begin())) +
      " latency_ps=" + std::to_string(to_ps(report.at - report.trail.begin())) + "\n";
  Instant before = report.trail.begin();
  for (const TrailStep& step : steps) {
    if (step.end == before) continue;
    text += from + "message-part  ps=" + std::to_string(to_ps(step.end - before)) +
            " where=" + components_.name(step.part.where) + " part=\"" + label_of(step.part) + "\"";
    if (step.part.kind == TrailKind::kBytes) text += " bytes=" + std::to_string(step.part.amount);
    if (step.part.kind == TrailKind::kCycles) text += " cycles=" + std::to_string(step.part.amount);
    if (step.part.kind == TrailKind::kWaitFor) text += " for=" + components_.name(waited_for(step.part));
    text += "\n";
    before = step.end;
  }
  trace_->add(to_ps(report.at), report.adapter, std::move(text));
}

std::string LatencyExplainer::table(const Example& example, std::string_view latency) const {
  std::string text = "  One message of " + std::string(latency) + " latency: posted at " +
                     time_text(example.posted) + ", " +
                     components_.name(example.message.adapter) + ", queue pair " +
                     std::to_string(example.message.queue_pair) + ", work request " +
                     std::to_string(example.message.work) + "\n";
  text += "  " + left("where", kWhereWidth) + left("part", kPartWidth) + right("ns", kTimeWidth) +
          right("so far", kTimeWidth) + "\n";
  Instant before = example.posted;
  for (const TrailStep& step : example.steps) {
    if (step.end == before) continue;
    text += "  " + left(components_.name(step.part.where), kWhereWidth) +
            left(label_with_amount(step.part, components_), kPartWidth) +
            right(nanoseconds(to_ps(step.end - before)), kTimeWidth) +
            right(nanoseconds(to_ps(step.end - example.posted)), kTimeWidth) + "\n";
    before = step.end;
  }
  text += "  " + left("", kWhereWidth) + left("sum, and the latency measured", kPartWidth) +
          right(nanoseconds(to_ps(before - example.posted)), kTimeWidth) + "\n";
  return text;
}

std::string LatencyExplainer::text() const {
  std::string text;
  for (const auto& [kind, group] : groups_) {
    text += words_of(kind) + "\n";
    text += "  messages " + std::to_string(group.messages) + ", least " + nanoseconds(group.least_ps()) +
            " ns, median " + nanoseconds(group.median_ps()) + " ns, greatest " +
            nanoseconds(group.greatest_ps()) + " ns\n\n";
    const Example& typical = group.typical();
    const bool is_median = typical.latency_ps() == group.median_ps();
    text += table(typical, is_median ? "median" : "nearly median");
    // Shown if it differs by more than clock edges explain: lost packets, queues, a cold cache.
    if (group.greatest_ps() - group.median_ps() > group.median_ps() / 10) {
      text += "\n" + table(group.slowest, "greatest");
    }
    if (group.messages > 1) {
      text += "\n  All messages, parts of one name added up\n  " + left("part", kWhereWidth + kPartWidth) +
              right("least ns", kTimeWidth) + right("mean ns", kTimeWidth) +
              right("greatest ns", kTimeWidth) + "\n";
      for (const auto& [label, part] : group.parts) {
        const std::int64_t least = part.messages == group.messages ? part.least_ps : 0;
        text += "  " + left(label, kWhereWidth + kPartWidth) + right(nanoseconds(least), kTimeWidth) +
                right(nanoseconds(part.sum_ps / static_cast<std::int64_t>(group.messages)), kTimeWidth) +
                right(nanoseconds(part.greatest_ps), kTimeWidth) + "\n";
      }
    }
    text += "\n";
  }
  return text.empty() ? "No message was sent.\n" : text;
}

}  // namespace verbatim::observe
