#include "sim/config/graphs.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>

#include "sim/config/fields.h"

namespace verbatim::config {

using workload::Algorithm, workload::Pattern;

namespace {

std::optional<Pattern> find_pattern(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(Pattern::kExpertParallel); ++i) {
    if (name_of(static_cast<Pattern>(i)) == name) return static_cast<Pattern>(i);
  }
  return std::nullopt;
}

std::uint64_t chunk_of(const WorkloadSpec& spec) {
  const Algorithm algorithm = algorithm_of(spec);
  if (spec.chunk != WorkloadSpec::kNotGiven) return static_cast<std::uint64_t>(spec.chunk);
  return algorithm == Algorithm::kNcclRing || algorithm == Algorithm::kNcclTree ? workload::CollectiveParams().chunk_bytes
                                                                                : 0;
}

workload::ComputeTime compute_of(const WorkloadSpec& spec) {
  constexpr std::int64_t kMillionth = kFractionParts / workload::kMillion;
  const auto millionths = [](std::int64_t parts) { return static_cast<std::uint32_t>(parts / kMillionth); };
  return {spec.compute, millionths(spec.jitter), millionths(spec.stragglers), spec.straggler_factor * 100};
}

class GraphDrawing {
 public:
  GraphDrawing(const WorkloadSpec& spec, std::uint64_t seed)
      : spec_(spec),
        seed_(seed),
        members_(static_cast<std::uint32_t>(spec.members.size())),
        graph_(members_),
        team_(ranks(members_)) {}

  DrawnGraph draw() {
    DrawnGraph drawn{.spec = &spec_, .adapters = spec_.members};
    if (spec_.file_graph != nullptr) {
      drawn.graph = spec_.file_graph;
      drawn.adapters.resize(spec_.file_graph->ranks());
      drawn.collectives.push_back({.members = spec_.file_graph->ranks(), .past = spec_.file_graph->size()});
      return drawn;
    }
    std::vector<workload::ComputeDraw> draws;
    for (std::uint32_t i = 0; i < members_; ++i) draws.emplace_back(compute_of(spec_), seed_, spec_.name, i);
    const Pattern pattern = pattern_of(spec_);
    const bool computes_inside = pattern == Pattern::kPipeline || pattern == Pattern::kExpertParallel;
    for (std::uint32_t i = 0; i < spec_.repeat; ++i) {
      if (spec_.compute != Duration(0) && !computes_inside) append_compute(graph_, team_, draws);
      drawn.collectives.push_back(append(pattern, i));
    }
    graph_.seal();
    drawn.graph = std::make_shared<const workload::MessageGraph>(std::move(graph_));
    return drawn;
  }

 private:
  static std::vector<std::uint32_t> ranks(std::uint32_t count) {
    std::vector<std::uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0u);
    return all;
  }

  workload::Collective append(Pattern pattern, std::uint32_t repetition) {
    const std::string name = spec_.name + "/" + std::to_string(repetition);
    const auto size = static_cast<std::uint64_t>(spec_.size == WorkloadSpec::kNotGiven ? 1 : spec_.size);
    const Algorithm algorithm = algorithm_of(spec_);
    if (pattern == Pattern::kPipeline) {
      workload::PipelineParams params{.schedule = algorithm, .micro_batches = spec_.micro_batches, .activation_bytes = size};
      params.forward = compute_of(spec_);
      params.seed = seed_;
      params.name = name;
      return append_pipeline(graph_, team_, params);
    }
    if (pattern == Pattern::kExpertParallel) {
      workload::ExpertParams params{.algorithm = algorithm, .tokens = spec_.tokens};
      params.experts = spec_.experts == 0 ? members_ : spec_.experts;
      params.experts_per_token = spec_.experts_per_token;
      params.token_bytes = size;
      params.per_token = compute_of(spec_);
      params.seed = seed_;
      params.name = name;
      return append_expert_parallel(graph_, team_, params);
    }
    if (spec_.bytes_by_pair != nullptr) {
      return append_all_to_all(graph_, team_, algorithm, [this](std::uint32_t from, std::uint32_t to) {
        return spec_.bytes_by_pair->at(from, to);
      });
    }
    workload::CollectiveParams params{.pattern = pattern, .algorithm = algorithm, .bytes = size};
    // The size of a scenario is that of each pair; the collective needs a member's whole buffer.
    if (pattern == Pattern::kAllToAll) params.bytes = size * members_;
    params.root = static_cast<std::uint32_t>(spec_.root_member);
    params.channels = spec_.channels;
    params.chunk_bytes = chunk_of(spec_);
    return append_collective(graph_, team_, params);
  }

  const WorkloadSpec& spec_;
  const std::uint64_t seed_;
  const std::uint32_t members_;
  workload::MessageGraph graph_;
  workload::Team team_;
};

}  // namespace

bool WorkloadSpec::is_graph() const {
  if (!file.empty()) return flow_file == nullptr;
  return pattern == name_of(Pattern::kAllToAll) ? !algorithm.empty() : find_pattern(pattern).has_value();
}

std::vector<const char*> graph_keys(const WorkloadSpec& spec) {
  std::vector<const char*> keys;
  const WorkloadSpec plain;
  const auto add = [&](const char* key, bool is_given) {
    if (is_given) keys.push_back(key);
  };
  add("algorithm", !spec.algorithm.empty());
  add("root", !spec.root.empty());
  add("channels", spec.channels != plain.channels);
  add("chunk", spec.chunk != WorkloadSpec::kNotGiven);
  add("repeat", spec.repeat != plain.repeat);
  add("compute", spec.compute != plain.compute);
  add("jitter", spec.jitter != plain.jitter);
  add("stragglers", spec.stragglers != plain.stragglers);
  add("straggler_factor", spec.straggler_factor != plain.straggler_factor);
  add("micro_batches", spec.micro_batches != plain.micro_batches);
  add("tokens", spec.tokens != plain.tokens);
  add("experts", spec.experts != plain.experts);
  add("experts_per_token", spec.experts_per_token != plain.experts_per_token);
  add("eager_size", spec.eager_size != WorkloadSpec::kNotGiven);
  return keys;
}

std::vector<const char*> flow_pattern_keys(const WorkloadSpec& spec) {
  std::vector<const char*> keys;
  const WorkloadSpec plain;
  const auto add = [&](const char* key, bool is_given) {
    if (is_given) keys.push_back(key);
  };
  add("to", !spec.to.empty());
  add("sizes", !spec.sizes.empty());
  add("senders", spec.senders != plain.senders);
  add("distance", spec.distance != plain.distance);
  add("share", spec.share != plain.share);
  add("load", spec.load != plain.load);
  add("duration", spec.duration != plain.duration);
  add("flows", spec.flows != plain.flows);
  add("in_flight", spec.in_flight != plain.in_flight);
  add("on", spec.on != plain.on);
  add("off", spec.off != plain.off);
  return keys;
}

Pattern pattern_of(const WorkloadSpec& spec) {
  const auto pattern = find_pattern(spec.pattern);
  CHECK(pattern.has_value());
  return *pattern;
}

Algorithm algorithm_of(const WorkloadSpec& spec) {
  const auto& all = workload::algorithms_of(pattern_of(spec));
  const auto found = std::ranges::find_if(all, [&](Algorithm one) { return name_of(one) == spec.algorithm; });
  return found == all.end() ? all.front() : *found;
}

double count_operations(const WorkloadSpec& spec, std::uint32_t members) {
  const double n = members, rounds = std::bit_width(members - 1);
  const auto bytes = static_cast<double>(std::max<std::int64_t>(spec.size, 1));
  const auto chunk = static_cast<double>(chunk_of(spec));
  const double chunks = chunk == 0 ? 1 : bytes / chunk + 1;
  const double rings = pattern_of(spec) == Pattern::kAllReduce ? 2 : 1;
  switch (algorithm_of(spec)) {
    case Algorithm::kDissemination:
      return 2 * n * rounds;
    case Algorithm::kTree:
    case Algorithm::kChain:
      return 4 * n * chunks;
    case Algorithm::kRing:
      return 2 * rings * n * (n - 1);
    case Algorithm::kHalvingDoubling:
      return 4 * n * (rounds + 1);
    case Algorithm::kNcclRing:
      return 4 * n * (n - 1) * (bytes / (chunk * n) + spec.channels);
    case Algorithm::kNcclTree:
      return 4 * n * (chunks + spec.channels);
    case Algorithm::kDirect:
    case Algorithm::kPairwise:
      return (pattern_of(spec) == Pattern::kExpertParallel ? 4 : 2) * n * (n - 1);
    case Algorithm::kGpipe:
    case Algorithm::kOneForwardOneBackward:
      return 6 * n * spec.micro_batches;
  }
  CHECK(false);
}

std::uint32_t count_queue_pairs(const WorkloadSpec& spec, std::uint32_t members) {
  const auto rounds = static_cast<std::uint32_t>(std::bit_width(members - 1));
  const auto peers = [&]() -> std::uint32_t {
    switch (algorithm_of(spec)) {
      case Algorithm::kDissemination:
        return 2 * rounds;
      case Algorithm::kTree:
      case Algorithm::kHalvingDoubling:
        return rounds + 1;
      case Algorithm::kChain:
      case Algorithm::kRing:
      case Algorithm::kNcclRing:
      case Algorithm::kGpipe:
      case Algorithm::kOneForwardOneBackward:
        return 2;
      case Algorithm::kNcclTree:
        return 3;
      case Algorithm::kDirect:
      case Algorithm::kPairwise:
        return members - 1;
    }
    CHECK(false);
  };
  return std::min(peers(), members - 1) * spec.channels;
}

std::vector<DrawnGraph> draw_graphs(const ScenarioSpec& scenario) {
  std::vector<const WorkloadSpec*> specs;
  for (const WorkloadSpec& spec : scenario.workloads) {
    if (spec.is_ready_graph) specs.push_back(&spec);
  }
  std::ranges::sort(specs, {}, [](const WorkloadSpec* spec) { return std::string_view(spec->name); });
  std::vector<DrawnGraph> drawn;
  for (const WorkloadSpec* const spec : specs) {
    const auto seed = static_cast<std::uint64_t>(spec->seed != WorkloadSpec::kNotGiven ? spec->seed : scenario.seed);
    drawn.push_back(GraphDrawing(*spec, seed).draw());
  }
  return drawn;
}

std::vector<std::uint64_t> cable_rates(const TopologySpec& topology) {
  std::vector<std::uint64_t> rates(topology.adapters.size());
  for (const LinkSpec& link : topology.links) {
    for (const Endpoint& end : {link.end_a, link.end_b}) {
      if (!end.is_switch) rates[end.node] = static_cast<std::uint64_t>(bits_per_second(link.rate));
    }
  }
  return rates;
}

Duration ideal_time(const std::vector<std::uint64_t>& rates, const DrawnGraph& graph, workload::OperationId first,
                    workload::OperationId past) {
  unsigned __int128 longest = 0;
  const auto traffic = graph.graph->traffic(first, past);
  for (std::size_t rank = 0; rank < traffic.size(); ++rank) {
    longest = std::max<unsigned __int128>(longest, traffic[rank].computed_ps);
    const std::uint64_t rate = rates[graph.adapters[rank]];
    if (rate == 0) continue;
    constexpr unsigned __int128 kScale = 8ull * 1'000'000'000'000;
    longest = std::max(longest, std::max(traffic[rank].sent, traffic[rank].received) * kScale / rate);
  }
  return Duration(static_cast<std::int64_t>(longest));
}

}  // namespace verbatim::config
