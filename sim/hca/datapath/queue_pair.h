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

// How received frames are placed, with the values of ibv_wq_flags.
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
  Ref<SharedReceiveQueue> srq;  // none: it has its own
  std::uint32_t domain = 0;     // of an XRC receiver
  bool signal_all = false;
  // Of Ethernet frames.
  bool is_work_queue = false;  // a receive work queue and nothing else, which a program handles as an ibv_wq
  bool blocks_own_copies = false;  // what it sends to a group does not come back to it
  std::uint32_t frame_options = 0;  // FrameOption
  std::shared_ptr<const ReceiveScaling> scaling;  // its frames go to these queues
  std::uint64_t record_offset = 0;  // QueuePairRecord in the arena
  std::uint64_t send_offset = 0;    // rings in the arena
  std::uint64_t recv_offset = 0;
  std::uint64_t block_bytes = 0;  // of both rings and the record, which lie in one block from send_offset
};

// Who may use a queue pair that belongs to an XRC domain and not to a program.
struct QueuePairOpening {
  Ref<Context> context;
  std::uint32_t handle = 0;
  std::uint64_t cookie = 0;
  std::uint32_t xrcd = 0;  // the opening of the domain
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
  Context& find_owner(Context& named, std::uint32_t key) const;
  protocol::QueuePairRecord no_record_{};  // of a queue pair that no program posts to
  protocol::QueuePairRecord& record();
  std::span<std::byte> ring(std::uint64_t offset, std::uint64_t bytes) const;

 public:
  WorkQueue send_queue;
  ReceiveQueue own_receives;
  std::uint32_t ring_epoch = 0;  // counts resets: fetches from before one are void
  bool is_scheduled = false;     // in the send pipeline's list
  std::uint32_t acknowledgements_staged = 0;  // likewise, in its acknowledge stage
  std::uint32_t async_events_reported = 0;
  std::uint32_t windows = 0;  // of type 2 that are bound through it
  std::uint32_t flows = 0;    // that give it frames
  std::uint32_t tables = 0;   // for receive side scaling that a work queue is in
  std::uint32_t frame_options = 0;  // FrameOption, as they are now
  std::vector<QueuePairOpening> openings;  // of an XRC receiver, the oldest first
  std::unique_ptr<SourceSide> source;      // null: its requests are a program's
  std::unique_ptr<Pacer> pacer;            // null: its packets are as close to each other as they can
  // The queue pair itself when it has a work source, else none.
  Ref<QueuePair> source_ref() const { return source != nullptr ? self : Ref<QueuePair>(); }

  // The transport, which decides, and the data path of it.
  Requester requester;
  Responder responder;
  ResponseQueue responses;
  ActionExecutor executor;
  RequesterDriver requester_driver;
  ResponderDriver responder_driver;

  // For people: what the shim keeps of it.
  const protocol::QueuePairRecord& shared_record() { return record(); }
  // And what the shim is told.
  void note_first_receive(bool is_late) { record().first_receive_late = is_late ? 1 : 0; }

  // Where its receives come from and complete, and the protection domain their keys are of: its own, or those
  // of its shared receive queue. An XRC receiver has none and serves the queue that each request names (IBA
  // A14).
  ReceiveQueue& receives();
  const Ref<CompletionQueue>& receive_cq() const;
  std::uint32_t receive_pd() const;
  // Where the message that begins with this packet is looked for in a list of tags; null: it is not.
  TagMatching* tags_of(const ib::Packet& packet) const;
  // Whose memory the peer reaches, and by keys of which protection domain: of an XRC receiver again those of
  // the queue that the request names.
  Context& memory_owner() const { return is_xrc_receiver() ? target_owner() : context; }
  std::uint32_t memory_pd() const { return is_xrc_receiver() ? receive_pd() : params.pd; }
  // In whose program the memory lies that a key of memory_owner()'s opening names: also of another that shares it.
  Context& owner_of(std::uint32_t key) const {
    Context& named = memory_owner();
    if (!named.objects.is_shared()) [[likely]] return named;
    return find_owner(named, key);
  }
  const SharedReceiveQueue* target() const { return target_.get(); }
  const Ref<SharedReceiveQueue>& target_ref() const override { return target_; }
  // An XRC receiver's request names this queue; none: a number that is nobody's in the domain.
  void set_target(const Ref<SharedReceiveQueue>& srq) override { target_ = srq; }

  // Of a work queue: to RTR, which is ready, RESET or ERR.
  void move_work_queue(ib::QpState to);
  // ibv_modify_qp: 0 or errno; nothing has changed when not 0.
  int modify(const protocol::QpAttributes& to, std::uint32_t mask);

  // The processor rings the doorbell of the send queue; as Requester::on_ring().
  std::uint32_t on_ring(std::uint32_t producer);
  void receive(Incoming&& incoming, const ib::OpcodeInfo& operation);
  // An Ethernet frame that a flow rule gives it.
  void receive_frame(Incoming&& incoming);

  // The send pipeline's side. Responses and requests of one queue pair take turns.
  bool has_packet() const { return responses.has_packet() || requester.has_packet(); }
  std::uint32_t next_packet_bytes() const {
    return is_response_next() ? responses.next_packet_bytes() : requester.next_packet_bytes();
  }
  ib::ServiceLevel next_service_level() const {
    return is_response_next() ? service_level() : requester.next_service_level();
  }
  Outgoing next_packet() {
    was_response_ = is_response_next();
    Outgoing outgoing = was_response_ ? responder_driver.next_packet() : requester_driver.next_packet();
    if (pacer != nullptr) [[unlikely]] {
      const bool is_windowed = !was_response_ && is_reliable() && pacer->wants_acknowledgements();
      if (is_windowed) outgoing.packet = pacer->prepare(std::move(outgoing.packet));
      on_paced(*outgoing.packet);
    }
    return outgoing;
  }
  // Whether the next packet has to wait for the queue pair's rate. It has a pacer.
  bool is_put_off();
  // Path or state have changed, or the settings of the port.
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
  // visit(GatherPiece) for each piece of the packet's payload, which has just been made.
  template <class Visit>
  void visit_gather(const Outgoing& outgoing, Visit visit) const {
    const std::uint32_t length = outgoing.packet->payload.length;
    if (outgoing.is_response) return visit(GatherPiece{outgoing.address, length, outgoing.work});
    requester.work_of(outgoing)->sges.visit(
        outgoing.offset, length, [&](const protocol::Sge& sge, std::uint32_t skip, std::uint32_t part) {
          visit(GatherPiece{sge.va + skip, part, sge.lkey, sge.length - skip - part});
          return true;
        });
  }
  // False: an earlier sending of the packet has been acknowledged, and its memory is the program's again.
  bool needs_bytes(const Outgoing& outgoing) const {
    return outgoing.is_response || requester.work_of(outgoing) != nullptr;
  }
  // The bytes of programs that gather() will read; false when that cannot be said.
  bool show_gather(const Outgoing& outgoing, std::span<const GatherPiece> pieces,
                   std::vector<host::TouchedBytes>& bytes) const;
  // Reads the packet's payload from the program now; zeros when it does not need the bytes.
  void gather(const Outgoing& outgoing, std::span<const GatherPiece> pieces, std::span<std::byte> to);

  // Places what a packet has brought at `offset` of a scatter list of `owner`; false, and nothing is written,
  // when the list's keys do not allow local writing.
  bool scatter(const ScatterList& list, std::uint64_t offset, const ib::Payload& payload, Incoming& incoming,
               Context& owner, std::uint32_t pd, MessageStream stream);
  // The pieces of memory that a part of a scatter list names; they are valid until the next call for any queue pair of the
  // adapter. `is_allowed` is false when a key does not allow local writing: the last piece has no bytes then, and that key.
  struct FoundPieces {
    std::span<const MemoryPiece> pieces;
    bool is_allowed = false;
  };
  FoundPieces find_pieces(const ScatterList& list, std::uint64_t offset, std::uint32_t length, const Context& owner,
                          std::uint32_t pd);

  // A request of an unreliable queue pair failed: it cannot send until it is told to, but receives
  // (IBA 10.3.1.6).
  void enter_send_error();
  // Error of the connection or of its program: ERR, and everything posted is flushed (IBA 10.3.1.7).
  void enter_error();
  // A completion queue of it was overrun (IBA 10.3.1.7).
  void fail_with_queue() {
    if (can_receive()) enter_error();
  }
  // The program wrote nonsense into a ring or record.
  void fail_fatally();
  // To the alternate path, which becomes the only one (IBA 17.2.8).
  void migrate();
  void raise(ib::AsyncEventType type);
  // In SQD: tells once when nothing begun is outstanding (IBA 10.3.1.5).
  void check_drained();

  // Returns when the program sees it.
  Instant want_recv_doorbell(bool wanted);
  // It sees it now.
  void show_recv_doorbell_wish(bool wanted);

  // Fields that every completion of this queue pair has.
  protocol::Cqe make_completion(std::uint64_t wr_id, ib::WcStatus status);

 private:
  // In whose memory the answer's payload lies; null: the key is gone.
  Context* answers_from(const Outgoing& response) const;
  // Whether the window leaves room for the next packet; the pacer has one.
  void judge_window();
  void on_paced(const ib::Packet& packet);
  // For a controller that wants round trips: a packet that answers requests has come.
  void on_answer(const ib::Packet& packet);
  // A congestion notification, or a packet that a congested switch has marked.
  void on_notification(Incoming&& incoming);
  void on_congestion(const ib::Packet& packet, bool is_marked);
  // On InfiniBand, a packet with FECN, BECN or both.
  void on_marked(const ib::Packet& packet, const ib::OpcodeInfo& operation);
  void on_backward_mark(const ib::Packet& packet);
  int check_attributes(const protocol::QpAttributes& to, std::uint32_t mask) const;
  void take_attributes(const protocol::QpAttributes& to, std::uint32_t mask);
  // path_migration.cc
  int check_alternate_path(const protocol::QpAttributes& to) const;
  int check_migration_state(std::uint32_t to, bool brings_alternate) const;
  bool has_alternate_path() const { return attributes.alt_port_num != 0; }
  void move_migration_state(std::uint32_t to);
  // What a packet tells of the peer's path; false when it has gone where this side has no path to.
  bool follow_peer(const ib::Packet& packet);
  void set_state(ib::QpState to);
  void reset();
  // For the transport.
  ib::WcStatus execute_local(const SendWork& work) override;
  std::optional<host::ProgramAddress> check_remote(const Ref<SharedReceiveQueue>* target, std::uint32_t rkey,
                                                   std::uint64_t va, std::uint32_t length,
                                                   std::uint32_t access) override;
  bool invalidate(std::uint32_t rkey) override;
  Ref<SharedReceiveQueue> find_target(std::uint32_t srq_number) const override;
  std::uint32_t unused_receives() const override { return own_receives.unused(); }
  std::uint32_t placed_bytes(const ib::Packet& frame) const override;
  bool is_response_next() const {
    return responses.has_packet() && (!was_response_ || !requester.has_packet());
  }

  Context& target_owner() const;

  Ref<SharedReceiveQueue> target_;
  bool drain_pending_ = false;  // SQ_DRAINED is owed
  bool flushed_before_ = false;
  bool was_response_ = false;  // the packet before
};

// Serves another target for a while: what is answered belongs to an earlier request.
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
