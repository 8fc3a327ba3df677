// Commands on flow rules and their counters (ibv_create_flow(3), ibv_create_counters(3)).
#include <cerrno>
#include <memory>

#include "sim/hca/commands/hca_impl.h"

namespace verbatim::hca {

namespace {

constexpr std::uint32_t kUd = static_cast<std::uint32_t>(ib::QpType::kUd);

bool is_flow_type(std::uint32_t type) { return type <= static_cast<std::uint32_t>(FlowType::kSniffer); }

}  // namespace

int Hca::Impl::create_flow(Context& context, protocol::CreateFlow& command) {
  if (!adapter.address.roce) return refuse(EOPNOTSUPP, "flow rules need an Ethernet port");
  QueuePair* qp = find_qp(context, command.qp);
  if (qp == nullptr) return no_object("queue pair", command.qp);
  if (!is_flow_type(command.type)) return refuse(EINVAL, "there is no flow type ", command.type);
  if (command.port != kPortNumber) return refuse(EINVAL, "there is no port ", command.port);
  if (command.spec_count > protocol::CreateFlow::kMaxSpecs) {
    return refuse(EINVAL, command.spec_count, " specs: at most ", protocol::CreateFlow::kMaxSpecs);
  }
  if (static_cast<std::uint32_t>(qp->params.type) == kUd) return refuse(EOPNOTSUPP, "flow rules are for raw packet queue pairs");
  if (!qp->is_raw()) return refuse(EINVAL, "flow rules are for raw packet queue pairs");
  const FlowType type = static_cast<FlowType>(command.type);
  if ((command.flags & ~(kFlowDontTrap | kFlowEgress)) != 0) return refuse(EINVAL, "unknown flags ", Hex{command.flags});
  if ((command.flags & kFlowEgress) != 0) return refuse(EOPNOTSUPP, "rules apply to received frames only, so IBV_FLOW_ATTR_FLAGS_EGRESS is not supported");
  // The man page: only normal rules let others have what they match.
  if ((command.flags & kFlowDontTrap) != 0 && type != FlowType::kNormal) {
    return refuse(EINVAL, "IBV_FLOW_ATTR_FLAGS_DONT_TRAP is for rules of type IBV_FLOW_ATTR_NORMAL");
  }

  auto flow = std::make_unique<Flow>();
  flow->qp = qp->self;
  flow->type = type;
  flow->priority = command.priority;
  flow->dont_trap = (command.flags & kFlowDontTrap) != 0;
  bool has_tag = false;
  for (std::uint32_t i = 0; i < command.spec_count; ++i) {
    protocol::FlowSpec& spec = command.specs[i];
    const protocol::FlowSpec* const before = flow->matches.empty() ? nullptr : &flow->matches.back();
    if (spec.type == kSpecTag && !has_tag) {
      has_tag = true;
      flow->tag = spec.argument;
    } else if (spec.type == kSpecDrop) {
      flow->drops = true;
    } else if (spec.type == kSpecCount && flow->counters == nullptr) {
      const auto counters = context.objects.counters.find(spec.argument);
      if (counters == context.objects.counters.end()) return no_object("counters", spec.argument);
      flow->counters = counters->second.get();
    } else if (const int error = FlowTable::check_match(spec, before); error != 0) {
      return refuse(error, "spec ", i, " of type ", Hex{spec.type}, " cannot be matched here, or follows one that it cannot follow");
    } else {
      flow->matches.push_back(spec);
    }
  }
  if (type != FlowType::kNormal && !flow->matches.empty()) return refuse(EINVAL, "default rules and sniffers cannot have specs");
  if (flow->drops && (flow->dont_trap || has_tag)) return refuse(EINVAL, "a drop action cannot be combined with a tag or another destination");
  if (adapter.steering.flows.size() >= adapter.profile.max_flow) {
    return refuse(ENOMEM, "all of ", adapter.profile.max_flow, " flow rules are in use");
  }
  if (flow->counters != nullptr) ++flow->counters->flows;
  ++qp->uses.flows;
  adapter.steering.flows.add(*flow);
  command.handle = take_handle(context);
  context.objects.flows[command.handle] = std::move(flow);
  return 0;
}

void Hca::Impl::close_flow(Context& context, std::uint32_t handle) {
  const auto it = context.objects.flows.find(handle);
  Flow& flow = *it->second;
  adapter.steering.flows.remove(flow);
  --flow.qp.get()->uses.flows;
  if (flow.counters != nullptr) --flow.counters->flows;
  for (const Flow::Point& point : flow.points) --point.counters->flows;
  context.objects.flows.erase(it);
}

int Hca::Impl::destroy_flow(Context& context, protocol::DestroyObject& command) {
  if (!context.objects.flows.contains(command.handle)) return no_object_to_destroy("flow", command.handle);
  close_flow(context, command.handle);
  return 0;
}

int Hca::Impl::create_counters(Context& context, protocol::CreateCounters& command) {
  if (!adapter.address.roce) return refuse(EOPNOTSUPP, "counters belong to flow rules, which need an Ethernet port");
  if (counters_count_ >= adapter.profile.max_counters) {
    return refuse(ENOMEM, "all of ", adapter.profile.max_counters, " counters are in use");
  }
  ++counters_count_;
  command.handle = take_handle(context);
  context.objects.counters[command.handle] = std::make_unique<FlowCounters>();
  return 0;
}

int Hca::Impl::destroy_counters(Context& context, protocol::DestroyObject& command) {
  const auto it = context.objects.counters.find(command.handle);
  if (it == context.objects.counters.end()) return no_object_to_destroy("counters", command.handle);
  if (it->second->flows > 0) return refuse(EBUSY, it->second->flows, " flow rules count with it");
  context.objects.counters.erase(it);
  --counters_count_;
  return 0;
}

int Hca::Impl::attach_counter(Context& context, protocol::AttachCounter& command) {
  const auto it = context.objects.counters.find(command.counters);
  if (it == context.objects.counters.end()) return no_object("counters", command.counters);
  if (command.index >= protocol::ReadCounters::kMost) return refuse(EINVAL, "index ", command.index, " of at most ", protocol::ReadCounters::kMost);
  if (command.description > kCountBytes) return refuse(ENOTSUP, "packets and bytes can be counted, not ", command.description);
  FlowCounters& counters = *it->second;
  const CounterPoint point{command.description, command.index};
  constexpr std::size_t kMostPoints = 1024;
  if (command.flow == 0) {
    if (counters.flows > 0) return refuse(EBUSY, "a flow rule already counts with it");
    if (counters.points.size() >= kMostPoints) return refuse(ENOMEM, "all counting points are in use");
    counters.points.push_back(point);
    return 0;
  }
  const auto flow = context.objects.flows.find(command.flow);
  if (flow == context.objects.flows.end()) return no_object("flow", command.flow);
  if (flow->second->points.size() >= kMostPoints) return refuse(ENOMEM, "all counting points are in use");
  flow->second->points.push_back({&counters, point});
  ++counters.flows;
  return 0;
}

int Hca::Impl::read_counters(Context& context, protocol::ReadCounters& command) {
  const auto it = context.objects.counters.find(command.counters);
  if (it == context.objects.counters.end()) return no_object("counters", command.counters);
  if (command.count > protocol::ReadCounters::kMost) return refuse(EINVAL, command.count, " values: at most ", protocol::ReadCounters::kMost);
  for (std::uint32_t i = 0; i < command.count; ++i) command.values[i] = it->second->values[i];
  return 0;
}

}  // namespace verbatim::hca
