// UDP datagrams and ICMP messages between simulated hosts. A packet takes the latency of the management network and the
// transmission time of its bytes; each direction between two hosts transmits one packet at a time. A packet is lost
// if a fault hits it; error messages are never lost.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "sim/supervisor/net/tcp.h"

namespace verbatim::supervisor {

struct IpPacket {
  enum class Kind : std::uint8_t {
    kData,         // datagram, or echo request of ICMP
    kUnreachable,  // ICMP error: no socket has received the datagram whose first bytes it contains
    kEchoReply,
  };

  Kind kind = Kind::kData;
  Endpoint from, to;
  std::vector<std::byte> bytes;
  int hops = 64;  // TTL or hop limit; the network has no routers
  int traffic_class = 0;
};

class PacketLinks {
 public:
  // Called when a packet arrives.
  using Deliver = std::function<void(std::size_t from_host, std::size_t to_host, IpPacket packet)>;

  PacketLinks(TcpNetwork& network, NetworkProtocol protocol, Deliver deliver);
  ~PacketLinks();

  // `headers`: bytes that are transmitted besides packet.bytes.
  void send(std::size_t from_host, std::size_t to_host, IpPacket packet, std::size_t headers);

 private:
  class Link;

  TcpNetwork& network_;
  NetworkProtocol protocol_;
  Deliver deliver_;
  std::map<std::pair<std::size_t, std::size_t>, std::unique_ptr<Link>> links_;  // by sender and receiver
};

}  // namespace verbatim::supervisor
