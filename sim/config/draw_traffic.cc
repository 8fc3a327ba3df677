// Expands flows and workloads of a scenario to traffic.
#include "sim/config/fields.h"
#include "sim/config/load.h"
#include "sim/workload/flow_files.h"
#include "sim/workload/patterns.h"
#include "sim/workload/poisson_flows.h"

namespace verbatim::config {

namespace {

using workload::FlowKind, workload::FlowPlan, workload::Traffic;
using Operation = hca::SourceWork::Operation;

constexpr std::int64_t kNotGiven = WorkloadSpec::kNotGiven;

Operation operation_of(const std::string& name) {
  for (const Operation one : {Operation::kSend, Operation::kRead})
    if (name == workload::name_of(one)) return one;
  return Operation::kWrite;
}

void append_flow(const FlowSpec& flow, Traffic& traffic) {
  FlowPlan& plan = traffic.flows.emplace_back();
  plan.from = static_cast<std::uint32_t>(flow.from_adapter);
  plan.to = static_cast<std::uint32_t>(flow.to_adapter);
  plan.kind = static_cast<std::uint32_t>(traffic.kinds.size());
  plan.bytes = static_cast<std::uint64_t>(flow.bytes);
  plan.start = flow.start;
  FlowKind& kind = traffic.kinds.emplace_back();
  kind.operation = operation_of(flow.operation);
  kind.message_bytes = static_cast<std::uint32_t>(flow.message_size);
  kind.queue_pairs = flow.queue_pairs;
  kind.service_level = flow.service_level;
  kind.traffic_class = flow.traffic_class;
  kind.acknowledgement_traffic_class = flow.acknowledgement_traffic_class;
  kind.timeout = flow.timeout;
}

// Draws the flows of one workload. Ends are indices of members until all flows are drawn.
class Drawing {
 public:
  Drawing(const WorkloadSpec& spec, std::uint64_t seed, bool is_roce, Traffic& traffic)
      : spec_(spec),
        seed_(seed),
        is_roce_(is_roce),
        members_(static_cast<std::uint32_t>(spec.members.size())),
        traffic_(traffic) {}

  void run() {
    if (spec_.flow_file) return take_file();
    if (is_endless_load()) return append_load();
    if (spec_.load != kNotGiven)
      draw_poisson();
    else if (spec_.flows != kNotGiven)
      draw_closed_loop();
    else
      draw_pairs();
    const auto number = static_cast<std::uint32_t>(traffic_.kinds.size());
    traffic_.kinds.push_back(kind());
    for (FlowPlan& flow : flows_) {
      flow.from = spec_.members[flow.from];
      flow.to = spec_.members[flow.to];
      flow.kind = number;
      if (flow.trigger == FlowPlan::kNone) flow.start += spec_.start;
    }
    traffic_.flows.insert(traffic_.flows.end(), flows_.begin(), flows_.end());
  }

 private:
  bool is_endless() const { return spec_.size == kNotGiven && !spec_.distribution && spec_.bytes_by_pair == nullptr; }
  std::uint64_t draw_size(Rng& random) const {
    return spec_.distribution ? spec_.distribution->draw(random) : static_cast<std::uint64_t>(spec_.size);
  }

  bool is_endless_load() const { return spec_.load != kNotGiven && spec_.duration == Duration(kNotGiven); }

  void append_load() {
    workload::LoadPlan load{.kind = static_cast<std::uint32_t>(traffic_.kinds.size()), .sizes = sizes()};
    load.members = spec_.members;
    load.targets = spec_.targets;
    if (spec_.share != kNotGiven) {
      load.hot_share = static_cast<std::uint64_t>(spec_.share);
      load.hot_parts = kFractionParts;
    }
    load.bits_per_second = spec_.rates;
    load.load = load_in_millionths();
    load.seed = seed_;
    load.start = spec_.start;
    traffic_.loads.push_back(std::move(load));
    traffic_.kinds.push_back(kind());
    traffic_.kinds.back().is_background = true;
  }

  workload::SizeDistribution sizes() const {
    using workload::SizeDistribution;
    const auto size = static_cast<std::uint64_t>(spec_.size);
    return spec_.distribution ? *spec_.distribution : SizeDistribution({{size, 0}, {size, SizeDistribution::kOne}});
  }
  std::uint32_t load_in_millionths() const {
    return static_cast<std::uint32_t>(spec_.load / (kFractionParts / workload::SizeDistribution::kOne));
  }

  void take_file() {
    const workload::FlowFile& file = *spec_.flow_file;
    const auto first_kind = static_cast<std::uint32_t>(traffic_.kinds.size());
    const auto first_trigger = static_cast<std::uint32_t>(traffic_.triggers.size());
    for (const workload::FlowFile::Kind& of_file : file.kinds) {
      FlowKind& own = traffic_.kinds.emplace_back(kind());
      if (of_file.fires_on_arrival) own.operation = Operation::kSend;
      // The usual map of priorities: the upper three bits of the DSCP.
      constexpr std::uint32_t kPriorityShift = 5;
      if (is_roce_ && own.traffic_class == 0) own.traffic_class = of_file.priority << kPriorityShift;
    }
    traffic_.triggers.insert(traffic_.triggers.end(), file.triggers.begin(), file.triggers.end());
    for (FlowPlan flow : file.flows) {
      flow.from = spec_.members[flow.from];
      flow.to = spec_.members[flow.to];
      flow.kind += first_kind;
      for (std::uint32_t* const trigger : {&flow.trigger, &flow.on_sent, &flow.on_received})
        *trigger += *trigger == FlowPlan::kNone ? 0 : first_trigger;
      if (flow.trigger == FlowPlan::kNone) flow.start += spec_.start;
      traffic_.flows.push_back(flow);
    }
  }

  FlowKind kind() const {
    FlowKind kind;
    kind.name = spec_.name;
    kind.operation = operation_of(spec_.operation);
    kind.message_bytes = static_cast<std::uint32_t>(spec_.message_size);
    kind.queue_pairs = spec_.queue_pairs;
    kind.depth = spec_.depth;
    kind.service_level = spec_.service_level;
    kind.traffic_class = spec_.traffic_class;
    kind.acknowledgement_traffic_class = spec_.acknowledgement_traffic_class;
    kind.on = spec_.on;
    kind.off = spec_.off;
    kind.is_background = spec_.background;
    return kind;
  }

  std::vector<workload::Pair> pairs() const {
    Rng random(seed_, "pattern");
    if (spec_.pattern == "permutation") return workload::permutation(members_, random);
    if (spec_.pattern == "shift") return workload::shift(members_, static_cast<std::uint32_t>(spec_.distance % members_));
    if (spec_.pattern == "all-to-all") return workload::all_to_all(members_);
    CHECK(spec_.pattern == "incast");
    const std::uint32_t senders = spec_.senders == kNotGiven ? members_ - 1 : static_cast<std::uint32_t>(spec_.senders);
    return workload::incast(members_, spec_.targets.front(), senders);
  }

  void draw_pairs() {
    Rng of_sizes(seed_, "sizes"), of_phases(seed_, "phases");
    const auto period = static_cast<std::uint64_t>((spec_.on + spec_.off).count());
    for (const workload::Pair& pair : pairs()) {
      const std::uint64_t of_pair = spec_.bytes_by_pair == nullptr ? 1 : spec_.bytes_by_pair->at(pair.from, pair.to);
      if (of_pair == 0) continue;
      FlowPlan& flow = flows_.emplace_back();
      flow.from = pair.from;
      flow.to = pair.to;
      if (!is_endless()) flow.bytes = spec_.bytes_by_pair != nullptr ? of_pair : draw_size(of_sizes);
      if (period > 0) flow.start = Duration(static_cast<std::int64_t>(of_phases.below(period)));
    }
  }

  workload::Destinations destinations() const {
    workload::Destinations destinations{.members = members_, .hot = spec_.targets};
    if (spec_.share == kNotGiven) return destinations;
    destinations.hot_share = static_cast<std::uint64_t>(spec_.share);
    destinations.hot_parts = kFractionParts;
    return destinations;
  }

  void draw_poisson() {
    workload::PoissonParams params;
    params.destinations = destinations();
    params.bits_per_second = spec_.rates;
    params.load = load_in_millionths();
    params.time = spec_.duration;
    params.seed = seed_;
    for (const workload::PoissonFlow& flow : workload::poisson_flows(params, sizes()))
      flows_.push_back({.from = flow.from, .to = flow.to, .bytes = flow.bytes, .start = flow.start});
  }

  // Each host starts its first flows at once; every flow that ends starts the next one.
  void draw_closed_loop() {
    const workload::Destinations to = destinations();
    for (std::uint32_t host = 0; host < members_; ++host) {
      Rng random(seed_, "closed-loop/" + std::to_string(host));
      const bool has_more = spec_.flows > spec_.in_flight;
      const auto trigger = static_cast<std::uint32_t>(traffic_.triggers.size());
      if (has_more) traffic_.triggers.push_back({.kind = workload::TriggerPlan::Kind::kNext});
      for (std::int64_t i = 0; i < spec_.flows; ++i) {
        FlowPlan& flow = flows_.emplace_back();
        flow.from = host;
        flow.to = to.draw(host, random);
        flow.bytes = draw_size(random);
        if (!has_more) continue;
        flow.on_sent = trigger;
        if (i >= spec_.in_flight) flow.trigger = trigger;
      }
    }
  }

  const WorkloadSpec& spec_;
  const std::uint64_t seed_;
  const bool is_roce_;
  const std::uint32_t members_;
  Traffic& traffic_;
  std::vector<FlowPlan> flows_;
};

}  // namespace

Traffic traffic_of(const std::vector<FlowSpec>& flows) {
  Traffic traffic;
  for (const FlowSpec& flow : flows) {
    if (flow.is_resolved) append_flow(flow, traffic);
  }
  return traffic;
}

void draw_traffic(ScenarioSpec& scenario) {
  scenario.traffic = traffic_of(scenario.flows);
  for (const WorkloadSpec& spec : scenario.workloads) {
    if (!spec.is_resolved) continue;
    const std::uint64_t seed = spec.seed != kNotGiven
                                   ? static_cast<std::uint64_t>(spec.seed)
                                   : Rng(static_cast<std::uint64_t>(scenario.seed), "workload/" + spec.name).next();
    Drawing(spec, seed, scenario.topology.is_roce(), scenario.traffic).run();
  }
}

}  // namespace verbatim::config
