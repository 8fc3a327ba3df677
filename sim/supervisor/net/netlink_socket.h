// rtnetlink, as getifaddrs(3), getaddrinfo(3) and ip(8) use it: interfaces, addresses and routes of the host, which are
// constant during a run; NETLINK_RDMA, as rdma(8) uses it (rdma_netlink.h); NETLINK_KOBJECT_UEVENT, as udev's monitors and
// SPDK use it, on which nothing arrives; and NETLINK_SOCK_DIAG, which answers as a Linux without its modules, so that ss(8)
// reads /proc/net. All are read-only.
#pragma once

#include <linux/netlink.h>

#include <cerrno>
#include <deque>

#include "sim/supervisor/net/socket.h"
#include "sim/supervisor/spec/host_spec.h"

namespace verbatim::supervisor {

class NetlinkSocket final : public Socket {
 public:
  // `protocol`: NETLINK_ROUTE, NETLINK_RDMA, NETLINK_KOBJECT_UEVENT or NETLINK_SOCK_DIAG.
  NetlinkSocket(const HostSpec& host, int type, int protocol) : Socket(AF_NETLINK, type), host_(host), protocol_(protocol) {}

  bool reaches_beyond_host() const override { return protocol_ == NETLINK_RDMA; }

  std::uint32_t readiness() const override;
  std::string describe() const override { return "netlink socket"; }
  int bind(Process& process, Name name) override;
  IoResult connect(Process& process, Name name, bool again, VirtualFilePtr& wait_for) override;
  IoResult send(Process& process, OutgoingMessage& message) override;
  IoResult receive(std::size_t limit, bool peek, IncomingMessage& message) override;
  int shutdown(int) override { return -EOPNOTSUPP; }
  int name(bool peer, std::vector<std::byte>& bytes) const override;
  std::size_t readable_bytes() const override { return answers_.empty() ? 0 : answers_.front().size(); }
  int set_option(int, int, int) override { return 0; }
  // A message of another part of the kernel: the notification of a POSIX message queue.
  void deliver(std::vector<std::byte> message) {
    answers_.push_back(std::move(message));
    notify();
  }

 private:
  const HostSpec& host_;
  const int protocol_;
  std::uint32_t port_ = 0;  // nl_pid
  std::deque<std::vector<std::byte>> answers_;
};

}  // namespace verbatim::supervisor
