// Sockets for echo requests of ICMP and ICMPv6 (icmp(7): SOCK_DGRAM with IPPROTO_ICMP), which ping uses. Every host
// answers. The identifier of a socket's requests is its port number.
#pragma once

#include <map>

#include "sim/supervisor/net/datagram_socket.h"

namespace verbatim::supervisor {

class PingSocket;

class PingNetwork {
 public:
  explicit PingNetwork(TcpNetwork& network);

  TcpNetwork& hosts() { return network_; }
  // Any free one if `wanted` is 0; 0: it is in use.
  std::uint16_t identifier(std::size_t host, std::uint16_t wanted);
  void bind(std::size_t host, PingSocket* socket) { bound_[host].push_back(socket); }
  void unbind(std::size_t host, PingSocket* socket) { std::erase(bound_[host], socket); }
  // `request`: its bytes begin with the ICMP header.
  void send(std::size_t from_host, IpPacket request);

 private:
  PingSocket* socket_with(std::size_t host, std::uint16_t identifier) const;
  void deliver(std::size_t from_host, std::size_t host, IpPacket packet);

  TcpNetwork& network_;
  std::map<std::size_t, std::vector<PingSocket*>> bound_;  // by host
  std::map<std::size_t, std::uint16_t> last_;              // by host: the identifier that was chosen last
  PacketLinks links_;
};

class PingSocket final : public DatagramSocket {
 public:
  PingSocket(PingNetwork& network, std::size_t host, int family)
      : DatagramSocket(network.hosts(), host, family), network_(network) {}
  ~PingSocket() override;

  int protocol() const override;
  std::string describe() const override { return "ICMP socket"; }
  IoResult write(std::span<const std::byte> bytes) override { return send_to(bytes, {}); }
  IoResult send(Process& process, OutgoingMessage& message) override;

 protected:
  int bind_to(Endpoint local) override;
  void on_last_close() override;

 private:
  IoResult send_to(std::span<const std::byte> bytes, Name to);

  PingNetwork& network_;
};

}  // namespace verbatim::supervisor
