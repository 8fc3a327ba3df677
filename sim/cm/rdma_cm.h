// Connection management by IP address, as the kernel side of librdmacm (rdma_cm(7), IBA annex A11):
// identifiers are bound to addresses, resolve a peer's address and route, and connect, listen and accept. The
// program's requests are calls of methods; results and incoming requests are events.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "sim/cm/address.h"
#include "sim/cm/connection_manager.h"
#include "sim/management/subnet_queries.h"

namespace verbatim::cm {

// Values of rdma_cm_event_type.
enum class EventType : std::uint32_t {
  kAddrResolved,
  kAddrError,
  kRouteResolved,
  kRouteError,
  kConnectRequest,
  kConnectResponse,
  kConnectError,
  kUnreachable,
  kRejected,
  kEstablished,
  kDisconnected,
  kDeviceRemoval,
  kMulticastJoin,
  kMulticastError,
  kAddrChange,
  kTimeWaitExit,
  kAddrInfoResolved,
  kAddrInfoError,
  kUser,      // written by the program itself, as is kInternal
  kInternal,
};

struct ConnectionParameters {
  std::uint32_t qpn = 0;
  std::uint32_t qkey = 0;
  PrivateData private_data;
  bool srq = false;
  std::uint8_t responder_resources = 0, initiator_depth = 0, flow_control = 0, retry_count = 0, rnr_retry_count = 0;
  std::uint32_t ece_vendor = 0, ece_options = 0;
};

class MulticastMember;
class RdmaId;

struct Event {
  EventType type;
  std::int32_t status = 0;  // -errno, a reject reason or a SIDR status
  ConnectionParameters parameters;
  std::optional<Path> datagram_path;  // UD: path to the peer
  std::unique_ptr<RdmaId> request;    // kConnectRequest: the identifier of the new connection
  std::uint32_t group = 0;            // multicast: the number passed to join()
};

// Receiver of an identifier's events.
class EventSink {
 public:
  virtual void on_event(RdmaId& id, Event&& event) = 0;

 protected:
  ~EventSink() = default;
};

// Address resolution: the result of ARP or neighbour discovery.
class AddressBook {
 public:
  struct Station {
    ib::Gid gid;                     // GID of the port with the address
    // Index of this host's adapter with the address; nullopt: another host's address. 0 for a multicast
    // group.
    std::optional<std::size_t> own;
  };
  // nullopt: no host has the address.
  virtual std::optional<Station> find(const Address& address) const = 0;
  // Whether there is a route to the address.
  virtual bool reaches(const Address& address) const = 0;
  // Duration of one resolution (ARP request and answer).
  virtual Duration round_trip() const = 0;
  // Index of the host's adapter that leads to the address.
  virtual std::size_t adapter_for(const Address& destination) const = 0;
  // The adapter's source address for `destination`: the same family, and link-local if `destination` is.
  virtual Address own_for(const Address& destination, std::size_t adapter) const = 0;

 protected:
  ~AddressBook() = default;
};

// Attributes of one port.
struct PortFacts {
  std::uint64_t node_guid = 0;
  bool roce = false;
  ib::Lid lid;
  std::vector<ib::Gid> gids;
  std::vector<std::uint16_t> pkeys;
  std::uint8_t mtu = 5, rate = 0;  // codes
};

// One adapter of a host: the services that connections use.
struct AdapterSide {
  const PortFacts& port;
  ConnectionManager& connections;
  management::SubnetQueries& queries;
};

// The rdma_cm of a host, over the connection managers of all its adapters.
class RdmaCm final {
 public:
  // `adapters`: those of the host by number, at least one. The referenced objects outlive it.
  RdmaCm(Engine& engine, ComponentId source, const AddressBook& addresses, const std::vector<AdapterSide>& adapters);

  // Creates an identifier (rdma_create_id). `qp_type`: an ibv_qp_type. `sink` gets its events; null: none.
  std::unique_ptr<RdmaId> create(PortSpace space, std::uint8_t qp_type, EventSink* sink);
  // Chooses how the number of a new rdma_cm_id is picked.
  NumberChoice choose_number(std::string_view site) { return adapters_.front()->connections.choose_number(site); }

 private:
  friend class MulticastMember;
  friend class RdmaId;

  // Receives the requests of one adapter.
  struct Adapter final : RequestListener {
    Adapter(RdmaCm& cm, std::size_t number, const AdapterSide& side)
        : cm(cm), number(number), port(side.port), connections(side.connections), queries(side.queries) {}
    std::optional<mad::cm::RejReason> on_request(std::unique_ptr<Connection>& connection) override {
      return cm.on_request(*this, connection);
    }
    std::optional<mad::cm::SidrStatus> on_sidr_request(std::unique_ptr<Connection>& connection) override {
      return cm.on_sidr_request(*this, connection);
    }

    RdmaCm& cm;
    const std::size_t number;
    const PortFacts& port;
    ConnectionManager& connections;
    management::SubnetQueries& queries;
  };

  std::optional<mad::cm::RejReason> on_request(Adapter& adapter, std::unique_ptr<Connection>& connection);
  std::optional<mad::cm::SidrStatus> on_sidr_request(Adapter& adapter, std::unique_ptr<Connection>& connection);
  // The listener for the address on this adapter, or for all addresses.
  RdmaId* find_listener(std::uint64_t service_id, const Address& destination, const Adapter& adapter) const;
  // False: the service ID of the AF_IB address `own` does not belong to the port space.
  static bool select_service(PortSpace space, Address& own);
  // 0 or -errno; port 0 is replaced by a free one.
  int take_port(RdmaId& id);
  void release_port(RdmaId& id);

  Engine& engine_;
  const ComponentId source_;
  const AddressBook& addresses_;
  std::vector<std::unique_ptr<Adapter>> adapters_;
  std::map<std::pair<PortSpace, std::uint64_t>, std::vector<RdmaId*>> bound_;  // by service
};

// Result of a query for queue pair attributes: the fields of ib_uverbs_qp_attr about a connection.
struct QpSetup {
  std::uint32_t mask = 0;  // ibv_qp_attr_mask
  std::uint32_t access_flags = 0, qkey = 0;
  std::uint16_t pkey_index = 0;
  Path path;
  std::uint8_t sgid_index = 0;
  Negotiated negotiated;
};

// The kernel object behind an rdma_cm_id.
class RdmaId final : public ConnectionOwner, public management::SubnetQueryClient {
 public:
  enum class State : std::uint8_t {
    kIdle,
    kAddressBound,
    kAddressQuery,
    kAddressResolved,
    kRouteQuery,
    kRouteResolved,
    kConnect,
    kDisconnect,
    kListen,
  };

  RdmaId(RdmaCm& cm, PortSpace space, std::uint8_t qp_type, EventSink* sink);
  ~RdmaId();

  // Each returns 0 or -errno.
  int bind(const Address& address);
  int resolve_address(const Address& from, const Address& to, std::uint32_t timeout_ms);
  int resolve_route(std::uint32_t timeout_ms);
  int set_path(const Path& path);
  int listen(std::uint32_t backlog);
  int connect(const ConnectionParameters& parameters);
  // Without parameters, on the active side: the program's queue pair is ready, sends the RTU.
  int accept(const std::optional<ConnectionParameters>& parameters);
  int reject(std::uint8_t reason, const PrivateData& private_data);
  int disconnect();
  int notify_established();  // rdma_notify(IBV_EVENT_COMM_EST)
  // Joins the group of `address` under the number `group`, which no other group of this identifier has. An
  // event reports the result.
  int join(std::uint32_t group, const Address& address);
  void leave(std::uint32_t group);
  // Fills the attributes for a transition to `state`, an ibv_qp_state (rdma_init_qp_attr).
  int qp_setup(std::uint32_t state, QpSetup& setup) const;
  int set_reuse(bool on);
  int set_v6_only(bool on);
  int set_type_of_service(std::uint8_t value);
  int set_ack_timeout(std::uint8_t value);  // exponent: 4.096 us * 2^value

  PortSpace space() const { return space_; }
  const Address& source() const { return source_; }
  const Address& destination() const { return destination_; }
  // Whether the identifier has an adapter.
  bool has_device() const { return adapter_ != nullptr; }
  // The adapter's number on its host; 0 without an adapter.
  std::size_t device() const { return side().number; }
  const PortFacts& port() const { return side().port; }
  const std::optional<Path>& path() const { return path_; }
  std::uint16_t pkey() const;
  ib::Gid source_gid() const;
  std::uint8_t gid_index() const;  // index of source_gid()
  ib::Gid destination_gid() const { return destination_gid_; }
  // For a listener: the program has read the event of one request, which no longer counts against the
  // backlog.
  void note_request_taken() { --pending_requests_; }
  void set_sink(EventSink* sink) { sink_ = sink; }

 private:
  friend class RdmaCm;
  friend class MulticastMember;

  bool is_datagram() const { return space_ == PortSpace::kUdp || space_ == PortSpace::kIpoib; }
  std::uint64_t service_id() const;
  // Becomes the passive end of a requested connection.
  void take(RdmaCm::Adapter& adapter, std::unique_ptr<Connection> connection, const Path& path, const Address& own,
            const Address& peer);
  void on_connection_event(Connection& connection, const ConnectionEvent& event) override;
  void on_answer(const ib::Mad* answer) override;
  void on_path(int error, const Path& path);
  void on_timer();
  void on_address_resolved();
  RdmaCm::Adapter& side() const { return adapter_ != nullptr ? *adapter_ : *cm_.adapters_.front(); }
  void acquire_device(std::size_t number) { adapter_ = cm_.adapters_.at(number).get(); }

  Path ethernet_path() const;
  PrivateData with_addresses(const PrivateData& own) const;
  int connect_datagram(const ConnectionParameters& parameters);
  void emit(Event event);
  void emit(EventType type, std::int32_t status = 0) { emit(Event{.type = type, .status = status}); }

  RdmaCm& cm_;
  const PortSpace space_;
  const std::uint8_t qp_type_;  // ibv_qp_type
  EventSink* sink_;
  State state_ = State::kIdle;
  Address source_, destination_;
  ib::Gid destination_gid_;
  RdmaCm::Adapter* adapter_ = nullptr;
  bool has_port_ = false;
  bool reuse_ = false, v6_only_ = false;
  std::uint8_t type_of_service_ = 0;
  std::optional<std::uint8_t> ack_timeout_;
  std::uint32_t backlog_ = 0, pending_requests_ = 0;
  std::optional<Path> path_;
  std::uint32_t qpn_ = 0, qkey_ = 0;
  std::uint32_t sequence_ = 0;  // starting PSN
  std::unique_ptr<Connection> connection_;
  std::int32_t resolution_error_ = 0;
  std::map<std::uint32_t, std::unique_ptr<MulticastMember>> groups_;
  Timer timer_;
};

}  // namespace verbatim::cm
