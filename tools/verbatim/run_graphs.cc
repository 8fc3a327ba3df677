#include "tools/verbatim/run_graphs.h"

#include <algorithm>

#include "sim/config/quantity.h"
#include "sim/core/time_text.h"
#include "sim/core/words.h"
#include "sim/ib/wc_status.h"
#include "tools/verbatim/bandwidth_text.h"
#include "tools/verbatim/nearest_rank.h"

namespace verbatim::cli {

namespace {

constexpr std::size_t kMostWaiting = 10;  // lines

std::string size_text(std::uint64_t bytes) {
  return config::format_quantity(static_cast<std::int64_t>(bytes), config::Dimension::kSize);
}

std::string operation_text(const workload::GraphRun& run, workload::OperationId id, std::uint32_t rank) {
  return id == workload::kNoOperation ? "adapter of rank " + std::to_string(rank) : text_of(run.graph()[id]);
}

std::vector<CollectiveFigures> runs_of(const std::vector<std::uint64_t>& rates, const config::DrawnGraph& drawn,
                                       const workload::GraphRun& run) {
  std::vector<CollectiveFigures> rows;
  for (const workload::Collective& one : drawn.collectives) {
    CollectiveFigures& row = rows.emplace_back();
    row.ideal = config::ideal_time(rates, drawn, one.first, one.past);
    Instant last{};
    for (workload::OperationId id = one.first; id < one.past; ++id) {
      row.start = std::min(row.start, run.started(id));
      last = std::max(last, run.ended(id));  // kNever is greater than all times
    }
    row.finish = last;
    const bool has_bandwidth = drawn.spec->file_graph == nullptr && drawn.spec->matrix.empty();
    if (last != kNever && has_bandwidth) row.bandwidth = bandwidth_of(one, last - row.start);
  }
  return rows;
}

}  // namespace

std::vector<GraphFigures> figures_of(const config::TopologySpec& topology, const std::vector<config::DrawnGraph>& graphs,
                                     const std::vector<const workload::GraphRun*>& runs) {
  const std::vector<std::uint64_t> rates = config::cable_rates(topology);
  std::vector<GraphFigures> all;
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const config::DrawnGraph& drawn = graphs[i];
    const workload::GraphRun& run = *runs[i];
    const bool is_file = drawn.spec->file_graph != nullptr;
    GraphFigures& one = all.emplace_back();
    one.name = drawn.spec->name;
    one.pattern = !is_file ? drawn.spec->pattern : drawn.spec->is_goal ? "goal" : "execution-trace";
    if (!is_file) one.algorithm = name_of(config::algorithm_of(*drawn.spec));
    one.what = is_file ? drawn.spec->file : one.pattern + " by " + one.algorithm;
    one.hosts = drawn.adapters.size();
    one.bytes = is_file ? run.bytes_matched() : drawn.collectives.front().bytes;
    one.operations = run.graph().size();
    one.ended = run.operations_ended();
    one.messages = run.messages_matched();
    one.unexpected = run.unexpected_left();
    one.start = run.params().start;
    one.finish = run.finish();
    one.is_done = run.is_done();
    one.is_complete = run.is_complete();
    if (const auto& failure = run.failure()) {
      one.failure = join(operation_text(run, failure->send, failure->rank), " failed: ", ib::names_of(failure->status).name);
    }
    if (!one.is_complete) one.waiting = run.waiting(kMostWaiting);
    one.runs = runs_of(rates, drawn, run);
  }
  return all;
}

std::string text_of(const std::vector<GraphFigures>& graphs) {
  std::string text;
  for (const GraphFigures& one : graphs) {
    text += join(one.name, ": ", one.what, ", ", one.hosts, " hosts");
    if (one.pattern != "barrier") text += join(", ", size_text(one.bytes));
    if (!one.is_complete) {
      text += join(": ", one.ended, " of ", one.operations, " operations have ended\n");
      continue;
    }
    std::vector<std::int64_t> times;
    for (const CollectiveFigures& run : one.runs) times.push_back((run.finish - run.start).count());
    std::ranges::sort(times);
    const std::int64_t median = nearest_rank(times, 50);
    const auto of_median = std::ranges::find_if(
        one.runs, [&](const CollectiveFigures& run) { return (run.finish - run.start).count() == median; });
    if (times.size() > 1) text += join(", ", times.size(), " times");
    text += join(": ", time_text(Duration(median)));
    if (times.size() > 1)
      text += join(" (median; ", time_text(Duration(times.front())), " to ", time_text(Duration(times.back())), ")");
    if (of_median->bandwidth) {
      text += join(", algbw ", bandwidth_text(of_median->bandwidth->algorithm), ", busbw ",
                   bandwidth_text(of_median->bandwidth->bus));
    }
    if (one.pattern != "barrier") {
      text += join("; ideal ", time_text(of_median->ideal));
      if (median > 0) text += join(", ", of_median->ideal.count() * 100 / median, " % of the time");
    }
    text += join("; ", one.messages, one.messages == 1 ? " message" : " messages");
    if (one.unexpected > 0) text += join(", and ", one.unexpected, " that no receive has taken");
    text += "\n";
  }
  return text;
}

nlohmann::ordered_json to_json(const std::vector<GraphFigures>& graphs) {
  using Json = nlohmann::ordered_json;
  const auto time = [](Instant when) { return when == kNever ? Json() : Json(to_ps(when)); };
  Json rows = Json::array();
  for (const GraphFigures& one : graphs) {
    Json runs = Json::array();
    for (const CollectiveFigures& run : one.runs) {
      const bool has_ended = run.finish != kNever;
      Json row = {{"start_ps", time(run.start)},
                  {"finish_ps", time(run.finish)},
                  {"time_ps", has_ended ? Json((run.finish - run.start).count()) : Json()},
                  {"ideal_ps", run.ideal.count()}};
      if (run.bandwidth) {
        row["algorithm_bytes_per_second"] = run.bandwidth->algorithm;
        row["bus_bytes_per_second"] = run.bandwidth->bus;
      }
      runs.push_back(std::move(row));
    }
    Json json = {{"name", one.name},
                 {"pattern", one.pattern},
                 {"algorithm", one.algorithm.empty() ? Json() : Json(one.algorithm)},
                 {"hosts", one.hosts},
                 {"bytes", one.bytes},
                 {"operations", one.operations},
                 {"ended", one.ended},
                 {"messages", one.messages},
                 {"unexpected", one.unexpected},
                 {"start_ps", to_ps(one.start)},
                 {"finish_ps", one.is_complete ? Json(to_ps(one.finish)) : Json()},
                 {"runs", std::move(runs)}};
    if (!one.failure.empty()) json["failure"] = one.failure;
    if (!one.waiting.empty()) json["waiting"] = one.waiting;
    rows.push_back(std::move(json));
  }
  return rows;
}

std::vector<std::string> failures_of(const GraphFigures& graph) {
  if (graph.is_complete) return {};
  std::vector<std::string> sentences;
  if (!graph.failure.empty()) sentences.push_back(graph.name + ": " + graph.failure);
  if (!graph.is_done || !graph.failure.empty()) {
    if (sentences.empty())
      sentences.push_back(
          join(graph.name, " is not finished: ", graph.ended, " of ", graph.operations, " operations have ended"));
    return sentences;
  }
  sentences.push_back(join(graph.name, " is deadlocked: ", graph.ended, " of ", graph.operations,
                           " operations have ended, and the others wait for what never happens"));
  for (const std::string& line : graph.waiting) sentences.push_back(graph.name + ": " + line);
  return sentences;
}

}  // namespace verbatim::cli
