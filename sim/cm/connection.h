// One communication of the connection manager (IBA 12.9): a connection of two queue pairs by REQ, REP and
// RTU, or a SIDR_REQ query for one queue pair. Its messages are datagrams, which may be lost, delayed or
// duplicated. Each is resent until it is answered, at most as often as the REQ permits.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/management/path.h"
#include "sim/core/engine.h"
#include "sim/mad/cm_messages.h"

namespace verbatim::cm {

class ConnectionManager;
class Connection;

using management::Path;
using PrivateData = std::vector<std::byte>;

// IBA 12.9.5, 12.9.7: the state of this end.
enum class ConnectionState : std::uint8_t {
  kIdle,
  kReqSent,
  kMraReqReceived,
  kReqReceived,
  kMraReqSent,
  kRepSent,
  kMraRepReceived,
  kRepReceived,
  kMraRepSent,
  kEstablished,
  kDreqSent,
  kDreqReceived,
  kTimeWait,
  kSidrReqSent,
  kSidrReqReceived,
};

// Notification of a connection's owner.
struct ConnectionEvent {
  enum class Kind : std::uint8_t {
    kReply,         // REP
    kReady,         // RTU, or note_established() for the peer's first packet
    kRejected,      // REJ, `reason`
    kUnanswered,    // no answer to a REQ, REP or SIDR_REQ after all repetitions
    kDisconnect,    // DREQ
    kDisconnected,  // DREP; `timed_out`: none arrived
    kTimeWaitOver,
    kSidrReply,  // `reason`: SIDR status
  };
  Kind kind;
  std::uint32_t reason = 0;
  bool timed_out = false;
  PrivateData private_data;  // the whole field, regardless of how much the sender used
  mad::cm::SidrRep sidr{};
};

class ConnectionOwner {
 public:
  // The owner may destroy the connection in this call.
  virtual void on_connection_event(Connection& connection, const ConnectionEvent& event) = 0;

 protected:
  ~ConnectionOwner() = default;
};

// Parameters of a request, set by its sender.
struct RequestParameters {
  Path path;
  std::uint64_t service_id = 0;
  std::uint32_t qpn = 0;
  std::uint32_t starting_psn = 0;
  std::uint8_t transport = 0;  // 0: RC, 1: UC, 3: XRC
  bool srq = false;
  bool flow_control = false;
  std::uint8_t responder_resources = 0, initiator_depth = 0;
  std::uint8_t retry_count = 0, rnr_retry_count = 0;
  PrivateData private_data;
  std::uint32_t ece_vendor = 0, ece_options = 0;
};

struct ReplyParameters {
  std::uint32_t qpn = 0;
  std::uint32_t starting_psn = 0;
  bool srq = false;
  bool flow_control = false;
  std::uint8_t responder_resources = 0, initiator_depth = 0;
  std::uint8_t rnr_retry_count = 0;
  PrivateData private_data;
  std::uint32_t ece_vendor = 0, ece_options = 0;
};

// Attributes for the queue pair's transitions to RTR and RTS.
struct Negotiated {
  std::uint32_t remote_qpn = 0;
  std::uint32_t receive_psn = 0, send_psn = 0;
  std::uint8_t responder_resources = 0, initiator_depth = 0;
  std::uint8_t retry_count = 0, rnr_retry_count = 0;
  std::uint8_t ack_timeout = 0;
  std::uint8_t mtu = 0;  // code
};

class Connection {
 public:
  // `owner` must outlive the connection; nullptr: nothing is notified.
  Connection(ConnectionManager& manager, ConnectionOwner* owner);
  // Ends the communication as the kernel does when a process exits: the peer gets one message, without
  // repetition.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  ConnectionState state() const { return state_; }
  bool awaits_reply() const { return state_ == ConnectionState::kReqSent || state_ == ConnectionState::kMraReqReceived; }
  const Path& path() const { return path_; }
  const Negotiated& negotiated() const { return negotiated_; }
  std::uint32_t local_id() const { return local_id_; }
  // Whether its identifier can be reused: no message with it is in flight, and the peer will not send one.
  bool has_nothing_under_way() const { return state_ == ConnectionState::kIdle && (has_waited_ || transaction_ == 0); }
  // Queue pair number of this end.
  std::uint32_t local_qpn() const { return is_responder_ ? reply_.local_qpn : request_.local_qpn; }
  // Queue pair number of the peer, from its REQ or REP until the connection has ended; else 0.
  std::uint32_t remote_qpn() const;
  void set_owner(ConnectionOwner* owner) { owner_ = owner; }
  // The REQ and the REP, sent or received.
  const mad::cm::Req& request() const { return request_; }
  const mad::cm::Rep& reply() const { return reply_; }
  const mad::cm::SidrReq& sidr_request() const { return sidr_request_; }

  // Each returns 0, or a positive errno if the state or a length does not permit the message.
  int send_request(const RequestParameters& parameters);
  int send_reply(const ReplyParameters& parameters);
  int send_ready(const PrivateData& private_data);
  int send_reject(mad::cm::RejReason reason, const PrivateData& private_data);
  int send_disconnect();
  int send_disconnect_reply();
  // The peer's first packet has arrived before its RTU. Returns 0 or a positive errno.
  int note_established();
  int send_sidr_request(const Path& path, std::uint64_t service_id, const PrivateData& private_data);
  int send_sidr_reply(mad::cm::SidrStatus status, std::uint32_t qpn, std::uint32_t qkey, const PrivateData& private_data);

 private:
  friend class ConnectionManager;

  // Called by the manager, which has found this connection by the message's identifiers.
  void begin_as_responder(const mad::cm::Req& request, const ib::ManagementDatagram& from);
  void begin_as_sidr_responder(const mad::cm::SidrReq& request, const ib::ManagementDatagram& from);
  void on_duplicate_request();
  void on_reply(const mad::cm::Rep& reply);
  void on_ready(const mad::cm::Rtu& ready);
  void on_mra(const mad::cm::Mra& mra);
  void on_reject(const mad::cm::Rej& reject);
  void on_disconnect(const mad::cm::Dreq& request);
  void on_disconnect_reply(const mad::cm::Drep& reply);
  void on_sidr_reply(const mad::cm::SidrRep& reply);
  void on_timer();

  // To the peer, with the transaction id of the first message of the exchange.
  template <class Message>
  ib::ManagementDatagram datagram_of(const Message& message) const;
  template <class Message>
  ib::ManagementDatagram named(Message message) const;
  // Sends the datagram immediately, and again every `timeout_ms` until stop_retrying().
  void send_until_answered(ib::ManagementDatagram datagram, std::int64_t timeout_ms);
  void stop_retrying();
  void enter_time_wait();
  void notify_owner(ConnectionEvent event);
  void notify_owner(ConnectionEvent::Kind kind) { notify_owner(ConnectionEvent{.kind = kind}); }

  ConnectionManager& manager_;
  ConnectionOwner* owner_;
  const std::uint32_t local_id_;
  std::uint32_t remote_id_ = 0;
  std::uint64_t remote_guid_ = 0;
  bool is_responder_ = false;
  ConnectionState state_ = ConnectionState::kIdle;
  Path path_;
  ib::ManagementDatagram towards_peer_;  // address of the peer
  std::uint64_t transaction_ = 0;
  bool has_waited_ = false;  // kTimeWait has expired
  Negotiated negotiated_;
  mad::cm::Req request_{};
  mad::cm::Rep reply_{};
  mad::cm::SidrReq sidr_request_{};
  std::int64_t timeout_ms_ = 0;
  std::uint32_t retries_ = 0;
  // The message that awaits an answer.
  std::optional<ib::ManagementDatagram> unanswered_;
  std::optional<ib::ManagementDatagram> last_answer_;  // RTU, DREP or SIDR_REP, repeated in response to a
                                                       // duplicate
  std::uint32_t tries_left_ = 0;
  std::int64_t retry_ms_ = 0;
  Timer timer_;
};

}  // namespace verbatim::cm
