#include "sim/fabric/credit_loop.h"

#include <algorithm>
#include <map>
#include <utility>

namespace verbatim::fabric {

namespace {

using Buffer = std::pair<ComponentId, std::uint8_t>;  // an input buffer: its port, and the lane

// A lane of an output port with packets in its queue.
struct Output {
  Port* port;
  ib::VirtualLane lane;
  bool is_stuck;                         // as far as is known
  std::vector<std::size_t> waits_for{};  // indices of the outputs whose packets occupy the input buffer that it waits for
};

std::vector<Output> outputs_of(std::span<Port* const> ports) {
  std::vector<Output> outputs;
  for (Port* port : ports) {
    if (!port->connected()) continue;
    for (std::uint8_t number = 0; number < port->operational_lanes(); ++number) {
      const ib::VirtualLane lane{number};
      if (port->has_queued(lane)) outputs.push_back({port, lane, port->waits_for_credits(lane)});
    }
  }
  std::ranges::sort(outputs, {}, [](const Output& output) { return Buffer(output.port->id(), output.lane.value); });
  return outputs;
}

}  // namespace

std::vector<const Port*> find_credit_loop(std::span<Port* const> ports) {
  std::vector<Output> outputs = outputs_of(ports);
  if (std::ranges::none_of(outputs, &Output::is_stuck)) return {};
  std::map<Buffer, std::vector<std::size_t>> occupants;  // outputs, by the buffer that their packets occupy
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].port->visit_occupied_buffers(outputs[i].lane, [&](ComponentId input, ib::VirtualLane lane) {
      std::vector<std::size_t>& list = occupants[{input, lane.value}];
      if (list.empty() || list.back() != i) list.push_back(i);
    });
  }
  std::vector<std::vector<std::size_t>> waiters(outputs.size());
  std::vector<std::size_t> freed;  // ports that can send; their waiters have not been visited yet
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Output& output = outputs[i];
    if (output.is_stuck) {
      const auto found = occupants.find({output.port->far_end()->id(), output.lane.value});
      if (found != occupants.end()) output.waits_for = found->second;
      for (const std::size_t next : output.waits_for) waiters[next].push_back(i);
      output.is_stuck = !output.waits_for.empty();
    }
    if (!output.is_stuck) freed.push_back(i);
  }
  while (!freed.empty()) {
    const std::size_t next = freed.back();
    freed.pop_back();
    for (const std::size_t i : waiters[next]) {
      if (std::exchange(outputs[i].is_stuck, false)) freed.push_back(i);
    }
  }
  // Every output that is left waits for others that are left.
  const auto first = std::ranges::find_if(outputs, &Output::is_stuck);
  if (first == outputs.end()) return {};
  std::vector<std::size_t> path;
  for (auto at = static_cast<std::size_t>(first - outputs.begin());; at = outputs[at].waits_for.front()) {
    const auto met = std::ranges::find(path, at);
    if (met == path.end()) {
      path.push_back(at);
      continue;
    }
    path.erase(path.begin(), met);
    break;
  }
  std::rotate(path.begin(), std::ranges::min_element(path), path.end());
  std::vector<const Port*> loop;
  for (const std::size_t i : path) loop.push_back(outputs[i].port);
  return loop;
}

}  // namespace verbatim::fabric
