// Flow control frames: credits as in IBA 7.9.4, pauses as in IEEE 802.1Qbb.
#include "tests/timing/reference/clocked_fabric.h"

namespace verbatim::timing::clocked {

void ClockedFabric::fire_timers(ReferencePort& port) {
  const std::int64_t interval = port.link->credit_interval_ps, refresh = port.link->refresh_interval_ps;
  const bool tick = interval == 0 || now_ % interval == 0;
  for (ReceiveLane& lane : port.input) {
    if (lane.due_since != kNo) continue;
    if (tick && lane.freed != lane.told) lane.due_since = now_;
    if (refresh > 0 && now_ == lane.last_update + refresh) lane.due_since = now_;
  }
}

// Whether a frame has been due since `since` or longer.
bool ClockedFabric::is_frame_due(const ReferencePort& port, std::int64_t since) const {
  for (const ReceiveLane& lane : port.input) {
    if (lane.due_since <= since) return true;
  }
  return port.frame_due <= since || port.repeat_due <= since;
}

// Step 6.
void ClockedFabric::start_flow_control(std::uint32_t p) {
  ReferencePort& port = ports_[p];
  if (port.link == nullptr || !is_frame_due(port, now_)) return;
  if (port.sending) {
    if (port.frame_due != kNo) note(Occasion::kFrameWaits);
    return;
  }
  if (!start_credits(port)) start_pause(p);
}

bool ClockedFabric::start_credits(ReferencePort& port) {
  for (std::uint32_t n = 0; n < port.input.size(); ++n) {
    ReceiveLane& lane = port.input[n];
    if (lane.due_since == kNo) continue;
    Unit unit;
    unit.lane = n;
    unit.length = port.link->credit_bytes;
    unit.credit_limit = (lane.received + std::min(lane.capacity - lane.used, 2048u)) % kCounter;
    if (lane.told == lane.freed) note(Occasion::kRefreshed);
    lane.told = lane.freed;
    lane.due_since = kNo;
    lane.last_update = now_;
    begin(port, unit);
    return true;
  }
  return false;
}

// A frame has a timer for each lane that is paused and for each whose state has changed; 0 resumes a lane.
void ClockedFabric::start_pause(std::uint32_t p) {
  ReferencePort& port = ports_[p];
  std::uint32_t lanes = 0, paused = 0;
  Unit unit;
  unit.kind = Unit::Kind::kPause;
  unit.tail_at = port.link->bytes_before + kFrameBytes;
  unit.length = unit.tail_at + port.link->bytes_after;
  for (std::uint32_t n = 0; n < kPriorities; ++n) {
    PauseWish& wish = port.wishes[n];
    unit.timers.quanta[n] = PauseTimers::kUnchanged;
    if (!wish.is_paused && !wish.is_news) continue;
    unit.timers.quanta[n] = wish.is_paused ? static_cast<std::int32_t>(port.link->quanta) : 0;
    lanes |= 1u << n;
    if (wish.is_paused) paused |= 1u << n;
    wish.is_news = false;
  }
  if (port.frame_due == kNo) {
    note(Occasion::kPauseRepeated);  // the event model does not record it
  } else {
    log(p, Moment::kPause, lanes, paused);
  }
  const Rate& rate = port.link->rate;
  const std::int64_t pause = edge_time(std::uint64_t{port.link->quanta} * kQuantumBytes, rate.ps, rate.per_bytes);
  port.frame_due = kNo;
  port.repeat_due = paused == 0 ? kNo : now_ + pause / 2;
  begin(port, unit);
}

// Part of step 1. A lane's timer restarts when a frame takes effect.
void ClockedFabric::take_pauses() {
  for (ReferencePort& port : ports_) {
    while (!port.coming_pauses.empty() && port.coming_pauses.front().first == now_) {
      const PauseTimers timers = port.coming_pauses.front().second;
      port.coming_pauses.pop_front();
      for (std::uint32_t n = 0; n < kPriorities; ++n) {
        if (timers.quanta[n] == PauseTimers::kUnchanged) continue;
        const std::uint64_t bytes = static_cast<std::uint64_t>(timers.quanta[n]) * kQuantumBytes;
        port.paused_until[n] = now_ + edge_time(bytes, port.link->rate.ps, port.link->rate.per_bytes);
      }
    }
  }
}

// A group that is full after one of its own arrivals is paused.
void ClockedFabric::judge_arrival(ReferencePort& port, std::uint32_t lane) {
  if (lane == kVl15 || port.groups.empty() || !memories_[port.device].is_full(port.groups[lane])) return;
  PauseWish& wish = port.wishes[lane];
  if (wish.is_paused) return;
  wish.is_paused = wish.is_news = true;
  if (port.frame_due == kNo) port.frame_due = now_;
}

// A group with space again after one of its own departures is resumed.
void ClockedFabric::judge_departures(ReferencePort& port) {
  for (std::uint32_t n = 0; n < port.groups.size() && n < kPriorities; ++n) {
    PauseWish& wish = port.wishes[n];
    const bool has_left = wish.has_left;
    wish.has_left = false;
    if (!has_left || !wish.is_paused) continue;
    const PacketMemory& memory = memories_[port.device];
    const MemoryGroup& group = port.groups[n];
    if (!memory.has_room_again(group)) {
      if (!memory.is_full(group)) note(Occasion::kResumeOffset);
      continue;
    }
    wish.is_paused = false;
    wish.is_news = true;
    if (port.frame_due == kNo) port.frame_due = now_;
  }
}

}  // namespace verbatim::timing::clocked
