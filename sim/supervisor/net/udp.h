// UDP between simulated hosts. A datagram is also lost if no host has its address. If no socket receives it, the sender
// gets an ICMP error (port unreachable): ECONNREFUSED at its next call if it is connected or queues errors
// (IP_RECVERR).
#pragma once

#include <map>
#include <optional>

#include "sim/supervisor/net/datagram_socket.h"

namespace verbatim::supervisor {

class UdpSocket;

class UdpNetwork {
 public:
  explicit UdpNetwork(TcpNetwork& network);

  TcpNetwork& hosts() { return network_; }
  bool port_in_use(std::size_t host, const Binding& wanted, const UdpSocket* self, bool reuse) const;
  std::uint16_t ephemeral_port(std::size_t host);
  void bind(std::size_t host, UdpSocket* socket) { bound_[host].push_back(socket); }
  void unbind(std::size_t host, UdpSocket* socket) { std::erase(bound_[host], socket); }
  void send(std::size_t from_host, IpPacket datagram);

 private:
  UdpSocket* receiver(std::size_t host, const Endpoint& to, const Endpoint& from) const;
  void deliver(std::size_t from_host, std::size_t host, IpPacket packet);

  TcpNetwork& network_;
  std::map<std::size_t, std::vector<UdpSocket*>> bound_;  // by host
  PacketLinks links_;
  EphemeralPorts ephemeral_;
};

class UdpSocket final : public DatagramSocket {
 public:
  UdpSocket(UdpNetwork& network, std::size_t host, int family)
      : DatagramSocket(network.hosts(), host, family), udp_(network) {}
  ~UdpSocket() override;

  int protocol() const override { return 17; }
  std::string describe() const override { return "UDP socket " + to_string(binding().local); }
  IoResult write(std::span<const std::byte> bytes) override { return send_to(bytes, {}, false); }
  IoResult send(Process& process, OutgoingMessage& message) override;
  int set_option(int level, int option, int value) override;
  int get_option(int level, int option, int* value) const override;

 protected:
  int bind_to(Endpoint local) override;
  void on_last_close() override;

 private:
  IoResult send_to(std::span<const std::byte> bytes, Name to, bool is_continued);
  IoResult append(std::span<const std::byte> bytes, bool is_continued);

  UdpNetwork& udp_;
  bool is_corked_ = false;          // UDP_CORK
  std::optional<IpPacket> corked_;  // a datagram whose bytes are sent in parts (MSG_MORE, UDP_CORK)
};

}  // namespace verbatim::supervisor
