// TCP between simulated hosts: reliable byte streams over a management network with one latency, and one rate
// for each direction of a connection. A segment holds the bytes of one call. Only scripted faults lose
// segments. A lost segment is retransmitted after Linux' minimum timeout, 200 ms (1 s in the handshake),
// which doubles up to 120 s; later segments wait for it. After 15 retransmissions (6 in the handshake) the
// sender fails with ETIMEDOUT. Acknowledgements, window updates and resets are never lost. Connecting takes
// the three-way handshake. Closing sends a FIN, or an RST if received data was not read.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/engine.h"
#include "sim/core/trace.h"
#include "sim/supervisor/net/ephemeral_ports.h"
#include "sim/supervisor/net/group_membership.h"
#include "sim/supervisor/net/internet.h"
#include "sim/supervisor/net/ip_options.h"
#include "sim/supervisor/net/socket.h"
#include "sim/supervisor/spec/network_spec.h"

namespace verbatim::supervisor {

class TcpSocket;
class TcpConnection;

// Bound sockets of all hosts, and connections that have sockets or segments in flight.
class TcpNetwork {
 public:
  TcpNetwork(Engine& engine, Tracer& tracer, const std::vector<HostSpec>& hosts,
             const ManagementNetworkSpec& spec)
      : engine_(engine), tracer_(tracer), hosts_(hosts), spec_(spec) {}

  Engine& engine() { return engine_; }
  Tracer& tracer() { return tracer_; }
  const ManagementNetworkSpec& spec() const { return spec_; }
  const HostSpec& host(std::size_t index) const { return hosts_[index]; }
  // The host with `address`; loopback addresses belong to `from`. -1: no host.
  int host_of(const IpAddress& address, std::size_t from) const;
  // One-way latency between two hosts, or within one.
  Duration latency(std::size_t from, std::size_t to) const;
  // Loss or delay of a packet that leaves `from` for `to` at `when`; none within a host.
  NetworkFate fate_of(NetworkProtocol protocol, std::size_t from, std::size_t to, Instant when) const {
    return spec_.faults && from != to ? spec_.faults(protocol, from, to, when) : NetworkFate{};
  }
  // Whether packets of `host` for `remote` leave it, or are its own. False for multicast groups, to which nothing is sent.
  bool has_route(const IpAddress& remote, std::size_t host) const;
  // The source address of `host` for packets to `remote`, of the same family.
  IpAddress source_for(const IpAddress& remote, std::size_t host) const;

  bool port_in_use(std::size_t host, const Binding& wanted, bool reuse, bool reuse_port) const;
  // A free port of the host; 0: none is free.
  std::uint16_t ephemeral_port(std::size_t host);
  void bind(std::size_t host, TcpSocket* socket) { bound_[host].push_back(socket); }
  void unbind(std::size_t host, TcpSocket* socket) { std::erase(bound_[host], socket); }
  // The listening socket for `destination`; an exact address has precedence. nullptr: none. Of sockets that
  // share the port (SO_REUSEPORT), `source` selects one.
  TcpSocket* listener(std::size_t host, const Endpoint& destination, const Endpoint& source) const;

  // Creates a connection and sends the SYN. Errors, also an unreachable host, are reported to `client` later.
  std::shared_ptr<TcpConnection> connect(std::size_t from, const Endpoint& local, const Endpoint& remote,
                                         TcpSocket& client);
  std::uint64_t next_connection() { return ++connections_made_; }
  // Payload that sockets have sent to other hosts, in bytes.
  std::uint64_t bytes_between_hosts() const { return bytes_between_hosts_; }
  void count_payload(std::size_t from, std::size_t to, std::size_t bytes) {
    if (from != to) bytes_between_hosts_ += bytes;
  }
  // The network owns a connection until let_go().
  void hold(std::shared_ptr<TcpConnection> connection);
  void let_go(const TcpConnection& connection);

 private:
  Engine& engine_;
  Tracer& tracer_;
  const std::vector<HostSpec>& hosts_;
  ManagementNetworkSpec spec_;
  std::map<std::size_t, std::vector<TcpSocket*>> bound_;  // by host
  EphemeralPorts ephemeral_;
  std::uint64_t connections_made_ = 0;
  std::uint64_t bytes_between_hosts_ = 0;
  std::map<std::uint64_t, std::shared_ptr<TcpConnection>> held_;  // by number
};

// One direction of a connection: segments in flight, and the window of bytes that the receiver has not read.
class TcpStream {
 public:
  // kGivenUp is never transmitted: it ends the retransmissions of the sender.
  enum class Kind : std::uint8_t { kSyn, kSynAck, kAck, kData, kFin, kReset, kGivenUp };
  static constexpr std::size_t kWindow = 256 * 1024;
  static constexpr std::uint32_t kSegmentBytes = 1448;  // MSS on Ethernet with timestamps

  // Events are attributed to the host that causes them: arrivals to the sender, window updates to the
  // receiver.
  TcpStream(TcpNetwork& network, TcpConnection& connection, int direction, ComponentId sender, ComponentId receiver);

  // Bytes sent and not yet read by the receiver, as known to the sender; bytes that may be sent.
  std::size_t outstanding() const { return outstanding_; }
  std::size_t bytes_in_flight() const;
  std::size_t room() const { return kWindow - std::min(outstanding_, kWindow); }
  // Sends a segment with an additional delay `extra`. `error`: errno that arrives with it; 0: none.
  void send(Kind kind, std::vector<std::byte> bytes = {}, int error = 0, Duration extra = Duration::zero());
  // The receiver has read `bytes`: the sender's window opens one latency later.
  void consumed(std::size_t bytes);

 private:
  struct Segment {
    Instant arrival;
    Kind kind;
    int error;
    std::vector<std::byte> bytes;
  };
  struct Credit {
    Instant arrival;
    std::size_t bytes;
  };
  void on_arrival();
  void on_credit();
  // Delay by losses and faults of a segment first transmitted at `when`; nullopt: the sender gives up,
  // `*waited` after `when`.
  std::optional<Duration> held_up(Kind kind, Instant when, Duration* waited) const;

  TcpNetwork& network_;
  TcpConnection& connection_;
  int direction_;
  bool given_up_ = false;
  std::deque<Segment> segments_;
  std::deque<Credit> credits_;
  std::size_t outstanding_ = 0;
  Instant free_at_{};  // end of the last transmission at the direction's rate
  Timer arrival_timer_;
  Timer credit_timer_;
};

// Two streams and up to two sockets. The network owns it while it has sockets or segments in flight.
class TcpConnection : public std::enable_shared_from_this<TcpConnection> {
 public:
  TcpConnection(TcpNetwork& network, std::size_t client_host, std::size_t server_host, const Endpoint& client,
                const Endpoint& server);

  static constexpr int kToServer = 0;
  static constexpr int kToClient = 1;

  TcpStream& stream(int direction) { return direction == kToServer ? to_server_ : to_client_; }
  const Endpoint& endpoint(bool server) const { return server ? server_ : client_; }
  std::size_t host(bool server) const { return server ? server_host_ : client_host_; }
  std::uint64_t number() const { return number_; }
  Duration latency() const;

  TcpSocket* client_socket = nullptr;
  TcpSocket* server_socket = nullptr;

  void deliver(int direction, TcpStream::Kind kind, int error, std::vector<std::byte> bytes);
  void credit_arrived(int direction);
  void release_if_idle();
  int segments_in_flight = 0;

 private:
  void on_syn(int error);

  TcpNetwork& network_;
  std::size_t client_host_, server_host_;
  Endpoint client_, server_;
  std::uint64_t number_;
  int syn_tries_ = 0;
  TcpStream to_server_;
  TcpStream to_client_;
};

class TcpSocket final : public Socket, public std::enable_shared_from_this<TcpSocket> {
 public:
  enum class State : std::uint8_t { kFresh, kListening, kConnecting, kConnected, kFailed, kClosed };

  TcpSocket(TcpNetwork& network, std::size_t host, int family)
      : Socket(family, SOCK_STREAM), network_(network), host_(host), local_{any_address(family), 0} {}
  // The server's socket of an accepted connection.
  TcpSocket(TcpNetwork& network, std::size_t host, int family, std::shared_ptr<TcpConnection> connection);
  ~TcpSocket() override;

  std::uint32_t readiness() const override;
  std::string describe() const override;
  // Scripted faults count packets of the whole network.
  bool reaches_beyond_host() const override { return network_.spec().faults != nullptr; }
  int protocol() const override { return 6; }
  TcpSocket* as_tcp_socket() override { return this; }
  IoResult write(std::span<const std::byte> bytes) override;

  int bind(Process& process, Name name) override;
  int listen(Process& process, int backlog) override;
  IoResult connect(Process& process, Name name, bool again, VirtualFilePtr& wait_for) override;
  bool listening() const override { return state_ == State::kListening; }
  std::optional<InternetState> internet_state() const override;
  std::shared_ptr<Socket> accept() override;
  IoResult send(Process& process, OutgoingMessage& message) override;
  IoResult receive(std::size_t limit, bool peek, IncomingMessage& message) override;
  int shutdown(int how) override;
  int name(bool peer, std::vector<std::byte>& bytes) const override;
  std::size_t readable_bytes() const override { return received_.size(); }
  int set_option(int level, int option, int value) override;
  int get_option(int level, int option, int* value) const override;
  std::vector<std::byte> structured_option(int level, int option) const override;
  std::optional<int> set_structured_option(int level, int option, std::span<const std::byte> value) override;
  int take_error() override;

  State state() const { return state_; }
  const Endpoint& local() const { return local_; }
  const Endpoint& remote() const { return remote_; }
  Binding binding() const { return {local_, v6_only_}; }

  // Called by the connection.
  void on_connected();
  void on_failed(int error);
  void on_data(std::vector<std::byte> bytes);
  void on_fin();
  void on_credit() { notify(); }
  bool has_backlog_room() const { return pending_ < backlog_; }
  void add_pending() { ++pending_; }
  void on_established(std::shared_ptr<TcpSocket> socket);

 protected:
  void on_last_close() override;

 private:
  int bind_to(Endpoint local);
  // Frees the port, resets connections not yet accepted, and leaves the connection; `resets`: with RST.
  void release(bool resets);
  // Dissolves the connection or stops listening. The socket keeps what bind() has set.
  void disconnect();
  int use_ipv4_form();
  // Starts the handshake: -EINPROGRESS.
  int start(const Endpoint& remote);
  TcpStream& outgoing() const;
  TcpStream& incoming();

  TcpNetwork& network_;
  std::size_t host_;
  State state_ = State::kFresh;
  Endpoint local_, remote_;
  bool bound_ = false;
  Endpoint named_;  // address and port that bind() named; unspecified: not named
  IpOptions options_;
  bool v6_only_ = false;
  bool no_delay_ = false;
  bool is_server_ = false;
  int backlog_ = 0;
  int pending_ = 0;  // handshakes begun whose sockets were not accepted
  std::deque<std::shared_ptr<TcpSocket>> accepted_;
  std::shared_ptr<TcpConnection> connection_;
  std::deque<std::byte> received_;
  bool fin_received_ = false;
  bool was_connected_ = false;
  bool has_unreported_success_ = false;  // a nonblocking connect() has not reported its success
  bool read_closed_ = false;
  bool write_closed_ = false;
  int error_ = 0;
  GroupMemberships memberships_;
};

}  // namespace verbatim::supervisor
