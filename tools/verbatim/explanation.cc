#include "tools/verbatim/explanation.h"

#include <nlohmann/json.hpp>

namespace verbatim::cli {

namespace {

using Json = nlohmann::ordered_json;
using Explainer = observe::LatencyExplainer;

Json steps_of(const Explainer::Example& example, const ComponentTable& components) {
  Json steps = Json::array();
  Instant before = example.posted;
  for (const TrailStep& step : example.steps) {
    if (step.end == before) continue;
    Json row;
    row["where"] = components.name(step.part.where);
    row["part"] = observe::label_of(step.part);
    if (step.part.kind == TrailKind::kBytes) row["bytes"] = step.part.amount;
    if (step.part.kind == TrailKind::kCycles) row["cycles"] = step.part.amount;
    if (step.part.kind == TrailKind::kWaitFor) row["for"] = components.name(waited_for(step.part));
    row["ps"] = to_ps(step.end - before);
    steps.push_back(std::move(row));
    before = step.end;
  }
  return steps;
}

Json message_of(const Explainer::Example& example, const ComponentTable& components) {
  Json message;
  message["from"] = components.name(example.message.adapter);
  message["queue_pair"] = example.message.queue_pair;
  message["work_request"] = example.message.work;
  message["to"] = components.name(example.ended_at);
  message["posted_ps"] = to_ps(example.posted);
  message["parts"] = steps_of(example, components);
  return message;
}

Json parts_of(const Explainer::Group& group) {
  Json parts = Json::array();
  for (const auto& [label, part] : group.parts) {
    parts.push_back({{"part", label},
                     {"messages", part.messages},
                     {"least_ps", part.messages == group.messages ? part.least_ps : 0},
                     {"greatest_ps", part.greatest_ps},
                     {"sum_ps", part.sum_ps}});
  }
  return parts;
}

}  // namespace

std::string explanation_json(const Explainer& explainer, const ComponentTable& components) {
  Json tables = Json::array();
  for (const auto& [kind, group] : explainer.groups()) {
    Json table;
    table["service"] = kind.service;
    table["operation"] = kind.operation;
    table["bytes"] = kind.bytes;
    table["end"] = observe::name_of(kind.end);
    table["status"] = kind.status;
    table["messages"] = group.messages;
    table["least_ps"] = group.least_ps();
    table["median_ps"] = group.median_ps();
    table["greatest_ps"] = group.greatest_ps();
    table["typical"] = message_of(group.typical(), components);
    table["slowest"] = message_of(group.slowest, components);
    table["parts"] = parts_of(group);
    tables.push_back(std::move(table));
  }
  return tables.dump(2) + "\n";
}

}  // namespace verbatim::cli
