// The communication manager of one port: passes each message to its connection, and answers messages that
// have none.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "sim/cm/connection.h"
#include "sim/core/choice.h"
#include "sim/core/ids.h"
#include "sim/core/number_space.h"
#include "sim/core/rng.h"

namespace verbatim::cm {

// Receiver of connection requests.
class RequestListener {
 public:
  // Moves from `connection` to accept it, and returns nullopt; or returns the reason, and the manager
  // rejects.
  virtual std::optional<mad::cm::RejReason> on_request(std::unique_ptr<Connection>& connection) = 0;
  virtual std::optional<mad::cm::SidrStatus> on_sidr_request(std::unique_ptr<Connection>& connection) = 0;

 protected:
  ~RequestListener() = default;
};

class ConnectionManager {
 public:
  // `source`: component of the timers' events and of choices. `ack_delay`: the adapter's local_ca_ack_delay.
  // The references must outlive the manager.
  ConnectionManager(Engine& engine, Choices& choices, ComponentId source, ib::ManagementPort& port, std::uint64_t guid,
                    std::uint8_t ack_delay, Rng random);
  ~ConnectionManager();

  void set_listener(RequestListener& listener) { listener_ = &listener; }
  // A datagram of class CommMgt has arrived.
  void on_datagram(const ib::ManagementDatagram& datagram);

  std::uint64_t guid() const { return guid_; }
  std::uint8_t ack_delay() const { return ack_delay_; }
  // Starting PSN for one direction of a new connection; 24 bits.
  std::uint32_t draw_psn();
  // Chooses how a number of the host that others assign is picked.
  NumberChoice choose_number(std::string_view site) {
    return static_cast<NumberChoice>(choices_.choose(site, source_, kNumberChoices));
  }

 private:
  friend class Connection;
  using RemoteEnd = std::pair<std::uint64_t, std::uint32_t>;  // CA GUID, communication id

  std::uint32_t add(Connection& connection);
  void remove(Connection& connection);
  void add_remote(Connection& connection);
  // Forgets the peer's identifier: a request with it is a new one.
  void remove_remote(Connection& connection);
  Connection* find(std::uint32_t local_id, std::uint32_t remote_id) const;
  // If this queue pair is the remote end of a connection, sends `reject`, with the reason kStaleConnection, to the
  // sender of `datagram`, and disconnects that connection (DREQ). False: there is none.
  bool reject_as_stale(std::uint64_t remote_guid, std::uint32_t remote_qpn, mad::cm::Rej reject,
                       const ib::ManagementDatagram& datagram);
  void on_reply(const mad::cm::Rep& reply, const ib::ManagementDatagram& datagram);
  void on_request(const mad::cm::Req& request, const ib::ManagementDatagram& datagram);
  static std::uint64_t sender_of(const ib::ManagementDatagram& datagram);
  void on_load_alternate(const mad::cm::Lap& request, const ib::ManagementDatagram& datagram);
  void on_sidr_request(const mad::cm::SidrReq& request, const ib::ManagementDatagram& datagram);
  // Answers the sender of `datagram`, without a connection.
  template <class Message>
  void answer(const ib::ManagementDatagram& datagram, Message message);

  Engine& engine_;
  Choices& choices_;
  const ComponentId source_;
  ib::ManagementPort& port_;
  const std::uint64_t guid_;
  const std::uint8_t ack_delay_;
  Rng random_;
  RequestListener* listener_ = nullptr;
  std::uint32_t last_psn_ = 0;
  NumberSpace ids_;
  std::map<std::uint32_t, Connection*> connections_;  // by local id
  std::map<RemoteEnd, Connection*> remote_ends_;      // passive connections only
};

}  // namespace verbatim::cm
