// The clocked reference: links, credits, lane arbitration and switches, stepped byte by byte and cycle by cycle with
// nothing clever. It shares no code with sim/fabric. Time goes from one edge to the next: of a line's byte clock, of a
// switch's core clock, of a timer. At each edge, in this order:
//
//   1. bytes leave lines, and bytes come out at the far ends;
//   2. switches whose clock ticks look packets up and move them through their pipelines;
//   3. buffer space becomes free, timers of flow control fire;
//   4. idle lines start a data packet, unless a flow control packet has been due since before; then first packets that
//      have waited too long are dropped, which may let others start;
//   5. adapters are handed packets, the first of which may start at once;
//   6. lines that are still idle start a flow control packet that is due.
#include <algorithm>
#include <set>

#include "tests/timing/reference/clocked_port.h"

namespace verbatim::timing {
namespace {

using namespace clocked;

class ClockedFabric {
 public:
  ClockedFabric(const FabricCase& fabric, Occasions& met) : fabric_(fabric), met_(met) { build(); }

  std::vector<Passing> run() {
    std::int64_t next = 0;
    while (arrived_ + dropped_ < fabric_.packets.size() && next != kNo && next < 20'000'000'000) {
      now_ = next;
      bytes();
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
      for (std::uint32_t p = 0; p < ports_.size(); ++p) start_flow_control(p);
      for (ReferencePort& port : ports_) {
        if (!port.sending) reset_high(port);
      }
      next = next_edge();
    }
    std::sort(log_.begin(), log_.end());
    return log_;
  }

 private:
  void build() {
    for (std::uint32_t d = 0; d < fabric_.devices.size(); ++d) {
      const DeviceCase& device = fabric_.devices[d];
      for (std::uint32_t i = 0; i < device.ports; ++i) {
        ReferencePort port;
        port.device = d;
        port.high.entries = device.high;
        port.low.entries = device.low;
        port.high.restart();
        port.low.restart();
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
      const std::uint32_t a = fabric_.first_port(link.device[0]) + link.port[0] - 1;
      const std::uint32_t b = fabric_.first_port(link.device[1]) + link.port[1] - 1;
      const std::uint32_t lanes =
          std::min(fabric_.devices[link.device[0]].lanes, fabric_.devices[link.device[1]].lanes);
      for (const auto& [here, there] : {std::pair(a, b), std::pair(b, a)}) {
        ReferencePort& port = ports_[here];
        port.peer = static_cast<int>(there);
        port.link = &link;
        port.lanes = lanes;
        port.queue.resize(kVl15 + 1);
        port.heads.resize(lanes);
        port.input.resize(lanes);
        for (ReceiveLane& lane : port.input) lane.capacity = fabric_.devices[port.device].buffer_bytes / 64;
        // Link initialisation has told the free space of the far end.
        port.limit.assign(lanes, fabric_.devices[ports_[there].device].buffer_bytes / 64 % kCounter);
        port.sent.assign(lanes, 0);
      }
    }
  }

  void reset_high(ReferencePort& port) {
    const std::uint32_t limit = fabric_.devices[port.device].high_limit;
    port.high_counter = limit == 0 ? 1 : limit * 1024;  // 4-byte units
  }

  void note(Occasion occasion) { met_.set(static_cast<std::size_t>(occasion)); }

  void log(std::uint32_t port, Moment moment, std::uint32_t packet) {
    log_.push_back({port, now_, moment, packet});
  }

  static void wait_for_byte(ReferencePort& port) {
    port.next_byte = port.since + edge_time(port.edges + 1, port.link->rate.ps, port.link->rate.per_bytes);
  }

  void begin(ReferencePort& port, const Unit& unit) {
    port.unit = unit;
    port.sending = true;
    if (port.last_edge != now_) {  // the byte clock starts anew after a gap
      port.since = now_;
      port.edges = 0;
    }
    wait_for_byte(port);
  }

  // 1.
  void bytes() {
    for (ReferencePort& port : ports_) {
      if (port.next_byte != now_) continue;
      ++port.edges;
      ++port.unit.position;
      port.last_edge = now_;
      const Unit& unit = port.unit;
      // On the other bytes nobody acts.
      const bool matters = unit.position == unit.head_at || unit.position == unit.tail_at || unit.position == unit.length;
      if (matters) port.flying.push_back({now_ + port.link->propagation_ps, unit});
      if (unit.is_data && unit.position == unit.tail_at && unit.waiting.buffer_port >= 0) {
        ReferencePort& buffer = ports_[static_cast<std::size_t>(unit.waiting.buffer_port)];
        --buffer.being_read;
        buffer.frees.push_back(
            {now_, {unit.waiting.buffer_lane, blocks(fabric_.packets[unit.waiting.packet].wire_bytes)}});
      }
      port.sending = unit.position < unit.length;
      port.next_byte = kNo;
      if (port.sending) wait_for_byte(port);
    }
    for (ReferencePort& port : ports_) {
      while (!port.flying.empty() && port.flying.front().arrives == now_) {
        byte_comes(static_cast<std::uint32_t>(port.peer), port.flying.front().unit);
        port.flying.pop_front();
      }
    }
  }

  void byte_comes(std::uint32_t in, const Unit& unit) {
    ReferencePort& port = ports_[in];
    if (!unit.is_data) {
      if (unit.position == unit.length) port.limit[unit.lane] = unit.credit_limit;
      return;
    }
    const std::uint32_t number = unit.waiting.packet;
    const PacketCase& packet = fabric_.packets[number];
    const bool at_switch = fabric_.devices[port.device].is_switch;
    if (unit.position == unit.head_at) {
      log(in, Moment::kHead, number);
      if (!take_space(port, unit.lane, blocks(packet.wire_bytes))) {
        if (unit.lane != kVl15) log(in, Moment::kHead, ~0u);  // never in the event model: a disagreement
        note(Occasion::kManagementLost);
        overflowed_.insert({in, number});
        log(in, Moment::kDrop, number);
        ++dropped_;
        return;
      }
      if (at_switch) port.moving.push_back({number, unit.lane, now_});
      if (at_switch && lane_towards(port.device, number) == kDropped) {
        note(Occasion::kRefused);
        refused_.insert({in, number});
        log(static_cast<std::uint32_t>(ports_.size()) + port.device, Moment::kDrop, number);
        ++dropped_;
      }
    }
    if (unit.position == unit.tail_at && !overflowed_.contains({in, number})) {
      for (Moving& moving : port.moving) {
        if (moving.packet == number) moving.tail_is_in = true;
      }
      if (refused_.contains({in, number})) port.frees.push_back({now_, {unit.lane, blocks(packet.wire_bytes)}});
      if (at_switch) return;
      log(in, Moment::kTail, number);
      port.frees.push_back({now_ + packet.keep_ps, {unit.lane, blocks(packet.wire_bytes)}});
      ++arrived_;
    }
  }

  bool take_space(ReferencePort& port, std::uint32_t number, std::uint32_t count) const {
    if (number == kVl15) {
      const std::uint32_t capacity = fabric_.devices[port.device].vl15_buffer_bytes / 64;
      if (fabric_.devices[port.device].vl15_buffer_bytes > 0 && port.vl15_used + count > capacity) return false;
      port.vl15_used += count;
      return true;
    }
    ReceiveLane& lane = port.input[number];
    lane.received = (lane.received + count) % kCounter;
    lane.used += count;
    return lane.used <= lane.capacity;
  }

  static void give_space(ReferencePort& port, std::uint32_t number, std::uint32_t count) {
    if (number == kVl15) {
      port.vl15_used -= count;
      return;
    }
    port.input[number].used -= count;
    port.input[number].freed += count;
  }

  // Where a packet goes in a switch, and by which lane.
  std::uint32_t port_towards(std::uint32_t d, std::uint32_t packet) const {
    return first_[d] + fabric_.devices[d].output[fabric_.packets[packet].to] - 1;
  }
  std::uint32_t lane_towards(std::uint32_t d, std::uint32_t packet) const {
    return lane_at(ports_[port_towards(d, packet)], packet);
  }
  std::uint32_t lane_at(const ReferencePort& out, std::uint32_t packet) const {
    if (fabric_.packets[packet].management) return kVl15;
    const std::uint32_t lane = fabric_.devices[out.device].lane_of_level[fabric_.packets[packet].level];
    return lane == 15 ? kDropped : lane % out.lanes;
  }

  // 2.
  void switches() {
    for (std::uint32_t d = 0; d < fabric_.devices.size(); ++d) {
      const DeviceCase& device = fabric_.devices[d];
      if (!device.is_switch) continue;
      while (tick_[d] < now_) count_cycle(d);  // it was idle
      if (tick_[d] != now_) continue;
      std::vector<std::pair<std::pair<std::int64_t, std::uint32_t>, Moving>> done;
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

  void count_cycle(std::uint32_t d) {
    ++cycle_[d];
    tick_[d] = edge_time(cycle_[d], 1'000'000'000'000, fabric_.devices[d].clock_hz);
  }

  void tick_input(std::uint32_t d, std::uint32_t p,
                  std::vector<std::pair<std::pair<std::int64_t, std::uint32_t>, Moving>>* done) {
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

  // 3.
  void free_space() {
    for (ReferencePort& port : ports_) {
      if (port.link == nullptr) continue;
      for (std::size_t i = 0; i < port.frees.size();) {
        if (port.frees[i].first != now_) {
          ++i;
          continue;
        }
        const auto [number, count] = port.frees[i].second;
        give_space(port, number, count);
        port.frees.erase(port.frees.begin() + static_cast<std::ptrdiff_t>(i));
      }
      fire_timers(port);
    }
  }

  void fire_timers(ReferencePort& port) {
    const std::int64_t interval = port.link->credit_interval_ps, refresh = port.link->refresh_interval_ps;
    const bool tick = interval == 0 || now_ % interval == 0;
    for (ReceiveLane& lane : port.input) {
      if (lane.due_since != kNo) continue;
      if (tick && lane.freed != lane.told) lane.due_since = now_;
      if (refresh > 0 && now_ == lane.last_update + refresh) lane.due_since = now_;
    }
  }

  // 4.
  void start_data(std::uint32_t p) {
    ReferencePort& port = ports_[p];
    if (port.link == nullptr || port.sending || is_idle(port)) return;
    for (const ReceiveLane& lane : port.input) {
      if (lane.due_since >= now_) continue;
      note(Occasion::kUpdateFirst);
      return;  // a flow control packet goes first
    }
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
    if (!is_management) {
      port.heads[lane].drops = 0;
      port.sent[lane] = (port.sent[lane] + blocks(bytes)) % kCounter;
    }
    if (waiting.buffer_port >= 0) ++ports_[static_cast<std::size_t>(waiting.buffer_port)].being_read;
    log(p, Moment::kStart, waiting.packet);
    Unit unit;
    unit.is_data = true;
    unit.waiting = waiting;
    unit.lane = lane;
    unit.length = port.link->bytes_before + bytes + port.link->bytes_after;
    unit.head_at = port.link->bytes_before + 8;
    unit.tail_at = port.link->bytes_before + bytes;
    begin(port, unit);
  }

  void note_heads(ReferencePort& port) {
    for (std::uint32_t n = 0; port.link != nullptr && n < port.lanes; ++n) {
      HeadOfQueue& head = port.heads[n];
      const std::uint32_t first = port.queue[n].empty() ? ~0u : port.queue[n].front().packet;
      if (head.packet == first) continue;
      head.packet = first;
      head.since = now_;
    }
  }

  bool drop_heads(std::uint32_t p) {
    ReferencePort& port = ports_[p];
    const DeviceCase& device = fabric_.devices[port.device];
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
        log(p, Moment::kDrop, lost.packet);
        ++dropped_;
        ReferencePort& buffer = ports_[static_cast<std::size_t>(lost.buffer_port)];
        const std::uint32_t count = blocks(fabric_.packets[lost.packet].wire_bytes);
        give_space(buffer, lost.buffer_lane, count);
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

  bool may_go(const ReferencePort& port, std::uint32_t lane) {
    if (port.queue[lane].empty() || now_ < port.heads[lane].stalled_until) return false;
    const Waiting& first = port.queue[lane].front();
    const std::int64_t lifetime = fabric_.devices[port.device].lifetime_ps;
    if (first.buffer_port >= 0 && lifetime > 0 && now_ > first.arrived + lifetime) return false;
    if (!is_readable(port, first)) {
      note(Occasion::kCrossbarBusy);
      return false;
    }
    const std::uint32_t after = port.sent[lane] + blocks(fabric_.packets[first.packet].wire_bytes);
    const bool has_credits = (port.limit[lane] + 2 * kCounter - after) % kCounter <= 2048;
    if (!has_credits) note(Occasion::kCreditsMissing);
    return has_credits;
  }

  // The crossbar can read one more packet out of its buffer.
  bool is_readable(const ReferencePort& port, const Waiting& first) const {
    const std::uint32_t speedup = fabric_.devices[port.device].crossbar_speedup;
    return speedup == 0 || first.buffer_port < 0 ||
           ports_[static_cast<std::size_t>(first.buffer_port)].being_read < speedup;
  }

  int arbitrate(ReferencePort& port, const CanSend& can_send) {
    const std::uint32_t limit = fabric_.devices[port.device].high_limit;
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
  void hand_over() {
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

  static bool is_idle(const ReferencePort& port) {
    return std::all_of(port.queue.begin(), port.queue.end(), [](const auto& queue) { return queue.empty(); });
  }

  // 6.
  void start_flow_control(std::uint32_t p) {
    ReferencePort& port = ports_[p];
    if (port.link == nullptr || port.sending) return;
    for (std::uint32_t n = 0; n < port.lanes; ++n) {
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
      return;
    }
  }

  std::int64_t next_edge() const {
    std::int64_t next = kNo;
    const auto consider = [&](std::int64_t t) {
      if (t > now_) next = std::min(next, t);
    };
    for (const ReferencePort& port : ports_) {
      if (port.link == nullptr) continue;
      consider(port.next_byte);
      if (!port.flying.empty()) consider(port.flying.front().arrives);
      const std::int64_t lifetime = fabric_.devices[port.device].head_lifetime_ps;
      if (lifetime > 0) {
        for (const HeadOfQueue& head : port.heads) {
          if (head.packet != ~0u) consider(head.since + lifetime);
        }
      }
      if (const std::int64_t age = fabric_.devices[port.device].lifetime_ps; age > 0) {
        for (const auto& queue : port.queue) {
          if (!queue.empty() && queue.front().buffer_port >= 0) consider(queue.front().arrived + age);
        }
      }
      for (const auto& free : port.frees) consider(free.first);
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

  const FabricCase& fabric_;
  Occasions& met_;
  std::vector<ReferencePort> ports_;
  std::vector<std::uint32_t> first_;  // port of each device
  std::vector<std::uint64_t> cycle_;  // next cycle of each switch's clock
  std::vector<std::int64_t> tick_;    // and its time
  std::vector<Passing> log_;
  // Port and packet that came in by it: no lane leads on; no room for it.
  std::set<std::pair<std::uint32_t, std::uint32_t>> refused_, overflowed_;
  std::size_t arrived_ = 0, dropped_ = 0;
  std::int64_t now_ = 0;
};

}  // namespace

std::vector<Passing> run_reference(const FabricCase& fabric, Occasions& met) { return ClockedFabric(fabric, met).run(); }

}  // namespace verbatim::timing
