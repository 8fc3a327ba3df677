// Patterns of distributed training: computations of varying time, pipelines of stages, and experts that
// tokens are sent to. Random values are integers from the seed and a name: each member has its own stream.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/core/rng.h"
#include "sim/workload/collectives.h"

namespace verbatim::workload {

// Time of a computation: `time` plus or minus up to jitter_ppm millionths, uniformly distributed; with
// probability straggler_ppm millionths, the result is multiplied by straggler_percent / 100.
struct ComputeTime {
  Duration time{0};
  std::uint32_t jitter_ppm = 0;           // 0 to 1,000,000
  std::uint32_t straggler_ppm = 0;        // 0 to 1,000,000
  std::uint32_t straggler_percent = 100;  // 100 to 100,000
};
inline constexpr std::uint32_t kMillion = 1'000'000;
inline constexpr std::uint32_t kMaxStragglerPercent = 100'000;

class ComputeDraw {
 public:
  // `name`: of the workload.
  ComputeDraw(const ComputeTime& time, std::uint64_t seed, std::string_view name, std::uint32_t member)
      : time_(time), random_(seed, "workload/" + std::string(name) + "/compute/" + std::to_string(member)) {}
  Duration next() { return next(time_.time); }
  // The same for another mean time.
  Duration next(Duration time);

 private:
  const ComputeTime time_;
  Rng random_;
};

// Each member computes; its later operations wait for it. `draws`: by member.
void append_compute(MessageGraph& graph, Team& team, std::vector<ComputeDraw>& draws);

// The members are pipeline stages, in order. Each stage computes a micro-batch (forward) and sends its
// activations to the next; then the gradients are returned (backward). A stage computes one item at a time,
// in the order of the schedule: kGpipe, or kOneForwardOneBackward, which starts with as many forward
// computations as there are stages from this one to the last, then alternates.
struct PipelineParams {
  Algorithm schedule = Algorithm::kOneForwardOneBackward;
  std::uint32_t micro_batches = 1;       // at least 1
  std::uint64_t activation_bytes = 0;    // per micro-batch between two stages; gradients have the same size
  ComputeTime forward;                   // per micro-batch and stage
  std::uint32_t backward_percent = 200;  // of the forward time
  std::uint64_t seed = 1;
  std::string name;
};
Collective append_pipeline(MessageGraph& graph, Team& team, const PipelineParams& params);

// Each member has the same number of tokens. Each token is sent to `experts_per_token` different experts, all
// equally likely, and the result is returned. Member i has the experts i, i + n, i + 2n and so on. A member
// starts its experts when all tokens for it have arrived.
struct ExpertParams {
  Algorithm algorithm = Algorithm::kDirect;  // for both exchanges
  std::uint32_t tokens = 1;                  // per member
  std::uint32_t experts = 1;                 // in total; at least the number of members
  std::uint32_t experts_per_token = 1;       // 1 to 64, at most `experts`
  std::uint64_t token_bytes = 1;
  ComputeTime per_token;  // per expert
  std::uint64_t seed = 1;
  std::string name;
};
inline constexpr std::uint32_t kMaxExpertsPerToken = 64;
// `bytes` of the result: the maximum that a member sends for dispatch and combine together.
Collective append_expert_parallel(MessageGraph& graph, Team& team, const ExpertParams& params);
// Number of tokens from a member (row) to experts of another; a token for two experts of the same member
// counts twice.
std::vector<std::vector<std::uint32_t>> draw_routing(std::uint32_t members, const ExpertParams& params);

}  // namespace verbatim::workload
