// One communication of the connection manager (IBA 12.9): what is established by REQ, REP and RTU between two queue pairs, or
// asked by SIDR_REQ about one. Its messages are datagrams that may be lost, late or double; each is sent again
// until it is answered, as often as the REQ said.
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

// IBA 12.9.5, 12.9.7, as one end sees itself.
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

// What an owner learns of its connection.
struct ConnectionEvent {
  enum class Kind : std::uint8_t {
    kReply,         // REP
    kReady,         // RTU, or the first packet of the peer told by the owner
    kRejected,      // REJ, `reason`
    kUnanswered,    // REQ or REP, sent as often as allowed
    kDisconnect,    // DREQ
    kDisconnected,  // DREP; `timed_out`: none came
    kTimeWaitOver,
    kSidrReply,  // `reason`: its status
  };
  Kind kind;
  std::uint32_t reason = 0;
  bool timed_out = false;
  PrivateData private_data;  // all of the field, whatever the sender filled of it
  mad::cm::SidrRep sidr{};
};

class ConnectionOwner {
 public:
  // The owner may destroy the connection in it.
  virtual void on_connection_event(Connection& connection, const ConnectionEvent& event) = 0;

 protected:
  ~ConnectionOwner() = default;
};

// Of a request, as its sender sets it.
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

// What a queue pair is moved to RTR and RTS with.
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
  // `owner` outlives it; without one nobody is told.
  Connection(ConnectionManager& manager, ConnectionOwner* owner);
  // Ends as the kernel ends the communication of a process that has gone: the peer is told once, and needs no answer.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  ConnectionState state() const { return state_; }
  bool awaits_reply() const { return state_ == ConnectionState::kReqSent || state_ == ConnectionState::kMraReqReceived; }
  const Path& path() const { return path_; }
  const Negotiated& negotiated() const { return negotiated_; }
  std::uint32_t local_id() const { return local_id_; }
  // No message with its identifier is on its way or will be sent by the peer.
  bool has_nothing_under_way() const { return state_ == ConnectionState::kIdle && (has_waited_ || transaction_ == 0); }
  // Of the connection's end here.
  std::uint32_t local_qpn() const { return is_responder_ ? reply_.local_qpn : request_.local_qpn; }
  // Of its end over there, from the peer's REQ or REP until the connection is over; else 0.
  std::uint32_t remote_qpn() const;
  void set_owner(ConnectionOwner* owner) { owner_ = owner; }
  // Of who has been asked.
  const mad::cm::Req& request() const { return request_; }
  const mad::cm::Rep& reply() const { return reply_; }
  const mad::cm::SidrReq& sidr_request() const { return sidr_request_; }

  // Each: 0, or an errno when the state or a length does not allow it.
  int send_request(const RequestParameters& parameters);
  int send_reply(const ReplyParameters& parameters);
  int send_ready(const PrivateData& private_data);
  int send_reject(mad::cm::RejReason reason, const PrivateData& private_data);
  int send_disconnect();
  int send_disconnect_reply();
  // The peer's first packet has come before its RTU.
  int note_established();
  int send_sidr_request(const Path& path, std::uint64_t service_id, const PrivateData& private_data);
  int send_sidr_reply(mad::cm::SidrStatus status, std::uint32_t qpn, std::uint32_t qkey, const PrivateData& private_data);

 private:
  friend class ConnectionManager;

  // From the manager, which knows that it is for this connection.
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

  // To the peer, in the transaction of the message that began the exchange.
  template <class Message>
  ib::ManagementDatagram datagram_of(const Message& message) const;
  template <class Message>
  ib::ManagementDatagram named(Message message) const;
  // Sent now, and again each `timeout_ms` until stop_retrying().
  void send_until_answered(ib::ManagementDatagram datagram, std::int64_t timeout_ms);
  void stop_retrying();
  void enter_time_wait();
  void tell(ConnectionEvent event);
  void tell(ConnectionEvent::Kind kind) { tell(ConnectionEvent{.kind = kind}); }

  ConnectionManager& manager_;
  ConnectionOwner* owner_;
  const std::uint32_t local_id_;
  std::uint32_t remote_id_ = 0;
  std::uint64_t remote_guid_ = 0;
  bool is_responder_ = false;
  ConnectionState state_ = ConnectionState::kIdle;
  Path path_;
  ib::ManagementDatagram towards_peer_;  // where messages go
  std::uint64_t transaction_ = 0;
  bool has_waited_ = false;  // kTimeWait is over
  Negotiated negotiated_;
  mad::cm::Req request_{};
  mad::cm::Rep reply_{};
  mad::cm::SidrReq sidr_request_{};
  std::int64_t timeout_ms_ = 0;
  std::uint32_t retries_ = 0;
  // The message that waits for an answer.
  std::optional<ib::ManagementDatagram> unanswered_;
  std::optional<ib::ManagementDatagram> last_answer_;  // RTU or DREP or SIDR_REP, which a duplicate gets again
  std::uint32_t tries_left_ = 0;
  std::int64_t retry_ms_ = 0;
  Timer timer_;
};

}  // namespace verbatim::cm
