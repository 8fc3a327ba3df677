#include "tools/verbatim/run_flows.h"

#include "sim/config/quantity.h"
#include "sim/core/interruption.h"
#include "sim/core/time_text.h"
#include "sim/core/words.h"
#include "sim/ib/wc_status.h"

namespace verbatim::cli {

namespace {

std::string name_of(std::size_t index, const config::FlowSpec& spec) {
  return join("flow ", index, ", ", spec.from, " to ", spec.to);
}

std::string bytes_text(std::uint64_t bytes) {
  return config::format_quantity(static_cast<std::int64_t>(bytes), config::Dimension::kSize);
}

// Payload over the time from the start to the finish, in Mbps and rounded down: whole numbers are the same on every machine.
std::string rate_text(std::uint64_t bytes, Duration time) {
  if (time <= Duration(0)) return "";
  const auto scaled = static_cast<unsigned __int128>(bytes) * 8 * 1'000'000;
  const auto mbps = static_cast<std::uint64_t>(scaled / static_cast<std::uint64_t>(time.count()));
  const std::string fraction = std::to_string(1000 + mbps % 1000).substr(1);
  return join(", ", mbps / 1000, ".", fraction, " Gbps");
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
  if (figures.finish == kNever || figures.status != ib::WcStatus::kSuccess) {
    return join(name, ": ", bytes_text(figures.acknowledged), " of ", bytes_text(static_cast<std::uint64_t>(spec.bytes)), ", from ",
                time_text(figures.start), figures.finish == kNever ? ", not finished" : ", failed at " + time_text(figures.finish));
  }
  const Duration took = figures.finish - figures.start;
  return join(name, ": ", bytes_text(figures.acknowledged), " in ", time_text(took), rate_text(figures.acknowledged, took), ", from ",
              time_text(figures.start), " to ", time_text(figures.finish));
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
  return {{"from", spec.from},
          {"to", spec.to},
          {"operation", spec.operation},
          {"bytes", spec.bytes},
          {"message_size", spec.message_size},
          {"queue_pairs", spec.queue_pairs},
          {"start_ps", to_ps(figures.start)},
          {"finish_ps", figures.finish == kNever ? Json() : Json(to_ps(figures.finish))},
          {"acknowledged", figures.acknowledged},
          {"status", ib::names_of(figures.status).name}};
}

}  // namespace verbatim::cli
