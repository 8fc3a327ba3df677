#include "tools/verbatim/run_flows.h"

#include <algorithm>
#include <map>

#include "sim/config/quantity.h"
#include "sim/core/interruption.h"
#include "sim/core/time_text.h"
#include "sim/core/words.h"
#include "sim/ib/wc_status.h"
#include "tools/verbatim/nearest_rank.h"
#include "tools/verbatim/size_classes.h"

namespace verbatim::cli {

namespace {

using workload::FlowKind, workload::FlowPlan;

const std::string& from_of(const config::ScenarioSpec& scenario, const FlowPlan& flow) {
  return scenario.topology.adapters[flow.from].name;
}
const std::string& to_of(const config::ScenarioSpec& scenario, const FlowPlan& flow) {
  return scenario.topology.adapters[flow.to].name;
}
const FlowKind& kind_of(const config::ScenarioSpec& scenario, const FlowPlan& flow) {
  return scenario.traffic.kinds[flow.kind];
}
const char* operation_of(const FlowKind& kind) { return workload::name_of(kind.operation); }

std::string name_of(std::size_t index, const config::ScenarioSpec& scenario) {
  const FlowPlan& flow = scenario.traffic.flows[index];
  const std::string& workload = kind_of(scenario, flow).name;
  return join("flow ", index, workload.empty() ? "" : " of " + workload, ", ", from_of(scenario, flow),
              " to ", to_of(scenario, flow));
}

std::string bytes_text(std::uint64_t bytes) {
  return config::format_quantity(static_cast<std::int64_t>(bytes), config::Dimension::kSize);
}

// Payload over the time from start to finish, in Mbps, rounded down: integer arithmetic gives the same result
// on every machine. The time must be above 0.
std::uint64_t mbps_of(std::uint64_t bytes, Duration time) {
  const auto scaled = static_cast<unsigned __int128>(bytes) * 8 * 1'000'000;
  return static_cast<std::uint64_t>(scaled / static_cast<std::uint64_t>(time.count()));
}

// "1.234" of thousandths.
std::string thousandths_text(std::uint64_t thousandths) {
  return join(thousandths / 1000, ".", std::to_string(1000 + thousandths % 1000).substr(1));
}

// The nearest double, which JSON shows with up to three decimals.
double number_of_thousandths(std::int64_t thousandths) { return static_cast<double>(thousandths) / 1000; }

std::string gbps_text(std::uint64_t mbps) {
  return thousandths_text(mbps) + " Gbps";
}

std::string rate_text(std::uint64_t bytes, Duration time) {
  return time <= Duration(0) ? "" : ", " + gbps_text(mbps_of(bytes, time));
}

bool is_finished(const FlowFigures& figures) {
  return figures.finish != kNever && figures.status == ib::WcStatus::kSuccess;
}

}  // namespace

std::vector<FlowFigures> figures_of(config::Simulation& simulation, const workload::Traffic& traffic,
                                    std::span<const workload::Flow* const> flows) {
  std::vector<FlowFigures> figures;
  if (flows.empty()) return figures;
  figures.reserve(flows.size());
  config::IdealTimes ideals(simulation);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const workload::Flow& flow = *flows[i];
    const FlowPlan& plan = traffic.flows[i];
    figures.push_back({flow.start(), flow.finish(), flow.acknowledged(), flow.status(),
                       ideals.of(traffic.kinds[plan.kind], plan).value_or(Duration(0))});
  }
  return figures;
}

workload::Traffic with_arrivals(const workload::Traffic& traffic, config::Simulation& simulation,
                                std::span<const workload::PoissonLoad* const> loads, std::vector<FlowFigures>& figures) {
  workload::Traffic all = traffic;
  config::IdealTimes ideals(simulation);
  for (const workload::PoissonLoad* const load : loads) {
    for (const workload::PoissonLoad::Arrival& one : load->arrivals()) {
      all.flows.push_back(one.plan);
      figures.push_back({instant_from_ps(one.plan.start.count()), one.finish, one.acknowledged, one.status,
                         ideals.of(traffic.kinds[one.plan.kind], one.plan).value_or(Duration(0))});
    }
  }
  return all;
}

std::optional<std::uint64_t> slowdown_of(const FlowFigures& figures) {
  if (!is_finished(figures) || figures.ideal <= Duration(0)) return std::nullopt;
  const auto took = static_cast<unsigned __int128>((figures.finish - figures.start).count());
  const auto ideal = static_cast<std::uint64_t>(figures.ideal.count());
  return std::max<std::uint64_t>(1000, static_cast<std::uint64_t>(took * 1000 / ideal));
}

supervisor::RunResult run_flows(Engine& engine, const workload::Workload& workload,
                                const supervisor::Limits& limits) {
  using supervisor::Outcome;
  const Interruption::Watch watch;
  supervisor::RunResult result;
  const bool has_end = !workload.is_done();
  while (!has_end || !workload.is_done()) {
    if (engine.empty()) {
      if (has_end) result.outcome = Outcome::kDeadlock;
      break;
    }
    if (engine.next_event_time() > limits.virtual_end) {
      engine.run_until(limits.virtual_end);
      result.outcome = Outcome::kTimeLimit;
      break;
    }
    engine.step();
    if (limits.fabric_deadlock != nullptr && *limits.fabric_deadlock != kNever) [[unlikely]] {
      result.outcome = Outcome::kDeadlock;
      result.is_fabric_deadlock = true;
      break;
    }
    if (Interruption::came()) [[unlikely]] {
      result.outcome = Outcome::kInterrupted;
      break;
    }
  }
  // A run also finishes if the remaining operations of a graph wait for ever.
  const auto waits = [](const workload::GraphRun& run) { return run.is_done() && !run.is_complete() && !run.failure(); };
  if (result.outcome == Outcome::kFinished && std::ranges::any_of(workload.graph_runs(), waits))
    result.outcome = Outcome::kDeadlock;
  return result;
}

std::string line_of(std::size_t index, const config::ScenarioSpec& scenario, const FlowFigures& figures,
                    Instant end) {
  const FlowPlan& flow = scenario.traffic.flows[index];
  const std::string name = name_of(index, scenario), bytes = bytes_text(figures.acknowledged);
  if (figures.start == kNever) return name + ": not started";
  if (is_finished(figures)) {
    const Duration took = figures.finish - figures.start;
    return join(name, ": ", bytes, " in ", time_text(took), rate_text(figures.acknowledged, took), ", from ",
                time_text(figures.start), " to ", time_text(figures.finish));
  }
  const bool has_failed = figures.finish != kNever;
  if (flow.is_endless() && !has_failed)
    return join(name, ": ", bytes,
                figures.start < end ? rate_text(figures.acknowledged, end - figures.start) : "", ", from ",
                time_text(figures.start), ", without end");
  return join(name, ": ", bytes, flow.is_endless() ? "" : " of " + bytes_text(flow.bytes), ", from ",
              time_text(figures.start),
              has_failed ? ", failed at " + time_text(figures.finish) : ", not finished");
}

namespace {

// Times of these flows, given by index; each of them has an end.
std::vector<FlowTimes> times_of(const workload::Traffic& traffic, std::span<const std::size_t> flows,
                                std::span<const FlowFigures> figures) {
  if (flows.empty()) return {};
  struct Times {
    std::size_t flows = 0;
    std::vector<std::int64_t> times, rates, slowdowns;
  };
  SizeClasses classes;
  for (const std::size_t i : flows) classes.add(traffic.flows[i].bytes);
  std::map<std::uint64_t, Times> by_class;
  Times all;
  for (const std::size_t i : flows) {
    for (Times* const of : {&by_class[classes.bound_of(traffic.flows[i].bytes)], &all}) {
      ++of->flows;
      if (!is_finished(figures[i])) continue;
      const Duration took = figures[i].finish - figures[i].start;
      if (took <= Duration(0)) continue;
      of->times.push_back(took.count());
      of->rates.push_back(static_cast<std::int64_t>(mbps_of(figures[i].acknowledged, took)));
      if (const auto slowdown = slowdown_of(figures[i])) of->slowdowns.push_back(static_cast<std::int64_t>(*slowdown));
    }
  }
  std::vector<FlowTimes> rows;
  const auto add = [&](std::uint64_t most_bytes, Times& of) {
    const bool is_exact = classes.are_exact() && most_bytes != 0;
    FlowTimes& row =
        rows.emplace_back(FlowTimes{.most_bytes = most_bytes, .is_exact = is_exact, .flows = of.flows});
    row.finished = of.times.size();
    if (of.times.empty()) return;
    std::ranges::sort(of.times);
    std::ranges::sort(of.rates);
    row.mean_ps = mean_of(of.times);
    row.p50_ps = nearest_rank(of.times, 50);
    row.p95_ps = nearest_rank(of.times, 95);
    row.p99_ps = nearest_rank(of.times, 99);
    row.longest_ps = of.times.back();
    row.p50_mbps = static_cast<std::uint64_t>(nearest_rank(of.rates, 50));
    if (of.slowdowns.empty()) return;
    std::ranges::sort(of.slowdowns);
    row.p50_slowdown = nearest_rank(of.slowdowns, 50);
    row.p95_slowdown = nearest_rank(of.slowdowns, 95);
    row.p99_slowdown = nearest_rank(of.slowdowns, 99);
    row.most_slowdown = of.slowdowns.back();
  };
  for (auto& [most_bytes, of] : by_class) add(most_bytes, of);
  add(0, all);
  return rows;
}

// Indices of the flows that have an end and, if a name is given, are of the kind with that name.
std::vector<std::size_t> finite_flows(const workload::Traffic& traffic, const std::string* name = nullptr) {
  std::vector<std::size_t> flows;
  for (std::size_t i = 0; i < traffic.flows.size(); ++i) {
    const FlowPlan& flow = traffic.flows[i];
    if (!flow.is_endless() && (name == nullptr || traffic.kinds[flow.kind].name == *name)) flows.push_back(i);
  }
  return flows;
}

}  // namespace

std::vector<FlowTimes> flow_times(const workload::Traffic& traffic, std::span<const FlowFigures> figures) {
  return times_of(traffic, finite_flows(traffic), figures);
}

std::vector<WorkloadFigures> workloads_of(const config::ScenarioSpec& scenario,
                                          std::span<const FlowFigures> figures) {
  const workload::Traffic& traffic = scenario.traffic;
  std::vector<WorkloadFigures> workloads;
  std::map<std::string, std::size_t> places;
  if (!scenario.flows.empty()) {
    places.emplace("", 0);
    workloads.emplace_back();
  }
  for (const config::WorkloadSpec& spec : scenario.workloads) {
    if (!spec.is_resolved) continue;  // a graph
    places.emplace(spec.name, workloads.size());
    workloads.emplace_back().name = spec.name;
  }
  for (std::size_t i = 0; i < figures.size(); ++i) {
    WorkloadFigures& one = workloads[places.at(traffic.kinds[traffic.flows[i].kind].name)];
    ++one.flows;
    one.endless += traffic.flows[i].is_endless() ? 1 : 0;
    one.finished += is_finished(figures[i]) ? 1 : 0;
    one.acknowledged += figures[i].acknowledged;
    if (figures[i].start == kNever) continue;
    one.start = std::min(one.start, figures[i].start);
    if (figures[i].finish != kNever) one.last_finish = std::max(one.last_finish, figures[i].finish);
  }
  for (WorkloadFigures& one : workloads)
    one.times = times_of(traffic, finite_flows(traffic, &one.name), figures);
  return workloads;
}

std::string text_of(const std::vector<FlowTimes>& times) {
  constexpr std::size_t kSize = 14, kCount = 10, kTime = 16;
  const auto left = [](std::string text, std::size_t width) {
    return text + std::string(width - std::min(width, text.size()), ' ');
  };
  const auto right = [](std::string text, std::size_t width) {
    return std::string(std::max(text.size() + 1, width) - text.size(), ' ') + text;
  };
  std::string text = left("flows of", kSize) + right("flows", kCount) + right("finished", kCount);
  for (const char* const name : {"mean", "p50", "p95", "p99", "longest", "p50 rate", "p99 slowdown"}) text += right(name, kTime);
  text += "\n";
  for (const FlowTimes& row : times) {
    text +=
        left(row.most_bytes == 0 ? "any size" : (row.is_exact ? "" : "up to ") + bytes_text(row.most_bytes),
             kSize);
    text += right(std::to_string(row.flows), kCount) + right(std::to_string(row.finished), kCount);
    for (const std::int64_t ps : {row.mean_ps, row.p50_ps, row.p95_ps, row.p99_ps, row.longest_ps})
      text += right(row.finished == 0 ? "-" : time_text(instant_from_ps(ps)), kTime);
    text += right(row.finished == 0 ? "-" : gbps_text(row.p50_mbps), kTime);
    text += right(row.p99_slowdown == 0 ? "-" : thousandths_text(static_cast<std::uint64_t>(row.p99_slowdown)), kTime) + "\n";
  }
  return text;
}

nlohmann::ordered_json to_json(const std::vector<FlowTimes>& times) {
  using Json = nlohmann::ordered_json;
  Json rows = Json::array();
  for (const FlowTimes& row : times) {
    Json& json = rows.emplace_back(Json::object());
    json["bytes"] = row.most_bytes == 0 ? Json("any") : Json(row.most_bytes);
    if (row.most_bytes != 0) json["is_exact"] = row.is_exact;
    json["flows"] = row.flows;
    json["finished"] = row.finished;
    if (row.finished == 0) continue;
    json["mean_ps"] = row.mean_ps;
    json["p50_ps"] = row.p50_ps;
    json["p95_ps"] = row.p95_ps;
    json["p99_ps"] = row.p99_ps;
    json["longest_ps"] = row.longest_ps;
    json["p50_mbps"] = row.p50_mbps;
    if (row.most_slowdown == 0) continue;
    json["p50_slowdown"] = number_of_thousandths(row.p50_slowdown);
    json["p95_slowdown"] = number_of_thousandths(row.p95_slowdown);
    json["p99_slowdown"] = number_of_thousandths(row.p99_slowdown);
    json["most_slowdown"] = number_of_thousandths(row.most_slowdown);
  }
  return rows;
}

nlohmann::ordered_json to_json(const std::vector<WorkloadFigures>& workloads) {
  using Json = nlohmann::ordered_json;
  Json rows = Json::array();
  for (const WorkloadFigures& one : workloads) {
    if (one.name.empty()) continue;
    rows.push_back({{"name", one.name},
                    {"flows", one.flows},
                    {"endless", one.endless},
                    {"finished", one.finished},
                    {"acknowledged", one.acknowledged},
                    {"start_ps", one.start == kNever ? Json() : Json(to_ps(one.start))},
                    {"finish_ps", one.finished + one.endless < one.flows || one.finished == 0
                                      ? Json()
                                      : Json(to_ps(one.last_finish))},
                    {"flow_times", to_json(one.times)}});
  }
  return rows;
}

std::string text_of_flows(const config::ScenarioSpec& scenario, std::span<const FlowFigures> figures,
                          Instant end) {
  std::string text;
  if (figures.size() <= kMostFlowLines) {
    for (std::size_t i = 0; i < figures.size(); ++i) text += line_of(i, scenario, figures[i], end) + "\n";
    return text;
  }
  for (const WorkloadFigures& one : workloads_of(scenario, figures)) {
    const std::string name = one.name.empty() ? "flows" : one.name;
    if (!scenario.workloads.empty()) {
      text += join(text.empty() ? "" : "\n", name, ": ", one.flows, one.flows == 1 ? " flow" : " flows");
      if (one.flows > one.endless) text += join(", ", one.finished, " finished");
      if (one.endless > 0) text += join(", ", one.endless, " without end");
      if (one.start == kNever) {
        text += "\n";
        continue;
      }
      const Instant last = one.flows > one.finished ? end : one.last_finish;
      text +=
          join("; ", bytes_text(one.acknowledged), " from ", time_text(one.start), " to ", time_text(last),
               last <= one.start ? "" : rate_text(one.acknowledged, last - one.start), "\n");
    }
    if (!one.times.empty()) text += text_of(one.times);
  }
  return text;
}

std::string failure_of(std::size_t index, const config::ScenarioSpec& scenario, const FlowFigures& figures) {
  const FlowPlan& flow = scenario.traffic.flows[index];
  if (figures.status != ib::WcStatus::kSuccess)
    return join(name_of(index, scenario), " failed at ", time_text(figures.finish), ": ",
                ib::names_of(figures.status).text);
  if (figures.finish != kNever || scenario.traffic.is_background(flow)) return "";
  if (figures.start == kNever)
    return name_of(index, scenario) + " has not started: the flows that would start it have not ended";
  return join(name_of(index, scenario), " is not finished: ", bytes_text(figures.acknowledged), " of ",
              bytes_text(flow.bytes), " have arrived");
}

nlohmann::ordered_json flow_json(std::size_t index, const config::ScenarioSpec& scenario,
                                 const FlowFigures& figures, const FlowFacts::Facts* facts) {
  using Json = nlohmann::ordered_json;
  const FlowPlan& flow = scenario.traffic.flows[index];
  const FlowKind& kind = kind_of(scenario, flow);
  const auto time = [](Instant when) { return when == kNever ? Json() : Json(to_ps(when)); };
  Json rate;
  if (is_finished(figures) && figures.finish > figures.start)
    rate = mbps_of(figures.acknowledged, figures.finish - figures.start);
  Json json = {{"from", from_of(scenario, flow)},
               {"to", to_of(scenario, flow)},
               {"operation", operation_of(kind)},
               {"bytes", flow.is_endless() ? Json() : Json(flow.bytes)},
               {"message_size", kind.message_bytes},
               {"queue_pairs", kind.queue_pairs},
               {"start_ps", time(figures.start)},
               {"finish_ps", time(figures.finish)},
               {"acknowledged", figures.acknowledged},
               {"mbps", std::move(rate)},
               {"status", ib::names_of(figures.status).name}};
  if (!kind.name.empty()) json["workload"] = kind.name;
  json["ideal_ps"] = figures.ideal == Duration(0) ? Json() : Json(figures.ideal.count());
  const auto slowdown = slowdown_of(figures);
  json["slowdown"] = slowdown ? Json(number_of_thousandths(static_cast<std::int64_t>(*slowdown))) : Json();
  if (facts != nullptr) {
    json["sent_again"] = facts->sent_again;
    json["marked"] = facts->marked;
    json["notified"] = facts->notified;
    json["held_ps"] = facts->held.count();
    json["path"] = facts->path;
  }
  return json;
}

namespace {

std::string text_of(const FlowFacts::Facts& facts) {
  return join(",", facts.sent_again, ",", facts.marked, ",", facts.notified, ",", facts.held.count(), ",", facts.path);
}

}  // namespace

void write_flow_table(std::FILE* file, const config::ScenarioSpec& scenario,
                      std::span<const FlowFigures> figures, std::span<const FlowFacts::Facts> facts) {
  std::fputs("flow,workload,from,to,operation,bytes,start_ps,finish_ps,acknowledged,mbps,status,ideal_ps,slowdown,"
             "sent_again,marked,notified,held_ps,path\n", file);
  const auto time = [](Instant when) { return when == kNever ? std::string() : std::to_string(to_ps(when)); };
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const FlowPlan& flow = scenario.traffic.flows[i];
    const FlowFigures& of = figures[i];
    const bool has_rate = is_finished(of) && of.finish > of.start;
    const auto slowdown = slowdown_of(of);
    // Names have no commas and no quotes.
    const std::string line = join(
        i, ",", kind_of(scenario, flow).name, ",", from_of(scenario, flow), ",", to_of(scenario, flow), ",",
        operation_of(kind_of(scenario, flow)), ",", flow.is_endless() ? "" : std::to_string(flow.bytes), ",",
        time(of.start), ",", time(of.finish), ",", of.acknowledged, ",",
        has_rate ? std::to_string(mbps_of(of.acknowledged, of.finish - of.start)) : "", ",",
        ib::names_of(of.status).name, ",", of.ideal == Duration(0) ? "" : std::to_string(of.ideal.count()), ",",
        slowdown ? thousandths_text(*slowdown) : "", i < facts.size() ? text_of(facts[i]) : ",,,,,", "\n");
    std::fputs(line.c_str(), file);
  }
}

}  // namespace verbatim::cli
