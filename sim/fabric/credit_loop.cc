#include "sim/fabric/credit_loop.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace verbatim::fabric {

namespace {

// A lane of an output port with queued packets, the first of which waits for space.
struct Output {
  Port* port;
  ib::VirtualLane lane;
};

// Buffer space that packets in the queues of some outputs occupy.
class KeptSpace {
 public:
  void add(const Output& output) {
    const PerPortBuffer& buffer = output.port->input_buffer();
    output.port->visit_claims(output.lane, [&](const BufferClaim& claim, std::uint32_t bytes) {
      place(buffer, claim) += cells(buffer, claim, bytes);
    });
  }
  void remove(const Output& output) {
    const PerPortBuffer& buffer = output.port->input_buffer();
    output.port->visit_claims(output.lane, [&](const BufferClaim& claim, std::uint32_t bytes) {
      place(buffer, claim) -= cells(buffer, claim, bytes);
    });
  }
  // Whether the first packet of an output could start if all other packets left.
  bool can_start(const Output& output) {
    const Port& far = *output.port->far_end();
    const PerPortBuffer& buffer = far.input_buffer();
    if (!buffer.has_group(far.number(), output.lane)) {
      const std::uint64_t kept = blocks_[{&buffer, far.number(), output.lane}];
      return kept + output.port->first_blocks(output.lane) <= output.port->far_blocks();
    }
    const SharedBuffer& groups = *buffer.groups();
    const std::size_t group = buffer.group_of(far.number(), output.lane);
    const std::vector<std::uint64_t>& kept = cells_of(groups);
    const bool is_kept_whole = kept[group] != 0 && kept[group] >= groups.used_cells(group);
    if (is_kept_whole && far.resumes_at_departure(output.lane)) return false;
    return groups.can_have_room_again(group, kept);
  }

 private:
  std::vector<std::uint64_t>& cells_of(const SharedBuffer& groups) {
    std::vector<std::uint64_t>& all = cells_[&groups];
    all.resize(groups.size());
    return all;
  }
  std::uint64_t& place(const PerPortBuffer& buffer, const BufferClaim& claim) {
    if (!buffer.has_group(claim.in, claim.lane)) return blocks_[{&buffer, claim.in, claim.lane}];
    return cells_of(*buffer.groups())[buffer.group_of(claim.in, claim.lane)];
  }
  static std::uint64_t cells(const PerPortBuffer& buffer, const BufferClaim& claim, std::uint32_t bytes) {
    return buffer.has_group(claim.in, claim.lane) ? buffer.groups()->cells_of(bytes) : blocks_of(bytes);
  }

  // For lookups only, never iterated.
  std::map<std::tuple<const PerPortBuffer*, PortNumber, ib::VirtualLane>, std::uint64_t> blocks_;
  std::map<const SharedBuffer*, std::vector<std::uint64_t>> cells_;  // by group
};

// Outputs that never proceed, ordered by component and lane.
std::vector<Output> stuck_outputs(std::span<Port* const> ports, LoopKind kind) {
  std::vector<Output> outputs;
  for (Port* port : ports) {
    if (!port->connected()) continue;
    for (std::uint8_t number = 0; number < port->operational_lanes(); ++number) {
      const ib::VirtualLane lane{number};
      if (kind == LoopKind::kForEver && port->limits_waits(lane)) continue;
      if (port->waits_for_credits(lane)) outputs.push_back({port, lane});
    }
  }
  std::ranges::sort(outputs, {}, [](const Output& output) { return std::pair(output.port->id(), output.lane.value); });
  KeptSpace kept;
  for (const Output& output : outputs) kept.add(output);
  for (std::size_t before = 0; before != outputs.size();) {
    before = outputs.size();
    std::erase_if(outputs, [&kept](const Output& output) {
      if (!kept.can_start(output)) return false;
      kept.remove(output);
      return true;
    });
  }
  return outputs;
}

// Index of the first output whose packets occupy the input buffer that output `at` waits for; there is one.
std::size_t next_of(std::size_t at, std::span<const Output> outputs) {
  const Output& waiting = outputs[at];
  const ComponentId far = waiting.port->far_end()->id();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    bool occupies = false;
    outputs[i].port->visit_claims(outputs[i].lane, [&](const BufferClaim& claim, std::uint32_t) {
      occupies |= outputs[i].port->input_buffer().input_id(claim.in) == far && claim.lane == waiting.lane;
    });
    if (occupies) return i;
  }
  CHECK(false);
}

}  // namespace

std::vector<LoopOutput> find_credit_loop(std::span<Port* const> ports, LoopKind kind) {
  const std::vector<Output> outputs = stuck_outputs(ports, kind);
  if (outputs.empty()) return {};
  std::vector<std::size_t> path;
  for (std::size_t at = 0;; at = next_of(at, outputs)) {
    const auto met = std::ranges::find(path, at);
    if (met == path.end()) {
      path.push_back(at);
      continue;
    }
    path.erase(path.begin(), met);
    break;
  }
  std::rotate(path.begin(), std::ranges::min_element(path), path.end());
  std::vector<LoopOutput> loop;
  for (const std::size_t i : path) loop.push_back({outputs[i].port, outputs[i].lane});
  return loop;
}

}  // namespace verbatim::fabric
