// A queue pair of a light endpoint: requester and responder (transport/) of a work source, without rings and
// memory. Actions are executed at once or after the adapter's delays.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "sim/hca/congestion/pacer.h"
#include "sim/hca/queues/source_side.h"
#include "sim/hca/queues/work_queue.h"
#include "sim/hca/stages/kept_packets.h"
#include "sim/hca/stages/recovery_delays.h"
#include "sim/hca/stages/transport_timers.h"
#include "sim/hca/transport/connection.h"
#include "sim/hca/transport/local_operations.h"
#include "sim/hca/transport/requester.h"
#include "sim/hca/transport/responder.h"
#include "sim/hca/transport/responder_surroundings.h"
#include "sim/hca/transport/response_queue.h"

namespace verbatim::hca {

class LightAdapter;

class LightQueuePair final : public Connection,
                             private LocalOperations,
                             private ResponderSurroundings,
                             private TransportTimers::Listener {
 public:
  // `depth`: maximum number of posted, incomplete requests.
  LightQueuePair(LightAdapter& adapter, std::uint32_t number, WorkSource& source, std::uint32_t depth);

  WorkSource& source() const { return side_.source; }
  SourceEnd end() const { return {number, side_.key}; }
  // From RESET to RTS.
  void connect(const SourcePath& path);

  // The source announces `count` more requests. Returns the producer number of the doorbell.
  std::uint32_t announce(std::uint32_t count);
  void on_doorbell(std::uint32_t producer, Trail trail);

  // Processes an undamaged packet for this queue pair whose last byte has arrived. Moves from `packet` if it
  // is kept (behind a gap).
  void receive(ib::PacketPtr& packet, const ib::OpcodeInfo& operation);
  // A delayed step of recovery is due.
  void recover(const PutOff<LightQueuePair*>& step);
  // The adapter has failed: no timer runs.
  void stop();

  // For the adapter's scheduling of packets. Responses and requests of one queue pair alternate.
  bool has_packet() const { return responses_.has_packet() || requester_.has_packet(); }
  ib::ServiceLevel next_service_level() const {
    return is_response_next() ? service_level() : requester_.next_service_level();
  }
  // Returns the next packet. `handed_over_at` maps its payload's bytes to the time of its hand-over to the
  // port.
  template <class HandedOverAt>
  ib::PacketPtr take_packet(Instant now, HandedOverAt handed_over_at);

  // Time of the next check if the pacer, which must exist, delays the next packet; kNever: its window is full, and
  // an acknowledgement activates the queue pair. nullopt: the packet may be sent.
  std::optional<Instant> put_off_until();
  // Creates or removes the pacer when the queue pair is connected or port settings have changed.
  void renew_pacer();

  std::unique_ptr<Pacer> pacer;  // null: its rate is not limited
  bool is_listed = false;  // in the adapter's list, or in its calendar
  Instant gathers_since{};  // start of the gather of its next packet's payload
  Instant handed_over{};    // hand-over of its last packet to the port; a shorter one does not overtake it

 private:
  bool is_response_next() const { return responses_.has_packet() && (!was_response_ || !requester_.has_packet()); }
  void execute(Actions& actions, const ib::Packet* packet, Instant from);
  void execute(Actions& actions, const ib::Packet* packet = nullptr);
  void fetch(std::uint32_t first, std::uint32_t count);
  void complete(FinishedRequest&& finished);
  void complete_receive(const FinishedReceive& received, Trail trail);
  void acknowledge(const Action& action, Trail cause);
  void to_responder(ib::PacketPtr& packet);
  // True: the packet must be kept, because earlier ones are missing.
  bool process_request(ib::Packet& packet);
  void drop_kept(DropReason reason);
  void to_requester(ib::PacketPtr& packet);
  // True: the packet must be kept, because an earlier response is missing.
  bool process_answer(const ib::Packet& packet);
  // If the requester has gone back: restarts the gather of the next packet now.
  void restart_gather_after_go_back();
  void on_notification(const ib::Packet& packet);
  void on_marked(const ib::Packet& packet, const ib::OpcodeInfo& operation);
  void on_backward_mark(const ib::Packet& packet);
  // Lets the pacer check its window for the next packet.
  void judge_window();
  void on_paced(const ib::Packet& packet, Instant now);
  void on_answer(const ib::Packet& packet);
  void set_state(ib::QpState to);
  void enter_error();
  void on_ack_timeout() override;
  void on_rnr_timeout() override;

  ib::WcStatus execute_local(const SendWork&) override { CHECK(false); }  // sources make no such requests
  std::optional<host::ProgramAddress> check_remote(const Ref<SharedReceiveQueue>* target, std::uint32_t rkey, std::uint64_t va,
                                                   std::uint32_t length, std::uint32_t access) override;
  bool invalidate(std::uint32_t) override { return false; }
  const Ref<SharedReceiveQueue>& target_ref() const override;
  void set_target(const Ref<SharedReceiveQueue>&) override {}
  Ref<SharedReceiveQueue> find_target(std::uint32_t) const override { return {}; }
  std::uint32_t unused_receives() const override;
  std::uint32_t placed_bytes(const ib::Packet&) const override { CHECK(false); }  // there are no raw frames

  LightAdapter& adapter_;
  SourceSide side_;
  WorkQueue queue_;  // numbers only, without a ring
  Requester requester_;
  Responder responder_;
  ResponseQueue responses_;
  TransportTimers timers_;
  KeptPackets<ib::PacketPtr> kept_, kept_answers_;
  bool was_response_ = false;  // the last packet was a response
  std::uint32_t epoch_ = 0;    // last known epoch of the requester
};

template <class HandedOverAt>
ib::PacketPtr LightQueuePair::take_packet(Instant now, HandedOverAt handed_over_at) {
  Actions made;
  was_response_ = is_response_next();
  Outgoing outgoing = was_response_ ? responses_.next_packet(now, made) : requester_.next_packet(now, made);
  if (pacer != nullptr) [[unlikely]] {
    if (!was_response_ && pacer->wants_acknowledgements()) outgoing.packet = pacer->prepare(std::move(outgoing.packet));
    on_paced(*outgoing.packet, now);
  }
  execute(made);
  const Instant when = handed_over_at(outgoing.packet->payload.length);
  outgoing.packet->trail.add(when, {component, "gather and packetize", TrailKind::kDelay});
  if (was_response_) {
    responses_.on_transmit(outgoing);
  } else {
    Actions sent;
    requester_.on_transmit(outgoing, when, sent);
    execute(sent, nullptr, when);
    if (pacer != nullptr && pacer->wants_round_trips()) [[unlikely]] pacer->on_handed_over(outgoing.packet->bth, when);
  }
  return std::move(outgoing.packet);
}

}  // namespace verbatim::hca
