// The implementation of light endpoints (`sim/hca/light_endpoint.h`): queue pairs, their turns at the port,
// and the delays of each step.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "sim/core/choice.h"
#include "sim/core/delay_line.h"
#include "sim/core/engine.h"
#include "sim/core/ring.h"
#include "sim/core/trace.h"
#include "sim/fabric/packet_sink.h"
#include "sim/fabric/port.h"
#include "sim/hca/congestion/congestion_point.h"
#include "sim/hca/congestion/pacing_calendar.h"
#include "sim/hca/light/light_delays.h"
#include "sim/hca/light/light_queue_pair.h"
#include "sim/hca/light_endpoint.h"

namespace verbatim::hca {

class LightAdapter final : public LightEndpoint {
 public:
  LightAdapter(Engine& engine, Tracer& tracer, Choices& choices, ComponentId id, const HcaProfile& profile,
                PortAddress address);

  void attach(fabric::Port& port) override;
  fabric::Delivery delivery() const override { return {delays_.receive}; }

  ComponentId component() const override { return id_; }
  const HcaProfile& profile() const override { return profile_; }
  const PortAddress& address() const override { return address_; }
  const CongestionCounters& congestion_counters() const override { return congestion_.counters(); }
  void set_injection(const ib::InjectionSetting& setting) override;
  SourceEnd add_source(WorkSource& source, std::uint32_t depth) override;
  void connect_source(std::uint32_t qpn, const SourcePath& path) override;
  void post_source(std::uint32_t qpn, std::uint32_t count) override;
  void fail() override;

  void receive(fabric::PortNumber in, ib::PacketPtr packet, fabric::ArrivalTimes times) override;
  void prefetch(fabric::PortNumber in, ib::Packet& packet, int step) override;
  void prefetch_room(ib::VirtualLane lane, int step) override;
  void link_changed(fabric::PortNumber port, bool up) override;

  // For queue pairs.
  struct Completion {
    LightQueuePair* qp = nullptr;
    std::uint64_t wr_id = 0;
    std::uint32_t bytes = 0;
    ib::WcStatus status = ib::WcStatus::kSuccess;
    bool is_receive = false;
    Trail trail;
  };
  Engine& engine() { return engine_; }
  Tracer& tracer() { return tracer_; }
  Choices& choices() { return choices_; }
  CongestionPoint& congestion() { return congestion_; }
  // Time of a byte on the port's link; nullopt: no cable.
  std::optional<ByteTime> line() const;
  Instant now() const { return engine_.now(); }
  // The queue pair may have a packet to send.
  void activate(LightQueuePair& qp);
  // Sends an acknowledgement, or a congestion notification.
  void acknowledge(ib::PacketPtr packet);
  void complete(Completion&& completion);
  void drop(const ib::Packet& packet, DropReason reason) const;
  void recover_later(const Action& action, LightQueuePair& qp) { put_off(recoveries_, now(), action, &qp, 0); }

 private:
  struct Doorbell {
    LightQueuePair* qp = nullptr;
    std::uint32_t producer = 0;
    Trail trail;
  };

  void on_doorbell(Doorbell&& doorbell) { doorbell.qp->on_doorbell(doorbell.producer, std::move(doorbell.trail)); }
  void on_completion(Completion&& completion);
  static void on_room(void* self, ib::VirtualLane lane);
  // Appends the queue pair to the list of the lane of its next packet.
  ib::VirtualLane enlist(LightQueuePair& qp);
  // Sends packets of the lane's queue pairs, in turns packet by packet, while the port has room.
  void pump(ib::VirtualLane lane);
  // Sends the next packet of a queue pair that has one. False: its pacer delays the packet.
  bool send_next(LightQueuePair& qp);
  void on_paced();
  void on_recovery();
  void send(ib::PacketPtr packet, Instant ready);
  void deal_with(ib::PacketPtr& owned);
  LightQueuePair* find(std::uint32_t number);

  Engine& engine_;
  Tracer& tracer_;
  Choices& choices_;
  const ComponentId id_;
  const HcaProfile& profile_;
  const LightDelays delays_;
  const PortAddress address_;
  CongestionPoint congestion_;
  fabric::Port* port_ = nullptr;
  bool has_failed_ = false;
  std::uint32_t pumping_ = 0;  // bit n: pump() of lane n is running
  std::deque<LightQueuePair> qps_;           // by number
  std::vector<Ring<LightQueuePair*>> turns_;  // by lane: queue pairs that may have a packet, each once
  DelayLine<Doorbell> doorbells_;
  DelayLine<Completion> completions_;
  PacingCalendar<LightQueuePair*> paced_;  // listed queue pairs that wait for their rate
  RecoveryDelays<LightQueuePair*> recoveries_;
};

}  // namespace verbatim::hca
