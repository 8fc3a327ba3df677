#include "sim/config/flows.h"

#include <algorithm>
#include <cstring>

#include "sim/ib/partition.h"

namespace verbatim::config {

namespace {

hca::SourcePath path_to(const Simulation& simulation, const hca::Endpoint& from, const hca::Endpoint& to, const FlowSpec& flow) {
  hca::SourcePath path;
  const hca::PortAddress &here = from.address(), &there = to.address();
  path.mtu = std::min(here.active_mtu(from.profile().max_mtu), there.active_mtu(to.profile().max_mtu));
  path.address.port = 1;
  path.address.service_level = flow.service_level == FlowSpec::kOfPath ? simulation.level_of(here.lid, there.lid)
                                                                       : static_cast<std::uint8_t>(flow.service_level);
  if (here.roce) {
    // As programs do that go by addresses: the entry of the interface's IPv4 address.
    constexpr std::uint8_t kIpv4Entry = 1, kHopLimit = 64;
    path.address.is_global = 1;
    path.address.sgid_index = kIpv4Entry;
    path.address.hop_limit = kHopLimit;
    path.address.traffic_class = static_cast<std::uint8_t>(flow.traffic_class);
    std::memcpy(path.address.dgid, there.gids.at(kIpv4Entry).raw, sizeof path.address.dgid);
  } else {
    path.address.dlid = there.lid.value;
  }
  for (std::size_t i = 0; i < here.pkeys.size(); ++i) {
    const auto matches = [own = here.pkeys[i]](std::uint16_t pkey) { return ib::do_pkeys_match(own, pkey); };
    if (!std::ranges::any_of(there.pkeys, matches)) continue;
    path.pkey_index = static_cast<std::uint16_t>(i);
    break;
  }
  return path;
}

}  // namespace

void add_flows(Simulation& simulation, const std::vector<FlowSpec>& flows, workload::Workload& workload) {
  for (const FlowSpec& flow : flows) {
    hca::Endpoint& from = simulation.endpoint(flow.from_adapter);
    hca::Endpoint& to = simulation.endpoint(flow.to_adapter);
    workload::FlowParams params;
    params.bytes = static_cast<std::uint64_t>(flow.bytes);
    params.start = instant_from_ps(flow.start.count());
    params.message_bytes = static_cast<std::uint32_t>(flow.message_size);
    params.queue_pairs = flow.queue_pairs;
    using Operation = hca::SourceWork::Operation;
    params.operation = flow.operation == "send" ? Operation::kSend : Operation::kWrite;
    workload.add(simulation.engine(), from, to, {path_to(simulation, from, to, flow), path_to(simulation, to, from, flow)},
                 params);
  }
}

}  // namespace verbatim::config
