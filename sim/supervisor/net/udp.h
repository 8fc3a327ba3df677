// UDP between simulated hosts. A datagram takes the latency of the management network and the transmission
// time of its bytes. It is lost if a fault hits it, no host has its address, or the receive buffer is full.
// If no socket receives it, a connected sender gets ECONNREFUSED (ICMP port unreachable). Multicast and
// broadcast datagrams are refused; joining a group is not.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "sim/supervisor/net/group_membership.h"
#include "sim/supervisor/net/tcp.h"

namespace verbatim::supervisor {

class UdpSocket;

class UdpNetwork {
 public:
  explicit UdpNetwork(TcpNetwork& network);
  ~UdpNetwork();

  TcpNetwork& hosts() { return network_; }
  bool port_in_use(std::size_t host, const Binding& wanted, const UdpSocket* self, bool reuse) const;
  std::uint16_t ephemeral_port(std::size_t host);
  void bind(std::size_t host, UdpSocket* socket) { bound_[host].push_back(socket); }
  void unbind(std::size_t host, UdpSocket* socket) { std::erase(bound_[host], socket); }
  void send(std::size_t from_host, const Endpoint& from, const Endpoint& to, std::vector<std::byte> bytes);

 private:
  class Link;
  UdpSocket* receiver(std::size_t host, const Endpoint& to, const Endpoint& from) const;
  void deliver(std::size_t host, const Endpoint& from, const Endpoint& to, std::size_t from_host,
               std::vector<std::byte> bytes, bool unreachable);
  Link& link(std::size_t from, std::size_t to);

  TcpNetwork& network_;
  std::map<std::size_t, std::vector<UdpSocket*>> bound_;
  std::map<std::pair<std::size_t, std::size_t>, std::unique_ptr<Link>> links_;
  EphemeralPorts ephemeral_;
};

class UdpSocket final : public Socket, public std::enable_shared_from_this<UdpSocket> {
 public:
  UdpSocket(UdpNetwork& network, std::size_t host, int family)
      : Socket(family, SOCK_DGRAM), network_(network), host_(host), local_{any_address(family), 0} {}
  ~UdpSocket() override;

  int protocol() const override { return 17; }
  std::uint32_t readiness() const override;
  std::string describe() const override { return "UDP socket " + to_string(local_); }
  bool reaches_beyond_host() const override { return true; }  // its calls are never executed early
  IoResult write(std::span<const std::byte> bytes) override { return send_to(bytes, {}, false); }

  int bind(Process& process, Name name) override;
  IoResult connect(Process& process, Name name, bool again, VirtualFilePtr& wait_for) override;
  IoResult send(Process& process, OutgoingMessage& message) override;
  IoResult receive(std::size_t limit, bool peek, IncomingMessage& message) override;
  int shutdown(int how) override;
  int name(bool peer, std::vector<std::byte>& bytes) const override;
  std::size_t readable_bytes() const override { return queue_.empty() ? 0 : queue_.front().bytes.size(); }
  int set_option(int level, int option, int value) override;
  int get_option(int level, int option, int* value) const override;
  std::optional<int> set_structured_option(int level, int option, std::span<const std::byte> value) override {
    return memberships_.set_option(level, option, value, network_.hosts().host(host_));
  }
  int take_error() override;

  Binding binding() const { return {local_, v6_only_}; }
  // A connected socket receives from its peer only.
  bool hears(const Endpoint& from) const { return !connected_ || remote_ == from; }
  bool connected() const { return connected_; }
  void on_datagram(const Endpoint& from, std::vector<std::byte> bytes);
  void on_unreachable();

 protected:
  void on_last_close() override;

 private:
  struct Datagram {
    Endpoint from;
    std::vector<std::byte> bytes;
  };
  // A datagram whose bytes are sent in parts (MSG_MORE, UDP_CORK).
  struct Corked {
    Endpoint from, to;
    std::vector<std::byte> bytes;
  };
  IoResult send_to(std::span<const std::byte> bytes, Name to, bool is_continued);
  IoResult append(std::span<const std::byte> bytes, bool is_continued);
  int bind_to(Endpoint local);

  UdpNetwork& network_;
  std::size_t host_;
  GroupMemberships memberships_;
  Endpoint local_, remote_;
  bool bound_ = false, connected_ = false, v6_only_ = false, read_closed_ = false, write_closed_ = false;
  bool is_corked_ = false;  // UDP_CORK
  std::optional<Corked> corked_;
  int error_ = 0;
  std::deque<Datagram> queue_;
  std::size_t queued_bytes_ = 0;
};

}  // namespace verbatim::supervisor
