#include "sim/workload/training.h"

#include <algorithm>
#include <utility>

#include "sim/workload/team_writer.h"

namespace verbatim::workload {

Duration ComputeDraw::next(Duration time) {
  __int128 ps = time.count();
  if (time_.jitter_ppm > 0) {
    const auto part = static_cast<std::int64_t>(random_.below(2 * std::uint64_t{time_.jitter_ppm} + 1)) - time_.jitter_ppm;
    ps += ps * part / kMillion;
  }
  if (time_.straggler_ppm > 0 && random_.chance(time_.straggler_ppm, kMillion)) ps = ps * time_.straggler_percent / 100;
  return Duration(static_cast<std::int64_t>(ps));
}

void append_compute(MessageGraph& graph, Team& team, std::vector<ComputeDraw>& draws) {
  CHECK(draws.size() == team.size());
  for (std::uint32_t member = 0; member < team.size(); ++member) {
    const OperationId id = graph.compute(team.ranks[member], draws[member].next());
    if (team.last[member] != kNoOperation) graph.require_end(id, team.last[member]);
    team.last[member] = id;
  }
}

namespace {

struct StageStep {
  std::uint32_t micro_batch = 0;
  bool is_forward = true;
};

std::vector<StageStep> steps_of_stage(const PipelineParams& params, std::uint32_t stages, std::uint32_t stage) {
  const std::uint32_t count = params.micro_batches;
  const std::uint32_t ahead = params.schedule == Algorithm::kGpipe
                                  ? count
                                  : std::min(count, stages - stage);  // forward ones before the first backward
  std::vector<StageStep> steps;
  for (std::uint32_t i = 0; i < ahead; ++i) steps.push_back({i, true});
  for (std::uint32_t i = 0; i < count; ++i) {
    steps.push_back({i, false});
    if (ahead + i < count) steps.push_back({ahead + i, true});
  }
  return steps;
}

}  // namespace

Collective append_pipeline(MessageGraph& graph, Team& team, const PipelineParams& params) {
  CHECK(std::ranges::count(algorithms_of(Pattern::kPipeline), params.schedule) == 1 && params.micro_batches > 0);
  TeamWriter writer(graph, team);
  const std::uint32_t stages = team.size(), forward_tag = graph.new_tag(), backward_tag = graph.new_tag();
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    ComputeDraw draw(params.forward, params.seed, params.name, stage);
    OperationId before = kNoOperation;
    for (const StageStep& step : steps_of_stage(params, stages, stage)) {
      const std::uint32_t tag = step.is_forward ? forward_tag : backward_tag;
      const bool is_fed = step.is_forward ? stage > 0 : stage + 1 < stages;
      const bool feeds = step.is_forward ? stage + 1 < stages : stage > 0;
      const std::uint32_t source = step.is_forward ? stage - 1 : stage + 1, target = step.is_forward ? stage + 1 : stage - 1;
      const Duration time = step.is_forward ? params.forward.time : params.forward.time * params.backward_percent / 100;
      const OperationId work = writer.compute(stage, draw.next(time), before);
      if (is_fed) writer.require(work, writer.receive(stage, source, params.activation_bytes, tag));
      if (feeds) writer.send(stage, target, params.activation_bytes, tag, 0, work);
      before = work;
    }
  }
  return writer.finish(Pattern::kPipeline, params.schedule, params.activation_bytes);
}

std::vector<std::vector<std::uint32_t>> draw_routing(std::uint32_t members, const ExpertParams& params) {
  CHECK(params.experts >= members && params.experts_per_token > 0);
  CHECK(params.experts_per_token <= std::min(params.experts, kMaxExpertsPerToken));
  std::vector routing(members, std::vector<std::uint32_t>(members));
  for (std::uint32_t member = 0; member < members; ++member) {
    Rng random(params.seed, "workload/" + params.name + "/routing/" + std::to_string(member));
    std::vector<std::uint32_t> chosen;
    for (std::uint32_t token = 0; token < params.tokens; ++token) {
      chosen.clear();
      while (chosen.size() < params.experts_per_token) {
        // Floyd's algorithm: draws among one more expert each time; a duplicate is replaced by the newest
        // one.
        const auto newest = params.experts - params.experts_per_token + static_cast<std::uint32_t>(chosen.size());
        const auto expert = static_cast<std::uint32_t>(random.below(std::uint64_t{newest} + 1));
        chosen.push_back(std::ranges::count(chosen, expert) > 0 ? newest : expert);
        ++routing[member][chosen.back() % members];
      }
    }
  }
  return routing;
}

Collective append_expert_parallel(MessageGraph& graph, Team& team, const ExpertParams& params) {
  const std::uint32_t n = team.size();
  const auto routing = draw_routing(n, params);
  const OperationId first = graph.size();
  const auto dispatched = [&](std::uint32_t from, std::uint32_t to) { return routing[from][to] * params.token_bytes; };
  append_all_to_all(graph, team, params.algorithm, dispatched);
  TeamWriter writer(graph, team);
  for (std::uint32_t member = 0; member < n; ++member) {
    std::int64_t tokens = 0;
    for (std::uint32_t from = 0; from < n; ++from) tokens += routing[from][member];
    ComputeDraw draw(params.per_token, params.seed, params.name, member);
    writer.compute(member, draw.next(params.per_token.time * tokens));
  }
  writer.finish(Pattern::kExpertParallel, params.algorithm, 0);
  append_all_to_all(graph, team, params.algorithm,
                    [&](std::uint32_t from, std::uint32_t to) { return dispatched(to, from); });
  const auto traffic = graph.traffic(first, graph.size());
  std::uint64_t most = 0;
  for (const MessageGraph::Traffic& one : traffic) most = std::max(most, one.sent);
  return {Pattern::kExpertParallel, params.algorithm, n, most, first, graph.size()};
}

}  // namespace verbatim::workload
