// Sockets that exist but carry no data: what libraries open to look around.
#pragma once

#include "sim/supervisor/tcp.h"
#include "sim/supervisor/virtual_file.h"

namespace verbatim::supervisor {

// IPv4 datagram socket. connect() fixes the peer and thereby the local address, which is what getaddrinfo asks for when
// it sorts addresses; nothing can be sent.
class DatagramSocket final : public VirtualFile {
 public:
  std::uint32_t readiness() const override { return POLLOUT; }
  std::string describe() const override { return "UDP socket"; }
  Endpoint local, remote;
};

// AF_UNIX socket: nobody listens anywhere.
class UnixSocket final : public VirtualFile {
 public:
  std::uint32_t readiness() const override { return POLLOUT | POLLHUP; }
  std::string describe() const override { return "unconnected AF_UNIX socket"; }
};

}  // namespace verbatim::supervisor
