// A queue pair (IBA 10.2.4): requester and responder around one state and one set of attributes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/hca/congestion/pacer.h"
#include "sim/hca/context.h"
#include "sim/hca/datapath/action_executor.h"
#include "sim/hca/datapath/payload_writer.h"
#include "sim/hca/datapath/receive_queue.h"
#include "sim/hca/datapath/requester_driver.h"
#include "sim/hca/datapath/responder_driver.h"
#include "sim/hca/datapath/send_pipeline.h"
#include "sim/hca/queues/receive_side_scaling.h"
#include "sim/hca/queues/source_side.h"
#include "sim/hca/queues/work_queue.h"
#include "sim/hca/transport/connection.h"
#include "sim/hca/transport/local_operations.h"
#include "sim/hca/transport/requester.h"
#include "sim/hca/transport/responder.h"
#include "sim/hca/transport/response_queue.h"
#include "sim/ib/types.h"

namespace verbatim::hca {

struct Adapter;
class TagMatching;

// Placement of received frames, with the values of ibv_wq_flags.
enum FrameOption : std::uint32_t {
  kStripVlan = 1 << 0,
  kScatterFrameCheck = 1 << 1,
  kDelayDrop = 1 << 2,
  kPadWrites = 1 << 3,
  kFrameOptions = 0xf,
};

struct QueuePairParams {
  std::uint32_t handle = 0;
  std::uint32_t number = 0;
  std::uint64_t cookie = 0;
  ib::QpType type = ib::QpType::kRc;
  std::uint32_t pd = 0;
  Ref<CompletionQueue> send_cq;
  Ref<CompletionQueue> recv_cq;
  Ref<SharedReceiveQueue> srq;  // none: it has its own receive queue
  std::uint32_t domain = 0;     // XRC receiver: its domain
  bool signal_all = false;
  // Queue pairs of Ethernet frames.
  bool is_work_queue = false;  // an ibv_wq: a receive queue only
  bool blocks_own_copies = false;  // frames that it sends to a group are not delivered to itself
  std::uint32_t frame_options = 0;  // FrameOption
  std::shared_ptr<const ReceiveScaling> scaling;  // not null: its frames are delivered to these work queues
  std::uint64_t record_offset = 0;  // QueuePairRecord in the arena
  std::uint64_t send_offset = 0;    // rings in the arena
  std::uint64_t recv_offset = 0;
  std::uint64_t block_bytes = 0;  // both rings and the record, in one block from send_offset
};

// A context's use of a queue pair that belongs to an XRC domain and not to a program.
struct QueuePairOpening {
  Ref<Context> context;
  std::uint32_t handle = 0;
  std::uint64_t cookie = 0;
  std::uint32_t xrcd = 0;  // the opening of the domain
};

// A queue pair's place in the send pipeline.
struct SendTurn {
  bool is_scheduled = false;  // in the list of a lane
  bool was_response = false;  // the last packet was a response
  std::uint32_t acknowledgements_staged = 0;  // in the acknowledge stage
};

// Numbers of other objects that use a queue pair.
struct QueuePairUses {
  std::uint32_t windows = 0;  // memory windows of type 2 that are bound through it
  std::uint32_t flows = 0;    // flow rules that deliver frames to it
  std::uint32_t tables = 0;   // receive side scaling tables that contain this work queue
};

class QueuePair : public Connection, private LocalOperations, private ResponderSurroundings {
 public:
  QueuePair(Ref<QueuePair> self, Adapter& adapter, Context& context, const QueuePairParams& params,
            const WorkQueue& send, const WorkQueue& recv);
  ~QueuePair();

  const Ref<QueuePair> self;
  Adapter& adapter;
  Context& context;
  const QueuePairParams params;

 private:
  // The context whose program has the memory of `key`; `named` if the key is unknown.
  Context& find_owner(Context& named, std::uint32_t key) const;
  protocol::QueuePairRecord no_record_{};  // used if no program posts to the queue pair
  protocol::QueuePairRecord& record();
  std::span<std::byte> ring(std::uint64_t offset, std::uint64_t bytes) const;

 public:
  WorkQueue send_queue;
  ReceiveQueue own_receives;
  std::uint32_t ring_epoch = 0;  // counts resets: fetches of an earlier epoch are discarded
  SendTurn turn;
  std::uint32_t async_events_reported = 0;
  QueuePairUses uses;
  std::uint32_t frame_options = 0;  // FrameOption; current, changed by modifications
  std::vector<QueuePairOpening> openings;  // XRC receiver: its openings, the oldest first
  std::unique_ptr<SourceSide> source;      // null: a program posts its requests
  std::unique_ptr<Pacer> pacer;            // null: its rate is not limited
  // The queue pair itself if it has a work source; else none.
  Ref<QueuePair> source_ref() const { return source != nullptr ? self : Ref<QueuePair>(); }

  // The transport machines, and their drivers in the data path.
  Requester requester;
  Responder responder;
  ResponseQueue responses;
  ActionExecutor executor;
  RequesterDriver requester_driver;
  ResponderDriver responder_driver;

  // For inspection: the record that the queue pair shares with the shim.
  const protocol::QueuePairRecord& shared_record() { return record(); }
  // Writes into that record whether the first receive was posted late (late_receive.h).
  void note_first_receive(bool is_late) { record().first_receive_late = is_late ? 1 : 0; }

  // The queue of its receives, the completion queue of these, and the protection domain of their keys: its
  // own, or those of its shared receive queue. An XRC receiver uses those of the shared receive queue that
  // each request names (IBA A14).
  ReceiveQueue& receives();
  const Ref<CompletionQueue>& receive_cq() const;
  std::uint32_t receive_pd() const;
  // The tag list of the shared receive queue that this packet's message is matched with; null: no tag
  // matching.
  TagMatching* tags_of(const ib::Packet& packet) const;
  // The context whose memory the peer may reach, and the protection domain of its keys. For an XRC receiver
  // they are those of the shared receive queue that the request names.
  Context& memory_owner() const { return is_xrc_receiver() ? target_owner() : context; }
  std::uint32_t memory_pd() const { return is_xrc_receiver() ? receive_pd() : params.pd; }
  // The context whose program has the memory of `key`: memory_owner(), or another context of its opening.
  Context& owner_of(std::uint32_t key) const {
    Context& named = memory_owner();
    if (!named.objects.is_shared()) [[likely]] return named;
    return find_owner(named, key);
  }
  const SharedReceiveQueue* target() const { return target_.get(); }
  const Ref<SharedReceiveQueue>& target_ref() const override { return target_; }
  // The shared receive queue that an XRC receiver's request names; none: the number is unknown in the domain.
  void set_target(const Ref<SharedReceiveQueue>& srq) override { target_ = srq; }

  // Changes the state of a work queue to RTR (ibv_wq ready), RESET or ERR.
  void move_work_queue(ib::QpState to);
  // ibv_modify_qp: returns 0, or a positive errno and changes nothing.
  int modify(const protocol::QpAttributes& to, std::uint32_t mask);

  // The processor rings the doorbell of the send queue; as Requester::on_ring().
  std::uint32_t on_ring(std::uint32_t producer);
  void receive(Incoming&& incoming, const ib::OpcodeInfo& operation);
  // A flow rule delivers an Ethernet frame.
  void receive_frame(Incoming&& incoming);

  // For the send pipeline. Responses and requests of one queue pair take turns.
  bool has_packet() const { return responses.has_packet() || requester.has_packet(); }
  std::uint32_t next_packet_bytes() const {
    return is_response_next() ? responses.next_packet_bytes() : requester.next_packet_bytes();
  }
  ib::ServiceLevel next_service_level() const {
    return is_response_next() ? service_level() : requester.next_service_level();
  }
  Outgoing next_packet() {
    turn.was_response = is_response_next();
    Outgoing outgoing = turn.was_response ? responder_driver.next_packet() : requester_driver.next_packet();
    if (pacer != nullptr) [[unlikely]] {
      const bool is_windowed = !turn.was_response && is_reliable() && pacer->wants_acknowledgements();
      if (is_windowed) outgoing.packet = pacer->prepare(std::move(outgoing.packet));
      on_paced(*outgoing.packet);
    }
    return outgoing;
  }
  // Whether the pacer, which must exist, delays the next packet.
  bool is_put_off();
  // Creates or removes the pacer after a change of path, state or port settings.
  void renew_pacer();
  bool is_current(const Outgoing& outgoing) const {
    return outgoing.is_response ? responses.is_current(outgoing) : requester.is_current(outgoing);
  }
  void on_transmit(const Outgoing& outgoing) {
    if (outgoing.is_response) {
      responses.on_transmit(outgoing);
    } else {
      requester_driver.on_transmit(outgoing);
    }
  }

  // To SQE: a request of an unreliable queue pair failed. It receives, and cannot send until it is modified
  // (IBA 10.3.1.6).
  void enter_send_error();
  // To ERR: all posted requests and receives are flushed (IBA 10.3.1.7).
  void enter_error();
  // A completion queue that it uses was overrun (IBA 10.3.1.7).
  void fail_with_queue() {
    if (can_receive()) enter_error();
  }
  // The program wrote an impossible value into a ring or record: QP_FATAL, and to ERR.
  void fail_fatally();
  // Switches to the alternate path, which becomes the only path (IBA 17.2.8).
  void migrate();
  void raise(ib::AsyncEventType type);
  // In SQD: raises SQ_DRAINED once, if no begun request is outstanding (IBA 10.3.1.5).
  void check_drained();

  // Requests, or stops requesting, a doorbell for each posted receive. Returns the time at which the program
  // sees the request.
  Instant request_rq_doorbell(bool wanted);
  // That time has been reached: writes the request into the shared record.
  void write_rq_doorbell_request(bool wanted);

  // A completion with the fields that all completions of this queue pair have.
  protocol::Cqe make_completion(std::uint64_t wr_id, ib::WcStatus status);

 private:
  // Lets the pacer check its window for the next packet.
  void judge_window();
  void on_paced(const ib::Packet& packet);
  // An answer to requests has arrived, for a controller that uses round trips.
  void on_answer(const ib::Packet& packet);
  // A congestion notification, or a packet that a congested switch has marked.
  void on_notification(Incoming&& incoming);
  void on_congestion(const ib::Packet& packet, bool is_marked);
  // InfiniBand: a packet with FECN, BECN or both.
  void on_marked(const ib::Packet& packet, const ib::OpcodeInfo& operation);
  void on_backward_mark(const ib::Packet& packet);
  int check_attributes(const protocol::QpAttributes& to, std::uint32_t mask) const;
  void take_attributes(const protocol::QpAttributes& to, std::uint32_t mask);
  // path_migration.cc
  int check_alternate_path(const protocol::QpAttributes& to) const;
  int check_migration_state(std::uint32_t to, bool brings_alternate) const;
  bool has_alternate_path() const { return attributes.alt_port_num != 0; }
  void move_migration_state(std::uint32_t to);
  // Reads the peer's migration state from a packet. False: the peer has migrated, and this side has no
  // alternate path.
  bool follow_peer(const ib::Packet& packet);
  void set_state(ib::QpState to);
  void reset();
  // LocalOperations and ResponderSurroundings.
  ib::WcStatus execute_local(const SendWork& work) override;
  std::optional<host::ProgramAddress> check_remote(const Ref<SharedReceiveQueue>* target, std::uint32_t rkey,
                                                   std::uint64_t va, std::uint32_t length,
                                                   std::uint32_t access) override;
  bool invalidate(std::uint32_t rkey) override;
  Ref<SharedReceiveQueue> find_target(std::uint32_t srq_number) const override;
  std::uint32_t unused_receives() const override { return own_receives.unused(); }
  std::uint32_t placed_bytes(const ib::Packet& frame) const override;
  bool is_response_next() const {
    return responses.has_packet() && (!turn.was_response || !requester.has_packet());
  }

  Context& target_owner() const;

  Ref<SharedReceiveQueue> target_;
  bool drain_pending_ = false;  // SQ_DRAINED is to be raised
  bool flushed_before_ = false;  // a completion was flushed since the last reset; selects the vendor error
};

// Sets another target during its lifetime, for an answer to an earlier request.
class TargetScope {
 public:
  TargetScope(QueuePair& qp, const Ref<SharedReceiveQueue>& target) : qp_(qp), before_(qp.target_ref()) {
    if (qp.is_xrc_receiver()) qp.set_target(target);
  }
  ~TargetScope() { qp_.set_target(before_); }
  TargetScope(const TargetScope&) = delete;
  TargetScope& operator=(const TargetScope&) = delete;

 private:
  QueuePair& qp_;
  const Ref<SharedReceiveQueue> before_;
};

}  // namespace verbatim::hca
