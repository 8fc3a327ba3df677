#include "tests/timing/reference/clocked_fabric.h"

#include <algorithm>

namespace verbatim::timing {
namespace clocked {

std::vector<Passing> ClockedFabric::run() {
  std::int64_t next = 0;
  while (!is_at_rest() && next != kNo && next < 20'000'000'000) {
    now_ = next;
    bytes();
    take_pauses();
    switches();
    free_space();
    for (std::uint32_t p = 0; p < ports_.size(); ++p) {
      do {
        note_heads(ports_[p]);
        start_data(p);
        note_heads(ports_[p]);
      } while (drop_heads(p));
    }
    hand_over();
    for (ReferencePort& port : ports_) judge_departures(port);
    for (std::uint32_t p = 0; p < ports_.size(); ++p) start_flow_control(p);
    for (ReferencePort& port : ports_) {
      if (!port.sending) reset_high(port);
    }
    next = next_edge();
  }
  std::sort(log_.begin(), log_.end());
  return log_;
}

// Every packet has arrived or is lost, and no further pause frame follows: nothing will leave a buffer.
bool ClockedFabric::is_at_rest() const {
  if (arrived_ + dropped_ < fabric_.packets.size()) return false;
  const auto has_pauses = [](const LinkCase& link) { return link.control == Control::kPauses; };
  if (std::none_of(fabric_.links.begin(), fabric_.links.end(), has_pauses)) return true;
  const auto is_data = [](const Unit& unit) { return unit.kind == Unit::Kind::kData; };
  for (const ReferencePort& port : ports_) {
    if (port.frame_due != kNo || !port.frees.empty() || (port.sending && is_data(port.unit))) return false;
    for (const FlyingByte& byte : port.flying) {
      if (is_data(byte.unit)) return false;
    }
  }
  return true;
}

void ClockedFabric::build() {
  for (std::uint32_t d = 0; d < fabric_.devices.size(); ++d) {
    const DeviceCase& device = fabric_.devices[d];
    for (std::uint32_t i = 0; i < device.ports; ++i) {
      ReferencePort port;
      port.device = d;
      port.high.entries = device.high;
      port.low.entries = device.low;
      port.high.restart();
      port.low.restart();
      chances_.emplace_back(device.mark_seed, mark_stream(static_cast<std::uint32_t>(ports_.size())));
      ports_.push_back(port);
      reset_high(ports_.back());
    }
    cycle_.push_back(0);
    tick_.push_back(0);
    first_.push_back(fabric_.first_port(d));
  }
  for (std::uint32_t i = 0; i < fabric_.packets.size(); ++i) {
    ports_[first_[fabric_.packets[i].from]].outgoing.push_back(i);
  }
  for (const LinkCase& link : fabric_.links) {
    const std::uint32_t a = first_[link.device[0]] + link.port[0] - 1;
    const std::uint32_t b = first_[link.device[1]] + link.port[1] - 1;
    join(a, b, link);
    join(b, a, link);
  }
  for (std::uint32_t d = 0; d < fabric_.devices.size(); ++d) build_memory(d);
}

void ClockedFabric::join(std::uint32_t here, std::uint32_t there, const LinkCase& link) {
  ReferencePort& port = ports_[here];
  const std::uint32_t far_buffer = device_of(ports_[there]).buffer_bytes;
  port.peer = static_cast<int>(there);
  port.link = &link;
  port.lanes = std::min(device_of(port).lanes, device_of(ports_[there]).lanes);
  port.queue.resize(kVl15 + 1);
  port.heads.resize(port.lanes);
  if (link.control != Control::kCredits) return port.groups.resize(port.lanes);
  port.input.resize(port.lanes);
  for (ReceiveLane& lane : port.input) lane.capacity = device_of(port).buffer_bytes / 64;
  // All space of the far end is free at first, and known since link initialisation.
  port.limit.assign(port.lanes, far_buffer / 64 % kCounter);
  port.sent.assign(port.lanes, 0);
}

// Reserves and headrooms are taken from the memory that the ports share, or from each lane's own.
void ClockedFabric::build_memory(std::uint32_t d) {
  const DeviceCase& device = fabric_.devices[d];
  const bool shares = device.memory.bytes > 0;
  PacketMemory memory;
  if (shares) {
    memory.cell_bytes = device.memory.cell_bytes;
    memory.free_pool = device.memory.bytes / memory.cell_bytes;
  }
  for (std::uint32_t p = first_[d]; p < first_[d] + device.ports; ++p) {
    ReferencePort& port = ports_[p];
    for (std::size_t lane = 0; lane < port.groups.size(); ++lane) {
      MemoryGroup& group = port.groups[lane];
      group.is_lossless = port.link->control == Control::kPauses && (port.link->lossless_lanes >> lane & 1) != 0;
      if (group.is_lossless) group.headroom = memory.cells(port.link->headroom_bytes);
      if (!shares) {
        group.reserve = device.buffer_bytes / memory.cell_bytes - group.headroom;
        continue;
      }
      group.reserve = memory.cells(device.memory.reserved_bytes);
      group.resume_offset = memory.cells(device.memory.resume_offset_bytes);
      group.alpha = group.is_lossless ? device.memory.lossless_alpha : device.memory.lossy_alpha;
      memory.free_pool -= group.reserve + group.headroom;
    }
  }
  memories_.push_back(memory);
}

void ClockedFabric::reset_high(ReferencePort& port) {
  const std::uint32_t limit = device_of(port).high_limit;
  port.high_counter = limit == 0 ? 1 : limit * 1024;  // 4-byte units
}

void ClockedFabric::wait_for_byte(ReferencePort& port) {
  port.next_byte = port.since + edge_time(port.edges + 1, port.link->rate.ps, port.link->rate.per_bytes);
}

void ClockedFabric::begin(ReferencePort& port, const Unit& unit) {
  port.unit = unit;
  port.sending = true;
  if (port.last_edge != now_) {  // the byte clock starts anew after a gap
    port.since = now_;
    port.edges = 0;
  }
  wait_for_byte(port);
}

// 1.
void ClockedFabric::bytes() {
  for (ReferencePort& port : ports_) {
    if (port.next_byte != now_) continue;
    ++port.edges;
    ++port.unit.position;
    port.last_edge = now_;
    const Unit& unit = port.unit;
    // Other bytes have no effect.
    const bool matters = unit.position == unit.head_at || unit.position == unit.tail_at || unit.position == unit.length;
    if (matters) port.flying.push_back({now_ + port.link->propagation_ps, unit});
    if (unit.kind == Unit::Kind::kData && unit.position == unit.tail_at && unit.waiting.buffer_port >= 0) {
      ReferencePort& buffer = ports_[static_cast<std::size_t>(unit.waiting.buffer_port)];
      --buffer.being_read;
      buffer.frees.push_back({now_, unit.waiting.buffer_lane, fabric_.packets[unit.waiting.packet].wire_bytes});
    }
    port.sending = unit.position < unit.length;
    port.next_byte = kNo;
    if (port.sending) wait_for_byte(port);
  }
  for (std::uint32_t in = 0; in < ports_.size(); ++in) {
    if (ports_[in].peer < 0) continue;
    std::deque<FlyingByte>& flying = ports_[static_cast<std::size_t>(ports_[in].peer)].flying;
    while (!flying.empty() && flying.front().arrives == now_) {
      byte_comes(in, flying.front().unit);
      flying.pop_front();
    }
  }
}

// 4.
void ClockedFabric::start_data(std::uint32_t p) {
  ReferencePort& port = ports_[p];
  if (port.link == nullptr || port.sending || is_idle(port)) return;
  if (is_frame_due(port, now_ - 1)) return note(port.groups.empty() ? Occasion::kUpdateFirst : Occasion::kFrameFirst);
  CanSend can_send{};
  for (std::uint32_t n = 0; n < port.lanes; ++n) can_send[n] = may_go(port, n);
  const bool is_management = !port.queue[kVl15].empty() && is_readable(port, port.queue[kVl15].front());
  const auto competing = std::count(can_send.begin(), can_send.end(), true);
  if (competing > 0 && is_management) note(Occasion::kManagement);
  if (competing > 1 && !is_management) note(Occasion::kLanesCompete);
  const int chosen = is_management ? static_cast<int>(kVl15) : arbitrate(port, can_send);
  if (chosen < 0) return;
  const auto lane = static_cast<std::uint32_t>(chosen);
  const Waiting waiting = port.queue[lane].front();
  port.queue[lane].pop_front();
  const std::uint32_t bytes = fabric_.packets[waiting.packet].wire_bytes;
  mark(p, lane, waiting.packet, false);
  if (!is_management) port.heads[lane].drops = 0;
  if (!is_management && port.groups.empty()) port.sent[lane] = (port.sent[lane] + blocks(bytes)) % kCounter;
  if (waiting.buffer_port >= 0) ++ports_[static_cast<std::size_t>(waiting.buffer_port)].being_read;
  log(p, Moment::kStart, waiting.packet);
  Unit unit;
  unit.kind = Unit::Kind::kData;
  unit.waiting = waiting;
  unit.lane = lane;
  unit.length = port.link->bytes_before + bytes + port.link->bytes_after;
  unit.head_at = port.link->bytes_before + port.link->header_bytes;
  unit.tail_at = port.link->bytes_before + bytes;
  begin(port, unit);
}

void ClockedFabric::note_heads(ReferencePort& port) {
  for (std::uint32_t n = 0; port.link != nullptr && n < port.lanes; ++n) {
    HeadOfQueue& head = port.heads[n];
    const std::uint32_t first = port.queue[n].empty() ? ~0u : port.queue[n].front().packet;
    if (head.packet == first) continue;
    head.packet = first;
    head.since = now_;
  }
}

bool ClockedFabric::drop_heads(std::uint32_t p) {
  ReferencePort& port = ports_[p];
  const DeviceCase& device = device_of(port);
  if (!device.is_switch) return false;
  bool any = false;
  for (std::uint32_t n = 0; n < port.lanes; ++n) {
    HeadOfQueue& head = port.heads[n];
    while (!port.queue[n].empty()) {
      const bool stalled = now_ < head.stalled_until;
      const bool waited = device.head_lifetime_ps > 0 && now_ == head.since + device.head_lifetime_ps;
      const std::int64_t arrived = port.queue[n].front().arrived;
      const bool old = device.lifetime_ps > 0 && now_ >= arrived + device.lifetime_ps;
      if (!stalled && !waited && !old) break;
      note(stalled ? Occasion::kStalled : waited ? Occasion::kHeadDropped : Occasion::kTooOld);
      const Waiting lost = port.queue[n].front();
      port.queue[n].pop_front();
      log_drop(p, lost.packet, stalled || waited ? DropReason::kHeadLifetime : DropReason::kSwitchLifetime);
      ReferencePort& buffer = ports_[static_cast<std::size_t>(lost.buffer_port)];
      give_space(buffer, lost.buffer_lane, fabric_.packets[lost.packet].wire_bytes);
      fire_timers(buffer);
      if (!stalled && waited && ++head.drops == device.stall_count) {
        head.stalled_until = now_ + 8 * device.head_lifetime_ps;
        head.drops = 0;
      }
      note_heads(port);
      any = true;
    }
  }
  return any;
}

bool ClockedFabric::may_go(const ReferencePort& port, std::uint32_t lane) {
  if (port.queue[lane].empty() || now_ < port.heads[lane].stalled_until) return false;
  const Waiting& first = port.queue[lane].front();
  const std::int64_t lifetime = device_of(port).lifetime_ps;
  if (first.buffer_port >= 0 && lifetime > 0 && now_ > first.arrived + lifetime) return false;
  if (!is_readable(port, first)) {
    note(Occasion::kCrossbarBusy);
    return false;
  }
  if (port.link->control == Control::kNone) return true;
  if (port.link->control == Control::kPauses) {
    const bool is_paused = lane < kPriorities && now_ < port.paused_until[lane];
    if (is_paused) note(Occasion::kPaused);
    return !is_paused;
  }
  const std::uint32_t after = port.sent[lane] + blocks(fabric_.packets[first.packet].wire_bytes);
  const bool has_credits = (port.limit[lane] + 2 * kCounter - after) % kCounter <= 2048;
  if (!has_credits) note(Occasion::kCreditsMissing);
  return has_credits;
}

// The crossbar can read one more packet out of its buffer.
bool ClockedFabric::is_readable(const ReferencePort& port, const Waiting& first) const {
  const std::uint32_t speedup = device_of(port).crossbar_speedup;
  return speedup == 0 || first.buffer_port < 0 || ports_[static_cast<std::size_t>(first.buffer_port)].being_read < speedup;
}

int ClockedFabric::arbitrate(ReferencePort& port, const CanSend& can_send) {
  const std::uint32_t limit = device_of(port).high_limit;
  int lane = port.high_counter > 0 ? port.high.inspect(can_send) : -1;
  ReferenceTable* table = &port.high;
  if (lane < 0) {
    const bool limited = port.high_counter <= 0;
    reset_high(port);
    lane = port.low.inspect(can_send);
    table = &port.low;
    if (limited && lane >= 0 && ReferenceTable(port.high).inspect(can_send) >= 0) note(Occasion::kHighLimitReached);
  }
  if (lane < 0) {
    lane = port.high.inspect(can_send);
    table = &port.high;
  }
  if (lane < 0) return -1;
  const std::uint32_t number = port.queue[static_cast<std::size_t>(lane)].front().packet;
  const std::int64_t length = (fabric_.packets[number].wire_bytes - 2) / 4;  // PktLen of the LRH
  table->available -= length;
  if (table == &port.high && limit != 255) port.high_counter -= length;
  return lane;
}

// 5.
void ClockedFabric::hand_over() {
  for (std::uint32_t p = 0; p < ports_.size(); ++p) {
    ReferencePort& port = ports_[p];
    bool any = false;
    while (!port.outgoing.empty() && fabric_.packets[port.outgoing.front()].send_ps == now_) {
      const std::uint32_t number = port.outgoing.front();
      port.outgoing.pop_front();
      any = true;
      const bool alone = is_idle(port);
      port.queue[lane_at(port, number)].push_back({number, -1, 0, 0});
      if (alone) start_data(p);
    }
    if (any) start_data(p);
  }
}

bool ClockedFabric::is_idle(const ReferencePort& port) {
  return std::all_of(port.queue.begin(), port.queue.end(), [](const auto& queue) { return queue.empty(); });
}

std::int64_t ClockedFabric::next_edge() const {
  std::int64_t next = kNo;
  const auto consider = [&](std::int64_t t) {
    if (t > now_) next = std::min(next, t);
  };
  for (const ReferencePort& port : ports_) {
    if (port.link == nullptr) continue;
    consider(port.next_byte);
    if (!port.flying.empty()) consider(port.flying.front().arrives);
    const std::int64_t lifetime = device_of(port).head_lifetime_ps;
    if (lifetime > 0) {
      for (const HeadOfQueue& head : port.heads) {
        if (head.packet != ~0u) consider(head.since + lifetime);
      }
    }
    if (const std::int64_t age = device_of(port).lifetime_ps; age > 0) {
      for (const auto& queue : port.queue) {
        if (!queue.empty() && queue.front().buffer_port >= 0) consider(queue.front().arrived + age);
      }
    }
    for (const SpaceFreed& free : port.frees) consider(free.when);
    if (port.link->control == Control::kPauses) {
      consider(port.repeat_due);
      for (const std::int64_t until : port.paused_until) consider(until);
      if (!port.coming_pauses.empty()) consider(port.coming_pauses.front().first);
    }
    if (port.link->control != Control::kCredits) continue;
    const std::int64_t interval = port.link->credit_interval_ps;
    if (interval > 0) consider((now_ / interval + 1) * interval);
    if (port.link->refresh_interval_ps == 0) continue;
    for (const ReceiveLane& lane : port.input) consider(lane.last_update + port.link->refresh_interval_ps);
  }
  for (const ReferencePort& port : ports_) {
    if (!port.moving.empty()) consider(tick_[port.device]);
    if (!port.outgoing.empty()) consider(fabric_.packets[port.outgoing.front()].send_ps);
  }
  return next;
}

}  // namespace clocked

std::vector<Passing> run_reference(const FabricCase& fabric, Occasions& met) {
  return clocked::ClockedFabric(fabric, met).run();
}

}  // namespace verbatim::timing
