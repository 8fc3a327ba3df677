// The clocked reference: links, flow control, lane arbitration and switches, stepped byte by byte and cycle by cycle in
// the simplest manner. It shares no code with sim/fabric. Time advances from edge to edge: of a line's byte clock, of a
// switch's core clock, of a timer. At each edge, in this order:
//
//   1. bytes leave lines, and bytes arrive at the far ends, at one instant in the order of the receiving ports;
//      frames that pause or resume take effect;
//   2. switches whose clock ticks look packets up and move them through their pipelines;
//   3. buffer space becomes free, timers of flow control fire;
//   4. idle lines start a data packet, unless a frame of flow control has been due since before; then first packets
//      that have waited too long are dropped, which may let others start;
//   5. adapters get packets, the first of which may start at once;
//   6. lanes that a packet has left at this instant are resumed if there is room; lines that are still idle start a
//      frame of flow control that is due.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "sim/core/rng.h"
#include "sim/ib/drop_reason.h"
#include "tests/timing/reference/clocked_port.h"

namespace verbatim::timing::clocked {

class ClockedFabric {
 public:
  ClockedFabric(const FabricCase& fabric, Occasions& met) : fabric_(fabric), met_(met) { build(); }

  std::vector<Passing> run();

 private:
  using DropReason = ib::DropReason;

  void build();
  void join(std::uint32_t here, std::uint32_t there, const LinkCase& link);
  void build_memory(std::uint32_t device);
  void note(Occasion occasion) { met_.set(static_cast<std::size_t>(occasion)); }
  void log(std::uint32_t port, Moment moment, std::uint32_t packet, std::uint32_t detail = 0) {
    log_.push_back({port, now_, moment, packet, detail});
  }
  void log_drop(std::uint32_t port, std::uint32_t packet, DropReason reason) {
    log(port, Moment::kDrop, packet, static_cast<std::uint32_t>(reason));
    ++dropped_;
  }
  bool is_at_rest() const;
  std::int64_t next_edge() const;
  const DeviceCase& device_of(const ReferencePort& port) const { return fabric_.devices[port.device]; }

  // Lines.
  static void wait_for_byte(ReferencePort& port);
  void begin(ReferencePort& port, const Unit& unit);
  void bytes();
  void start_data(std::uint32_t p);
  bool may_go(const ReferencePort& port, std::uint32_t lane);
  bool is_readable(const ReferencePort& port, const Waiting& first) const;
  int arbitrate(ReferencePort& port, const CanSend& can_send);
  void reset_high(ReferencePort& port);
  void note_heads(ReferencePort& port);
  bool drop_heads(std::uint32_t p);
  void hand_over();
  static bool is_idle(const ReferencePort& port);

  // Frames of flow control.
  void fire_timers(ReferencePort& port);
  bool is_frame_due(const ReferencePort& port, std::int64_t since) const;
  void start_flow_control(std::uint32_t p);
  bool start_credits(ReferencePort& port);
  void start_pause(std::uint32_t p);
  void take_pauses();
  void judge_arrival(ReferencePort& port, std::uint32_t lane);
  void judge_departures(ReferencePort& port);

  // Arrivals.
  void byte_comes(std::uint32_t in, const Unit& unit);
  void head_comes(std::uint32_t in, std::uint32_t number, std::uint32_t lane);
  void tail_comes(std::uint32_t in, std::uint32_t number, std::uint32_t lane);
  void refuse(std::uint32_t in, std::uint32_t number, DropReason reason);
  bool take_space(ReferencePort& port, std::uint32_t lane, std::uint32_t number);
  void give_space(ReferencePort& port, std::uint32_t lane, std::uint32_t wire_bytes);
  void free_space();
  std::uint32_t arrival_lane(const ReferencePort& in, std::uint32_t number, std::uint32_t sent_on) const;

  // Switches.
  std::uint32_t port_towards(std::uint32_t d, std::uint32_t packet) const;
  std::uint32_t lane_at(const ReferencePort& out, std::uint32_t packet) const;
  void switches();
  void count_cycle(std::uint32_t d);
  using Done = std::vector<std::pair<std::pair<std::int64_t, std::uint32_t>, Moving>>;
  void tick_input(std::uint32_t d, std::uint32_t p, Done* done);
  std::uint64_t waiting_bytes(std::uint32_t out, std::uint32_t lane) const;
  bool fits_output(const ReferencePort& in, std::uint32_t arrived_on, std::uint32_t number);
  void mark(std::uint32_t out, std::uint32_t lane, std::uint32_t number, bool at_enqueue);

  const FabricCase& fabric_;
  Occasions& met_;
  std::vector<ReferencePort> ports_;
  std::vector<PacketMemory> memories_;  // of each device
  std::vector<Rng> chances_;            // of each port's marks
  std::vector<std::uint32_t> first_;    // port of each device
  std::vector<std::uint64_t> cycle_;    // next cycle of each switch's clock
  std::vector<std::int64_t> tick_;      // and its time
  std::vector<Passing> log_;
  // Port and arriving packet: it is not forwarded; there is no room for it.
  std::set<std::pair<std::uint32_t, std::uint32_t>> refused_, overflowed_;
  std::set<std::uint32_t> marked_;  // packets
  std::size_t arrived_ = 0, dropped_ = 0;
  std::int64_t now_ = 0;
};

}  // namespace verbatim::timing::clocked
