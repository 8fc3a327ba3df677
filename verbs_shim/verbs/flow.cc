// Flow rules and their counters. A program passes a list of specs, one behind the other, each with its own
// size. This file parses the list into the command's fixed layout; the adapter validates its content.
#include "verbs_shim/verbs/objects.h"

namespace verbatim::verbs {
namespace {

// Bytes of one filter of a spec; 0: the spec has no value and mask.
std::size_t filter_bytes(std::uint32_t type) {
  switch (type & ~static_cast<std::uint32_t>(IBV_FLOW_SPEC_INNER)) {
    case IBV_FLOW_SPEC_ETH:
      return sizeof(ibv_flow_eth_filter);
    case IBV_FLOW_SPEC_IPV4:
      return sizeof(ibv_flow_ipv4_filter);
    case IBV_FLOW_SPEC_IPV4_EXT:
      return sizeof(ibv_flow_ipv4_ext_filter);
    case IBV_FLOW_SPEC_IPV6:
      return sizeof(ibv_flow_ipv6_filter);
    case IBV_FLOW_SPEC_TCP:
    case IBV_FLOW_SPEC_UDP:
      return sizeof(ibv_flow_tcp_udp_filter);
    case IBV_FLOW_SPEC_VXLAN_TUNNEL:
      return sizeof(ibv_flow_tunnel_filter);
    case IBV_FLOW_SPEC_ESP:
      return sizeof(ibv_flow_esp_filter);
    case IBV_FLOW_SPEC_GRE:
      return sizeof(ibv_flow_gre_filter);
    case IBV_FLOW_SPEC_MPLS:
      return sizeof(ibv_flow_mpls_filter);
    default:
      return 0;
  }
}

// Offset of the filters in a spec: behind type and size, with the filter's alignment.
std::size_t filter_offset(std::uint32_t type) {
  switch (type & ~static_cast<std::uint32_t>(IBV_FLOW_SPEC_INNER)) {
    case IBV_FLOW_SPEC_ETH:
      return offsetof(ibv_flow_spec_eth, val);
    case IBV_FLOW_SPEC_TCP:
    case IBV_FLOW_SPEC_UDP:
      return offsetof(ibv_flow_spec_tcp_udp, val);
    default:
      return offsetof(ibv_flow_spec_ipv4, val);
  }
}
static_assert(offsetof(ibv_flow_spec_ipv6, val) == offsetof(ibv_flow_spec_ipv4, val));
static_assert(offsetof(ibv_flow_spec_tunnel, val) == offsetof(ibv_flow_spec_ipv4, val));
static_assert(offsetof(ibv_flow_spec_gre, val) == offsetof(ibv_flow_spec_ipv4, val));
static_assert(sizeof(ibv_flow_ipv6_filter) <= protocol::FlowSpec::kFilterBytes);

// Encodes one spec of `size` bytes at `from`; 0 or an errno.
int encode(const std::byte* from, std::size_t size, std::uint32_t type, protocol::FlowSpec* to) {
  to->type = type;
  if (const std::size_t bytes = filter_bytes(type); bytes > 0) {
    const std::size_t at = filter_offset(type);
    if (size < at + 2 * bytes) return EINVAL;
    std::memcpy(to->value, from + at, bytes);
    std::memcpy(to->mask, from + at + bytes, bytes);
    return 0;
  }
  switch (type) {
    case IBV_FLOW_SPEC_ACTION_TAG:
      if (size < sizeof(ibv_flow_spec_action_tag)) return EINVAL;
      std::memcpy(&to->argument, from + offsetof(ibv_flow_spec_action_tag, tag_id), sizeof(to->argument));
      return 0;
    case IBV_FLOW_SPEC_ACTION_DROP:
      return size < sizeof(ibv_flow_spec_action_drop) ? EINVAL : 0;
    case IBV_FLOW_SPEC_ACTION_COUNT: {
      if (size < sizeof(ibv_flow_spec_counter_action)) return EINVAL;
      ibv_counters* handle = nullptr;
      std::memcpy(&handle, from + offsetof(ibv_flow_spec_counter_action, counters), sizeof(handle));
      const auto* counters = object<Counters>(handle);
      if (counters == nullptr) return EINVAL;
      to->argument = counters->handle;
      return 0;
    }
    case IBV_FLOW_SPEC_ACTION_HANDLE:
      return EOPNOTSUPP;  // flow actions do not exist
    default:
      return EINVAL;
  }
}

// Encodes all specs of a rule. As in rdma-core, the number of specs and their sizes count. The size field of
// the rule is ignored, because programs leave it unset.
int encode(const ibv_flow_attr& attributes, protocol::CreateFlow* command) {
  if (attributes.num_of_specs > protocol::CreateFlow::kMaxSpecs) return EINVAL;
  const auto* from = reinterpret_cast<const std::byte*>(&attributes + 1);
  for (std::uint32_t i = 0; i < attributes.num_of_specs; ++i) {
    std::uint32_t type = 0;
    std::uint16_t size = 0;
    std::memcpy(&type, from, sizeof(type));
    std::memcpy(&size, from + sizeof(type), sizeof(size));
    if (const int error = encode(from, size, type, &command->specs[i]); error != 0) {
      return refuse_with(error, "ibv_create_flow: spec %u of type %#x with %u bytes is not known, or too short", i, type, size);
    }
    from += size;
  }
  command->spec_count = attributes.num_of_specs;
  return 0;
}

}  // namespace

ibv_flow* create_flow(ibv_qp* handle, ibv_flow_attr* attributes) {
  if (object<Qp>(handle) == nullptr || attributes->comp_mask != 0) {
    return refuse(refuse_with(EINVAL, "ibv_create_flow: comp_mask %#x, or no queue pair", attributes->comp_mask));
  }
  protocol::CreateFlow command{};
  command.qp = handle->handle;
  command.type = attributes->type;
  command.flags = attributes->flags;
  command.priority = attributes->priority;
  command.port = attributes->port;
  if (const int error = encode(*attributes, &command); error != 0) return refuse(error);
  auto* flow = allocate_object<Flow>();
  if (flow == nullptr) return nullptr;
  if (const int error = execute(command, handle_of(handle->context)); error != 0) {
    release_object(flow);
    return refuse(error);
  }
  flow->base.context = handle->context;
  flow->base.handle = command.handle;
  return &flow->base;
}

int destroy_flow(ibv_flow* handle) {
  auto* flow = object<Flow>(handle);
  if (flow == nullptr) return EINVAL;
  if (const int error = destroy(protocol::CommandType::kDestroyFlow, handle->context, handle->handle)) return error;
  release_object(flow);
  return 0;
}

ibv_counters* create_counters(ibv_context* handle, ibv_counters_init_attr* attributes) {
  Context* context = context_of(handle);
  if (context == nullptr || attributes->comp_mask != 0) return refuse(EINVAL);
  auto* counters = allocate_object<Counters>();
  if (counters == nullptr) return nullptr;
  protocol::CreateCounters command{};
  if (const int error = execute(command, context->handle); error != 0) {
    release_object(counters);
    return refuse(error);
  }
  counters->base.context = handle;
  counters->handle = command.handle;
  return &counters->base;
}

int destroy_counters(ibv_counters* handle) {
  auto* counters = object<Counters>(handle);
  if (counters == nullptr) return EINVAL;
  const int error = destroy(protocol::CommandType::kDestroyCounters, handle->context, counters->handle);
  if (error == 0) release_object(counters);
  return error;
}

int attach_counters_point_flow(ibv_counters* handle, ibv_counter_attach_attr* attributes, ibv_flow* flow) {
  auto* counters = object<Counters>(handle);
  if (counters == nullptr || attributes->comp_mask != 0) return EINVAL;
  if (flow != nullptr && object<Flow>(flow) == nullptr) return EINVAL;
  protocol::AttachCounter command{};
  command.counters = counters->handle;
  command.flow = flow == nullptr ? 0 : flow->handle;
  command.description = attributes->counter_desc;
  command.index = attributes->index;
  return execute(command, handle_of(handle->context));
}

int read_counters(ibv_counters* handle, std::uint64_t* values, std::uint32_t count, std::uint32_t flags) {
  auto* counters = object<Counters>(handle);
  if (counters == nullptr || (flags & ~static_cast<std::uint32_t>(IBV_READ_COUNTERS_ATTR_PREFER_CACHED)) != 0) {
    return EINVAL;
  }
  if (count > protocol::ReadCounters::kMost) return EINVAL;
  protocol::ReadCounters command{};
  command.counters = counters->handle;
  command.count = count;
  const int error = execute(command, handle_of(handle->context));
  if (error == 0) std::memcpy(values, command.values, count * sizeof(*values));
  return error;
}

}  // namespace verbatim::verbs
