// Packets arriving at a port: the memory in which they wait, their path through a switch, marks.
#include <algorithm>

#include "tests/timing/reference/clocked_fabric.h"

namespace verbatim::timing::clocked {

void ClockedFabric::byte_comes(std::uint32_t in, const Unit& unit) {
  ReferencePort& port = ports_[in];
  switch (unit.kind) {
    case Unit::Kind::kCredits:
      if (unit.position == unit.length) port.limit[unit.lane] = unit.credit_limit;
      return;
    case Unit::Kind::kPause:
      if (unit.position == unit.tail_at) port.coming_pauses.push_back({now_ + port.link->response_ps, unit.timers});
      return;
    case Unit::Kind::kData: break;
  }
  const std::uint32_t number = unit.waiting.packet;
  const std::uint32_t lane = arrival_lane(port, number, unit.lane);
  if (unit.position == unit.head_at) head_comes(in, number, lane);
  if (unit.position == unit.tail_at && !overflowed_.contains({in, number})) tail_comes(in, number, lane);
}

void ClockedFabric::head_comes(std::uint32_t in, std::uint32_t number, std::uint32_t lane) {
  ReferencePort& port = ports_[in];
  const bool at_switch = device_of(port).is_switch;
  log(in, Moment::kHead, number);
  const bool has_space = take_space(port, lane, number);
  judge_arrival(port, lane);
  if (!has_space) {
    overflowed_.insert({in, number});
    return log_drop(in, number, lane == kVl15 ? DropReason::kManagementBuffer : DropReason::kInputBuffer);
  }
  if (!at_switch) return;
  const std::uint32_t out = port_towards(port.device, number);
  const std::uint32_t out_lane = lane_at(ports_[out], number);
  if (out_lane == kDropped) {
    note(Occasion::kRefused);
    refuse(in, number, DropReason::kNoLane);
  } else if (!fits_output(port, lane, number)) {
    note(Occasion::kOutputFull);
    refuse(in, number, DropReason::kOutputQueue);
  } else {
    mark(out, out_lane, number, true);
  }
  port.moving.push_back({number, lane, now_});
}

void ClockedFabric::tail_comes(std::uint32_t in, std::uint32_t number, std::uint32_t lane) {
  ReferencePort& port = ports_[in];
  const std::uint32_t wire_bytes = fabric_.packets[number].wire_bytes;
  for (Moving& moving : port.moving) {
    if (moving.packet == number) moving.tail_is_in = true;
  }
  if (refused_.contains({in, number})) port.frees.push_back({now_, lane, wire_bytes});
  if (device_of(port).is_switch) return;
  log(in, Moment::kTail, number);
  port.frees.push_back({now_ + fabric_.packets[number].keep_ps, lane, wire_bytes});
  ++arrived_;
}

void ClockedFabric::refuse(std::uint32_t in, std::uint32_t number, DropReason reason) {
  refused_.insert({in, number});
  log_drop(static_cast<std::uint32_t>(ports_.size()) + ports_[in].device, number, reason);
}

// A switch with several lanes classifies arriving Ethernet packets anew; credits belong to the lane chosen by
// the sender.
std::uint32_t ClockedFabric::arrival_lane(const ReferencePort& in, std::uint32_t number, std::uint32_t sent_on) const {
  const DeviceCase& device = device_of(in);
  if (in.groups.empty() || !device.is_switch || device.lanes == 1 || !fabric_.packets[number].is_roce) return sent_on;
  const std::uint32_t lane = lane_at(in, number);
  return lane == kDropped ? sent_on : lane;
}

bool ClockedFabric::take_space(ReferencePort& port, std::uint32_t lane, std::uint32_t number) {
  const std::uint32_t wire_bytes = fabric_.packets[number].wire_bytes, count = blocks(wire_bytes);
  if (lane == kVl15) {
    const std::uint32_t capacity = device_of(port).vl15_buffer_bytes / 64;
    if (device_of(port).vl15_buffer_bytes > 0 && port.vl15_used + count > capacity) {
      note(Occasion::kManagementLost);
      return false;
    }
    port.vl15_used += count;
    return true;
  }
  if (port.groups.empty()) {
    ReceiveLane& into = port.input[lane];
    into.received = (into.received + count) % kCounter;
    into.used += count;
    return into.used <= into.capacity;  // always in the event model: a disagreement
  }
  MemoryGroup& group = port.groups[lane];
  const std::uint64_t in_headroom = group.in_headroom, in_pool = group.in_pool;
  if (!memories_[port.device].take(group, wire_bytes)) {
    note(group.is_lossless ? Occasion::kLosslessLost : Occasion::kLossyLost);
    if (device_of(port).memory.bytes > 0) note(Occasion::kPoolLost);
    return false;
  }
  if (group.in_headroom > in_headroom) note(Occasion::kHeadroom);
  if (group.in_pool > in_pool) note(Occasion::kPool);
  return true;
}

void ClockedFabric::give_space(ReferencePort& port, std::uint32_t lane, std::uint32_t wire_bytes) {
  if (lane == kVl15) {
    port.vl15_used -= blocks(wire_bytes);
  } else if (port.groups.empty()) {
    port.input[lane].used -= blocks(wire_bytes);
    port.input[lane].freed += blocks(wire_bytes);
  } else {
    memories_[port.device].give_back(port.groups[lane], wire_bytes);
    if (lane < kPriorities) port.wishes[lane].has_left = true;
  }
}

// Output and lane of a packet in a switch.
std::uint32_t ClockedFabric::port_towards(std::uint32_t d, std::uint32_t packet) const {
  return first_[d] + fabric_.devices[d].output[fabric_.packets[packet].to] - 1;
}

std::uint32_t ClockedFabric::lane_at(const ReferencePort& out, std::uint32_t packet) const {
  if (fabric_.packets[packet].management) return kVl15;
  const std::uint32_t lane = device_of(out).lane_of_level[fabric_.packets[packet].level];
  return lane == 15 ? kDropped : lane % out.lanes;
}

// 2.
void ClockedFabric::switches() {
  for (std::uint32_t d = 0; d < fabric_.devices.size(); ++d) {
    const DeviceCase& device = fabric_.devices[d];
    if (!device.is_switch) continue;
    while (tick_[d] < now_) count_cycle(d);  // it was idle
    if (tick_[d] != now_) continue;
    Done done;
    const std::uint32_t first = first_[d];
    for (std::uint32_t p = first; p < first + device.ports; ++p) tick_input(d, p, &done);
    std::sort(done.begin(), done.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [order, moving] : done) {
      ReferencePort& out = ports_[moving.out];
      out.queue[lane_at(out, moving.packet)].push_back(
          {moving.packet, static_cast<int>(order.second), moving.lane, moving.head});
    }
    count_cycle(d);
  }
}

void ClockedFabric::count_cycle(std::uint32_t d) {
  ++cycle_[d];
  tick_[d] = edge_time(cycle_[d], 1'000'000'000'000, fabric_.devices[d].clock_hz);
}

void ClockedFabric::tick_input(std::uint32_t d, std::uint32_t p, Done* done) {
  const DeviceCase& device = fabric_.devices[d];
  ReferencePort& port = ports_[p];
  for (Moving& moving : port.moving) {
    if (moving.counting) --moving.cycles_left;
  }
  for (Moving& moving : port.moving) {
    if (moving.looked_up) continue;
    if (cycle_[d] < port.next_lookup_cycle) {
      note(Occasion::kLookupBusy);
      break;
    }
    moving.looked_up = true;
    moving.out = port_towards(d, moving.packet);
    port.next_lookup_cycle = cycle_[d] + device.lookup_interval_cycles;
  }
  for (Moving& moving : port.moving) {
    if (!moving.looked_up || moving.counting || refused_.contains({p, moving.packet})) continue;
    const Rate& in = port.link->rate;
    const Rate& out = ports_[moving.out].link->rate;
    const bool output_is_faster = out.ps * in.per_bytes < in.ps * out.per_bytes;
    if (output_is_faster && !moving.tail_is_in) {
      note(Occasion::kStored);
      continue;
    }
    moving.counting = true;
    moving.cycles_left = device.cut_through_cycles;
  }
  for (std::size_t i = 0; i < port.moving.size();) {
    const Moving moving = port.moving[i];
    if (moving.looked_up && refused_.contains({p, moving.packet})) {
      port.moving.erase(port.moving.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    if (!moving.counting || moving.cycles_left > 0) {
      ++i;
      continue;
    }
    done->push_back({{moving.head, p}, moving});
    port.moving.erase(port.moving.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

// Bytes of all packets waiting for a lane of an output, from the arrival of their heads until they start.
std::uint64_t ClockedFabric::waiting_bytes(std::uint32_t out, std::uint32_t lane) const {
  const std::uint32_t d = ports_[out].device;
  std::uint64_t bytes = 0;
  for (const Waiting& waiting : ports_[out].queue[lane]) bytes += fabric_.packets[waiting.packet].wire_bytes;
  for (std::uint32_t p = first_[d]; p < first_[d] + fabric_.devices[d].ports; ++p) {
    for (const Moving& moving : ports_[p].moving) {
      if (refused_.contains({p, moving.packet})) continue;
      if (port_towards(d, moving.packet) != out || lane_at(ports_[out], moving.packet) != lane) continue;
      bytes += fabric_.packets[moving.packet].wire_bytes;
    }
  }
  return bytes;
}

// With the packet, a queue has no more than its share of what is free. The limit is for lossy groups in shared memory alone.
bool ClockedFabric::fits_output(const ReferencePort& in, std::uint32_t arrived_on, std::uint32_t number) {
  const DeviceCase& device = device_of(in);
  if (device.memory.bytes == 0 || in.groups.empty() || arrived_on == kVl15 || in.groups[arrived_on].is_lossless) return true;
  const std::uint32_t out = port_towards(in.device, number);
  const PacketMemory& memory = memories_[in.device];
  const std::uint64_t waiting = waiting_bytes(out, lane_at(ports_[out], number));
  return memory.cells(waiting) + memory.cells(fabric_.packets[number].wire_bytes) <=
         memory.threshold(device.memory.output_alpha);
}

// Random early detection: by the bytes that a packet finds as it joins its queue, or leaves behind as it starts.
void ClockedFabric::mark(std::uint32_t out, std::uint32_t lane, std::uint32_t number, bool at_enqueue) {
  const DeviceCase& device = device_of(ports_[out]);
  if (!device.is_switch || lane >= device.marks.size() || device.marks_at_enqueue != at_enqueue) return;
  const MarkCase& curve = device.marks[lane];
  const std::uint64_t bytes = waiting_bytes(out, lane);
  if (curve.ppm == 0 || bytes <= curve.least) return;
  bool by_chance = false;
  if (bytes <= curve.most) {
    // ppm x (bytes - least) / (most - least), in millionths.
    const std::uint64_t span = curve.most - curve.least;
    if (chances_[out].below(span * 1'000'000) >= curve.ppm * (bytes - curve.least)) return;
    by_chance = true;
  }
  if (!fabric_.packets[number].takes_marks || marked_.contains(number)) return;
  note(at_enqueue ? Occasion::kMarkedAtEnqueue : Occasion::kMarkedAtDequeue);
  if (by_chance) note(Occasion::kMarkedByChance);
  marked_.insert(number);
  log(out, Moment::kMark, number, static_cast<std::uint32_t>(bytes));
}

// 3.
void ClockedFabric::free_space() {
  for (ReferencePort& port : ports_) {
    if (port.link == nullptr) continue;
    for (std::size_t i = 0; i < port.frees.size();) {
      if (port.frees[i].when != now_) {
        ++i;
        continue;
      }
      give_space(port, port.frees[i].lane, port.frees[i].wire_bytes);
      port.frees.erase(port.frees.begin() + static_cast<std::ptrdiff_t>(i));
    }
    fire_timers(port);
  }
}

}  // namespace verbatim::timing::clocked
