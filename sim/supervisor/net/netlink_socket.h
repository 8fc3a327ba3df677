// rtnetlink, as getifaddrs(3), getaddrinfo(3) and ip(8) use it: interfaces, addresses and routes of the host.
// Read-only, and constant during a run.
#pragma once

#include <cerrno>
#include <deque>

#include "sim/supervisor/net/socket.h"
#include "sim/supervisor/spec/host_spec.h"

namespace verbatim::supervisor {

class NetlinkSocket final : public Socket {
 public:
  NetlinkSocket(const HostSpec& host, int type) : Socket(AF_NETLINK, type), host_(host) {}

  std::uint32_t readiness() const override;
  std::string describe() const override { return "netlink socket"; }
  IoResult read(std::size_t limit, std::vector<std::byte>& bytes) override;
  int bind(Process& process, Name name) override;
  IoResult connect(Process& process, Name name, bool again, VirtualFilePtr& wait_for) override;
  IoResult send(Process& process, OutgoingMessage& message) override;
  IoResult receive(std::size_t limit, bool peek, IncomingMessage& message) override;
  int shutdown(int) override { return -EOPNOTSUPP; }
  int name(bool peer, std::vector<std::byte>& bytes) const override;
  std::size_t readable_bytes() const override { return answers_.empty() ? 0 : answers_.front().size(); }
  int set_option(int, int, int) override { return 0; }

 private:
  const HostSpec& host_;
  std::uint32_t port_ = 0;  // nl_pid
  std::deque<std::vector<std::byte>> answers_;
};

}  // namespace verbatim::supervisor
