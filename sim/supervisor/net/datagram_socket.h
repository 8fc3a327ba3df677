// Common base of UDP and ping sockets: received packets, ICMP errors (IP_RECVERR), control data (IP_PKTINFO, IP_RECVTTL,
// IP_RECVTOS and those of ipv6(7)). Multicast and broadcast addresses are refused; joining a group is not.
#pragma once

#include <deque>
#include <optional>

#include "sim/supervisor/net/group_membership.h"
#include "sim/supervisor/net/ip_options.h"
#include "sim/supervisor/net/packet_links.h"

namespace verbatim::supervisor {

class DatagramSocket : public Socket {
 public:
  DatagramSocket(TcpNetwork& network, std::size_t host, int family)
      : Socket(family, SOCK_DGRAM), network_(network), host_(host), local_{any_address(family), 0} {}

  std::uint32_t readiness() const override;
  bool reaches_beyond_host() const override { return true; }  // its calls are never executed early

  int bind(Process& process, Name name) override;
  IoResult connect(Process& process, Name name, bool again, VirtualFilePtr& wait_for) override;
  IoResult receive(std::size_t limit, bool peek, IncomingMessage& message) override;
  IoResult receive_error(std::size_t limit, IncomingMessage& message) override;
  bool stamps_arrivals() const override { return true; }
  std::optional<InternetState> internet_state() const override;
  int shutdown(int how) override;
  int name(bool peer, std::vector<std::byte>& bytes) const override;
  std::size_t readable_bytes() const override { return queue_.empty() ? 0 : queue_.front().packet.bytes.size(); }
  int set_option(int level, int option, int value) override;
  int get_option(int level, int option, int* value) const override;
  std::optional<int> set_structured_option(int level, int option, std::span<const std::byte> value) override {
    return memberships_.set_option(level, option, value, network_.host(host_));
  }
  int take_error() override { return std::exchange(error_, 0); }

  Binding binding() const { return {local_, v6_only_}; }
  bool connected() const { return connected_; }
  // A connected socket receives from its peer only.
  bool hears(const Endpoint& from) const { return !connected_ || remote_ == from; }
  // A packet that does not fit into the receive buffer is lost.
  void on_packet(IpPacket packet);
  // `error`: the ICMP message. It contains the first bytes of a datagram to error.from, whose host has sent it.
  void on_unreachable(IpPacket error);

 protected:
  // 0 or -errno. A port of 0 is replaced by a free one.
  virtual int bind_to(Endpoint local) = 0;

  std::size_t host() const { return host_; }
  TcpNetwork& network() const { return network_; }
  bool is_bound() const { return bound_; }
  void set_bound(const Endpoint& local);
  // Returns whether it was bound.
  bool unbind() { return std::exchange(bound_, false); }
  // The packet without its bytes, to the address in `to` or the peer; binds the socket first. nullopt and -errno.
  std::optional<IpPacket> packet_to(Name to, int* error);
  // -errno of an earlier packet, or because of shutdown(2); 0: none.
  int refusal_to_send();
  // -EMSGSIZE if the socket forbids fragments (IP_PMTUDISC_DO, IP_PMTUDISC_PROBE) and `packet` with `length` bytes
  // behind its IP header is longer than the MTU, else 0. The error is also queued.
  int refusal_of_length(const IpPacket& packet, std::size_t length);
  bool is_own(const IpAddress& address) const { return network_.host_of(address, host_) == static_cast<int>(host_); }

 private:
  struct Received {
    IpPacket packet;
    Instant arrival;
    int mtu = 0;  // in errors: 0: an ICMP message; otherwise the packet was longer than this MTU
  };
  void add_control(const Received& received, IncomingMessage& message) const;
  void add_packet_control(const IpPacket& packet, IncomingMessage& message) const;
  bool queues_errors() const;
  // Bytes of the largest packet to the address.
  int mtu_to(const IpAddress& address) const;

  TcpNetwork& network_;
  std::size_t host_;
  GroupMemberships memberships_;
  IpOptions options_;
  Endpoint local_, remote_;
  bool bound_ = false, connected_ = false, v6_only_ = false, read_closed_ = false, write_closed_ = false;
  int error_ = 0;
  std::deque<Received> queue_, errors_;
  std::size_t queued_bytes_ = 0;
};

}  // namespace verbatim::supervisor
