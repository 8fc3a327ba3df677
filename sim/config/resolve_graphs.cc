// Checks workloads that are graphs, and reads their files.
#include <algorithm>
#include <set>

#include "sim/config/chakra.h"
#include "sim/config/graphs.h"
#include "sim/config/load.h"
#include "sim/workload/goal.h"

namespace verbatim::config {

namespace {

constexpr double kMostOperations = 30e6;  // of a workload
constexpr double kMostTokens = 500e6;
constexpr std::string_view kRankInName = "{rank}";

class GraphResolver {
 public:
  GraphResolver(const ScenarioSpec& scenario, WorkloadSpec& spec, const LoadOptions& options, Diagnostics& diagnostics)
      : scenario_(scenario), spec_(spec), options_(options), diagnostics_(diagnostics) {}

  void run() {
    const std::size_t before = diagnostics_.findings().size();
    refuse_flow_keys();
    spec_.file.empty() ? check_pattern() : read_file();
    check_traffic_keys(scenario_, "workload", spec_.pointer, spec_.start, spec_.traffic_class,
                       spec_.acknowledgement_traffic_class, diagnostics_);
    spec_.is_ready_graph = diagnostics_.findings().size() == before && spec_.members.size() >= 2;
  }

 private:
  void add(const std::string& key, std::string text, std::string hint) {
    diagnostics_.add(scenario_.file, key.empty() ? spec_.pointer : join_pointer(spec_.pointer, key), std::move(text),
                     std::move(hint));
  }
  std::string what() const { return spec_.file.empty() ? "the pattern " + in_quotes(spec_.pattern) : "a file of messages"; }
  void only_of(const char* key, bool is_given, bool fits, const std::string& owners) {
    if (is_given && !fits)
      add(key, in_quotes(key) + " does not apply to " + what(), "leave it out; it belongs to " + owners);
  }

  void refuse_flow_keys() {
    const std::string flows = "flows";
    const WorkloadSpec plain;
    for (const char* const key : flow_pattern_keys(spec_)) only_of(key, true, false, flows);
    only_of("message_size", spec_.message_size != plain.message_size, false, flows);
    only_of("queue_pairs", spec_.queue_pairs != plain.queue_pairs, false, flows);
    only_of("depth", spec_.depth != plain.depth, false, flows);
    only_of("acknowledgement_traffic_class",
            spec_.acknowledgement_traffic_class != plain.acknowledgement_traffic_class, false, flows);
    only_of("background", spec_.background, false, flows);
    if (spec_.operation == "read") add("operation", "messages of " + what() + " are not read", "give \"write\" or \"send\"");
  }

  void read_file() {
    only_of("algorithm", !spec_.algorithm.empty(), false, "patterns");
    only_of("size", spec_.size != WorkloadSpec::kNotGiven, false, "patterns");
    only_of("matrix", !spec_.matrix.empty(), false, "patterns");
    for (const char* const key : graph_keys(spec_)) {
      if (std::string_view(key) != "algorithm" && std::string_view(key) != "eager_size")
        only_of(key, true, false, "patterns");
    }
    const std::string path = beside(scenario_.file, spec_.file);
    if (path.find(kRankInName) != std::string::npos) return read_traces(path);
    const auto text = load_text(path, options_, diagnostics_);
    if (!text) return;
    if (is_execution_trace(*text, path)) {
      const auto trace = read_execution_trace(*text, path, diagnostics_);
      if (trace) take_traces(std::vector(spec_.members.size(), trace), [&](std::uint32_t) { return path; });
      return;
    }
    std::vector<workload::GoalFinding> findings;
    std::optional<workload::GoalProgram> program = workload::read_goal(*text, findings);
    for (workload::GoalFinding& finding : findings) {
      diagnostics_.add(path, "line " + std::to_string(finding.line), std::move(finding.text), std::move(finding.hint));
    }
    if (!program) return;
    const std::uint32_t ranks = program->graph.ranks();
    if (ranks > spec_.members.size()) {
      add("hosts",
          "the file has " + std::to_string(ranks) + " ranks, and the workload " + std::to_string(spec_.members.size()) +
              " hosts",
          "name more hosts, or use a larger topology");
      return;
    }
    spec_.is_goal = true;
    take_graph(std::make_shared<const workload::MessageGraph>(std::move(program->graph)));
  }

  // Reads one trace for each host.
  void read_traces(const std::string& pattern) {
    const std::size_t at = pattern.find(kRankInName);
    const auto path_of = [&](std::uint32_t rank) {
      return pattern.substr(0, at) + std::to_string(rank) + pattern.substr(at + kRankInName.size());
    };
    std::vector<std::shared_ptr<const workload::RankTrace>> traces;
    for (std::uint32_t rank = 0; rank < spec_.members.size(); ++rank) {
      const auto text = load_text(path_of(rank), options_, diagnostics_);
      const auto trace = text ? read_execution_trace(*text, path_of(rank), diagnostics_) : nullptr;
      if (trace == nullptr) return;
      traces.push_back(trace);
    }
    take_traces(traces, path_of);
  }

  template <class PathOf>
  void take_traces(const std::vector<std::shared_ptr<const workload::RankTrace>>& traces, PathOf path_of) {
    if (traces.empty()) return;
    std::vector<workload::TraceFinding> findings;
    auto graph = workload::graph_of(traces, findings);
    for (workload::TraceFinding& finding : findings)
      diagnostics_.add(path_of(finding.rank), "", std::move(finding.text), std::move(finding.hint));
    if (graph != nullptr) take_graph(std::move(graph));
  }

  void take_graph(std::shared_ptr<const workload::MessageGraph> graph) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (workload::OperationId id = 0; id < graph->size(); ++id) {
      const workload::Operation& one = (*graph)[id];
      if (one.kind == workload::Operation::Kind::kSend && one.peer != one.rank)
        pairs.insert(std::minmax(one.rank, one.peer));
    }
    spec_.member_queue_pairs.resize(spec_.members.size());
    for (const auto& [low, high] : pairs) {
      ++spec_.member_queue_pairs[low];
      ++spec_.member_queue_pairs[high];
    }
    spec_.file_graph = std::move(graph);
  }

  void check_pattern() {
    using workload::Pattern, workload::Algorithm;
    const Pattern pattern = pattern_of(spec_);
    std::string names;
    bool is_known = spec_.algorithm.empty();
    for (const Algorithm one : workload::algorithms_of(pattern)) {
      names += (names.empty() ? "" : ", ") + std::string(name_of(one));
      is_known = is_known || name_of(one) == spec_.algorithm;
    }
    if (!is_known) {
      return add("algorithm", "the pattern " + in_quotes(spec_.pattern) + " is not done by " + in_quotes(spec_.algorithm),
                 "choose among " + names);
    }
    const Algorithm algorithm = algorithm_of(spec_);
    const bool is_nccl = algorithm == Algorithm::kNcclRing || algorithm == Algorithm::kNcclTree;
    const bool is_chunked = is_nccl || algorithm == Algorithm::kTree || algorithm == Algorithm::kChain;
    const bool is_pipeline = pattern == Pattern::kPipeline, is_expert = pattern == Pattern::kExpertParallel;
    only_of("root", !spec_.root.empty(), pattern == Pattern::kBroadcast, "broadcast");
    only_of("channels", spec_.channels != 1, is_nccl, "nccl-ring and nccl-tree");
    only_of("chunk", spec_.chunk != WorkloadSpec::kNotGiven, is_chunked, "tree, chain, nccl-ring and nccl-tree");
    only_of("micro_batches", spec_.micro_batches != 8, is_pipeline, "pipeline");
    only_of("tokens", spec_.tokens != 1024, is_expert, "expert-parallel");
    only_of("experts", spec_.experts != 0, is_expert, "expert-parallel");
    only_of("experts_per_token", spec_.experts_per_token != 2, is_expert, "expert-parallel");
    only_of("size", spec_.size != WorkloadSpec::kNotGiven, pattern != Pattern::kBarrier, "the other patterns");
    const bool is_all_to_all = pattern == Pattern::kAllToAll;
    only_of("matrix", !spec_.matrix.empty(), is_all_to_all, "all-to-all");
    if (is_all_to_all && !spec_.matrix.empty()) {
      if (spec_.size != WorkloadSpec::kNotGiven) add("matrix", "there is a \"size\", too", "give one of them");
    } else if (spec_.size == WorkloadSpec::kNotGiven && pattern != Pattern::kBarrier) {
      add("size", "there is no size of " + what(),
          is_expert ? "give that of a token, such as \"size\": \"4 KiB\"" : "give one, such as \"size\": \"64 MiB\"");
    }
    constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;
    if (spec_.size > kMostBytes) add("size", "more than 1 TiB", "give less");
    const bool has_time = spec_.compute != Duration(0);
    only_of("jitter", spec_.jitter != 0, has_time, "workloads with \"compute\"");
    only_of("stragglers", spec_.stragglers != 0, has_time, "workloads with \"compute\"");
    only_of("straggler_factor", spec_.straggler_factor != 2, spec_.stragglers != 0, "workloads with \"stragglers\"");
    if (spec_.members.size() < 2 || spec_.size > kMostBytes) return;  // already a finding
    const auto members = static_cast<std::uint32_t>(spec_.members.size());
    if (is_expert && spec_.experts != 0 && spec_.experts < members) {
      add("experts", std::to_string(spec_.experts) + " experts are fewer than " + std::to_string(members) + " hosts",
          "give each host one");
    }
    const std::uint32_t experts = spec_.experts == 0 ? members : spec_.experts;
    if (is_expert && spec_.experts_per_token > experts) {
      add("experts_per_token", "a token goes to more experts than there are", "there are " + std::to_string(experts));
    }
    if (is_expert && double(members) * spec_.tokens * spec_.experts_per_token * spec_.repeat > kMostTokens) {
      add("tokens", "more than 500 million tokens would be routed", "give fewer");
    }
    // Several of these may follow each other; their times must add up to less than the range of virtual time.
    constexpr double kMostTime = 1e18;
    const double works = is_pipeline ? 3.0 * spec_.micro_batches * members
                         : is_expert ? double(spec_.tokens) * spec_.experts_per_token * members
                                     : 1;
    if (double(spec_.compute.count()) * spec_.repeat * works * spec_.straggler_factor * 2 > kMostTime) {
      add("compute", "the computations take longer than virtual time lasts", "make them shorter, or fewer");
    }
    if (!spec_.root.empty()) find_root();
    const double operations = count_operations(spec_, members) * spec_.repeat;
    if (operations > kMostOperations) {
      add("",
          "the workload would have about " + std::to_string(static_cast<std::int64_t>(operations / 1e6)) +
              " million operations",
          "30 million are the most: take larger chunks, fewer hosts or fewer repetitions");
    }
    spec_.member_queue_pairs.assign(members, count_queue_pairs(spec_, members));
  }

  void find_root() {
    for (std::size_t i = 0; i < spec_.members.size(); ++i) {
      if (scenario_.topology.adapters[spec_.members[i]].name != spec_.root) continue;
      spec_.root_member = i;
      return;
    }
    add("root", in_quotes(spec_.root) + " is none of the workload's hosts", "name one of them");
  }

  const ScenarioSpec& scenario_;
  WorkloadSpec& spec_;
  const LoadOptions& options_;
  Diagnostics& diagnostics_;
};

}  // namespace

void resolve_graph(const ScenarioSpec& scenario, WorkloadSpec& spec, const LoadOptions& options, Diagnostics& diagnostics) {
  GraphResolver(scenario, spec, options, diagnostics).run();
}

}  // namespace verbatim::config
