// Patterns of training a model on many hosts: computations whose times vary, pipelines of stages, and experts
// that tokens are sent to. Random values come from the seed and a name in integers: each member draws from a
// stream of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/core/rng.h"
#include "sim/workload/collectives.h"

namespace verbatim::workload {

// How long a computation takes: `time`, by up to jitter_ppm millionths more or less, all equally likely; and
// with a probability of straggler_ppm millionths straggler_percent hundredths of that.
struct ComputeTime {
  Duration time{0};
  std::uint32_t jitter_ppm = 0;           // 0 to 1,000,000
  std::uint32_t straggler_ppm = 0;        // likewise
  std::uint32_t straggler_percent = 100;  // 100 to 100,000
};
inline constexpr std::uint32_t kMillion = 1'000'000;
inline constexpr std::uint32_t kMaxStragglerPercent = 100'000;

class ComputeDraw {
 public:
  // `name` is that of the workload.
  ComputeDraw(const ComputeTime& time, std::uint64_t seed, std::string_view name, std::uint32_t member)
      : time_(time), random_(seed, "workload/" + std::string(name) + "/compute/" + std::to_string(member)) {}
  Duration next() { return next(time_.time); }
  // The same for another time.
  Duration next(Duration time);

 private:
  const ComputeTime time_;
  Rng random_;
};

// Each member computes; what follows waits for it. `draws` by member.
void append_compute(MessageGraph& graph, Team& team, std::vector<ComputeDraw>& draws);

// The members are stages, in order. A micro-batch is computed at each (forward), and its activations are sent
// to the next; then its gradients come back. A stage computes one thing at a time, in the order of the
// schedule: kGpipe, or kOneForwardOneBackward, which begins with as many forward ones as there are stages
// from it to the last, then takes turns.
struct PipelineParams {
  Algorithm schedule = Algorithm::kOneForwardOneBackward;
  std::uint32_t micro_batches = 1;       // at least 1
  std::uint64_t activation_bytes = 0;    // of a micro-batch between two stages; its gradients are as many
  ComputeTime forward;                   // of a micro-batch at a stage
  std::uint32_t backward_percent = 200;  // of the forward time
  std::uint64_t seed = 1;
  std::string name;
};
Collective append_pipeline(MessageGraph& graph, Team& team, const PipelineParams& params);

// Each member has as many tokens; each token is sent to `experts_per_token` different experts, all equally
// likely, and the result is sent back. Member i has the experts i, i + n, i + 2n and so on. A member begins
// with its experts when all tokens for it have arrived.
struct ExpertParams {
  Algorithm algorithm = Algorithm::kDirect;  // of both exchanges
  std::uint32_t tokens = 1;                  // of a member
  std::uint32_t experts = 1;                 // in all; at least as many as members
  std::uint32_t experts_per_token = 1;       // 1 to 64, at most `experts`
  std::uint64_t token_bytes = 1;
  ComputeTime per_token;  // of an expert
  std::uint64_t seed = 1;
  std::string name;
};
inline constexpr std::uint32_t kMaxExpertsPerToken = 64;
// `bytes` of it is the most that a member sends for dispatch and combine together.
Collective append_expert_parallel(MessageGraph& graph, Team& team, const ExpertParams& params);
// Tokens from a member (row) for experts of another; what one expert of the pair gets twice is counted twice.
std::vector<std::vector<std::uint32_t>> draw_routing(std::uint32_t members, const ExpertParams& params);

}  // namespace verbatim::workload
