#include "tools/verbatim/run_flows.h"

#include <algorithm>
#include <map>
#include <set>

#include "sim/config/quantity.h"
#include "sim/core/interruption.h"
#include "sim/core/time_text.h"
#include "sim/core/words.h"
#include "sim/ib/wc_status.h"
#include "tools/verbatim/nearest_rank.h"

namespace verbatim::cli {

namespace {

std::string name_of(std::size_t index, const config::FlowSpec& spec) {
  return join("flow ", index, ", ", spec.from, " to ", spec.to);
}

std::string bytes_text(std::uint64_t bytes) {
  return config::format_quantity(static_cast<std::int64_t>(bytes), config::Dimension::kSize);
}

// Payload over the time from the start to the finish, in Mbps and rounded down: whole numbers are the same on every machine. The
// time is above 0.
std::uint64_t mbps_of(std::uint64_t bytes, Duration time) {
  const auto scaled = static_cast<unsigned __int128>(bytes) * 8 * 1'000'000;
  return static_cast<std::uint64_t>(scaled / static_cast<std::uint64_t>(time.count()));
}

std::string gbps_text(std::uint64_t mbps) {
  return join(mbps / 1000, ".", std::to_string(1000 + mbps % 1000).substr(1), " Gbps");
}

std::string rate_text(std::uint64_t bytes, Duration time) {
  return time <= Duration(0) ? "" : ", " + gbps_text(mbps_of(bytes, time));
}

bool is_finished(const FlowFigures& figures) { return figures.finish != kNever && figures.status == ib::WcStatus::kSuccess; }

// The upper bounds of the classes of sizes that these flows are in.
std::set<std::uint64_t> classes_of(std::span<const config::FlowSpec> specs, bool* are_exact) {
  constexpr std::size_t kMostSizes = 8;
  constexpr std::uint64_t kFirst = 1024, kFactor = 4;
  std::set<std::uint64_t> sizes, bounds;
  for (const config::FlowSpec& spec : specs) {
    const auto bytes = static_cast<std::uint64_t>(spec.bytes);
    std::uint64_t bound = kFirst;
    while (bound < bytes) bound *= kFactor;
    bounds.insert(bound);
    if (sizes.size() <= kMostSizes) sizes.insert(bytes);
  }
  *are_exact = sizes.size() <= kMostSizes;
  return *are_exact ? sizes : bounds;
}

}  // namespace

std::vector<FlowFigures> figures_of(const workload::Workload& workload) {
  std::vector<FlowFigures> figures;
  for (const workload::Flow& flow : workload.flows())
    figures.push_back({flow.params().start, flow.finish(), flow.acknowledged(), flow.status()});
  return figures;
}

supervisor::RunResult run_flows(Engine& engine, const workload::Workload& workload, const supervisor::Limits& limits) {
  using supervisor::Outcome;
  const Interruption::Watch watch;
  supervisor::RunResult result;
  while (!workload.is_done()) {
    if (engine.empty()) {
      result.outcome = Outcome::kDeadlock;
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
  return result;
}

std::string line_of(std::size_t index, const config::FlowSpec& spec, const FlowFigures& figures) {
  const std::string name = name_of(index, spec);
  if (!is_finished(figures)) {
    return join(name, ": ", bytes_text(figures.acknowledged), " of ", bytes_text(static_cast<std::uint64_t>(spec.bytes)), ", from ",
                time_text(figures.start), figures.finish == kNever ? ", not finished" : ", failed at " + time_text(figures.finish));
  }
  const Duration took = figures.finish - figures.start;
  return join(name, ": ", bytes_text(figures.acknowledged), " in ", time_text(took), rate_text(figures.acknowledged, took), ", from ",
              time_text(figures.start), " to ", time_text(figures.finish));
}

std::vector<FlowTimes> flow_times(std::span<const config::FlowSpec> specs, std::span<const FlowFigures> figures) {
  if (specs.empty()) return {};
  struct Times {
    std::size_t flows = 0;
    std::vector<std::int64_t> times, rates;
  };
  bool are_exact = false;
  const std::set<std::uint64_t> classes = classes_of(specs, &are_exact);
  std::map<std::uint64_t, Times> by_class;
  Times all;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    for (Times* const of : {&by_class[*classes.lower_bound(static_cast<std::uint64_t>(specs[i].bytes))], &all}) {
      ++of->flows;
      const Duration took = figures[i].finish - figures[i].start;
      if (!is_finished(figures[i]) || took <= Duration(0)) continue;
      of->times.push_back(took.count());
      of->rates.push_back(static_cast<std::int64_t>(mbps_of(figures[i].acknowledged, took)));
    }
  }
  std::vector<FlowTimes> rows;
  const auto add = [&](std::uint64_t most_bytes, Times& of) {
    const bool is_exact = are_exact && most_bytes != 0;
    FlowTimes& row = rows.emplace_back(FlowTimes{.most_bytes = most_bytes, .is_exact = is_exact, .flows = of.flows});
    row.finished = of.times.size();
    if (of.times.empty()) return;
    std::ranges::sort(of.times);
    std::ranges::sort(of.rates);
    row.p50_ps = nearest_rank(of.times, 50);
    row.p95_ps = nearest_rank(of.times, 95);
    row.p99_ps = nearest_rank(of.times, 99);
    row.longest_ps = of.times.back();
    row.p50_mbps = static_cast<std::uint64_t>(nearest_rank(of.rates, 50));
  };
  for (auto& [most_bytes, of] : by_class) add(most_bytes, of);
  add(0, all);
  return rows;
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
  for (const char* const name : {"p50", "p95", "p99", "longest", "p50 rate"}) text += right(name, kTime);
  text += "\n";
  for (const FlowTimes& row : times) {
    text += left(row.most_bytes == 0 ? "any size" : (row.is_exact ? "" : "up to ") + bytes_text(row.most_bytes), kSize);
    text += right(std::to_string(row.flows), kCount) + right(std::to_string(row.finished), kCount);
    for (const std::int64_t ps : {row.p50_ps, row.p95_ps, row.p99_ps, row.longest_ps})
      text += right(row.finished == 0 ? "-" : time_text(instant_from_ps(ps)), kTime);
    text += right(row.finished == 0 ? "-" : gbps_text(row.p50_mbps), kTime) + "\n";
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
    json["p50_ps"] = row.p50_ps;
    json["p95_ps"] = row.p95_ps;
    json["p99_ps"] = row.p99_ps;
    json["longest_ps"] = row.longest_ps;
    json["p50_mbps"] = row.p50_mbps;
  }
  return rows;
}

std::string text_of_flows(std::span<const config::FlowSpec> specs, std::span<const FlowFigures> figures) {
  if (specs.size() > kMostFlowLines) return text_of(flow_times(specs, figures));
  std::string text;
  for (std::size_t i = 0; i < specs.size(); ++i) text += line_of(i, specs[i], figures[i]) + "\n";
  return text;
}

std::string failure_of(std::size_t index, const config::FlowSpec& spec, const FlowFigures& figures) {
  if (figures.status != ib::WcStatus::kSuccess) {
    return join(name_of(index, spec), " failed at ", time_text(figures.finish), ": ", ib::names_of(figures.status).text);
  }
  if (figures.finish != kNever) return "";
  return join(name_of(index, spec), " is not finished: ", bytes_text(figures.acknowledged), " of ",
              bytes_text(static_cast<std::uint64_t>(spec.bytes)), " have arrived");
}

nlohmann::ordered_json to_json(const config::FlowSpec& spec, const FlowFigures& figures) {
  using Json = nlohmann::ordered_json;
  const Duration took = figures.finish - figures.start;
  Json rate;
  if (is_finished(figures) && took > Duration(0)) rate = mbps_of(figures.acknowledged, took);
  return {{"from", spec.from},
          {"to", spec.to},
          {"operation", spec.operation},
          {"bytes", spec.bytes},
          {"message_size", spec.message_size},
          {"queue_pairs", spec.queue_pairs},
          {"start_ps", to_ps(figures.start)},
          {"finish_ps", figures.finish == kNever ? Json() : Json(to_ps(figures.finish))},
          {"acknowledged", figures.acknowledged},
          {"mbps", std::move(rate)},
          {"status", ib::names_of(figures.status).name}};
}

}  // namespace verbatim::cli
