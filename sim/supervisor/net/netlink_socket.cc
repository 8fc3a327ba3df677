#include "sim/supervisor/net/netlink_socket.h"

#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_vlan.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "sim/supervisor/net/interfaces.h"
#include "sim/supervisor/net/netlink_message.h"
#include "sim/supervisor/net/rdma_netlink.h"
#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

namespace {

// Attributes of a VLAN interface, as Linux' 8021q module reports them.
void add_vlan(NetlinkMessage& message, const Interface::Vlan& vlan) {
  message.add(IFLA_LINK, static_cast<std::uint32_t>(vlan.parent));
  message.add_nested(IFLA_LINKINFO, [&] {
    message.add(IFLA_INFO_KIND, std::string("vlan"));
    message.add_nested(IFLA_INFO_DATA, [&] {
      const std::uint16_t protocol = htons(ETH_P_8021Q);
      const ifla_vlan_flags flags{VLAN_FLAG_REORDER_HDR, ~0u};
      message.add(IFLA_VLAN_PROTOCOL, &protocol, sizeof protocol);
      message.add(IFLA_VLAN_ID, &vlan.id, sizeof vlan.id);
      message.add(IFLA_VLAN_FLAGS, &flags, sizeof flags);
    });
  });
}

void add_links(const HostSpec& host, const nlmsghdr& request, std::uint32_t port, int index,
               const std::string& name, std::vector<std::byte>& answer) {
  for (const Interface& one : interfaces_of(host)) {
    if ((index != 0 && one.index != index) || (!name.empty() && !one.has_name(name))) continue;
    ifinfomsg body{};
    body.ifi_family = AF_UNSPEC;
    body.ifi_type = one.kind;
    body.ifi_index = one.index;
    body.ifi_flags = one.flags;
    NetlinkMessage message(RTM_NEWLINK, request.nlmsg_seq, port, body);
    message.add(IFLA_IFNAME, one.name);
    message.add(IFLA_TXQLEN, 1000);
    const std::uint8_t up = 6;  // IF_OPER_UP
    message.add(IFLA_OPERSTATE, &up, sizeof up);
    message.add(IFLA_MTU, one.mtu);
    message.add(IFLA_QDISC, one.is_loopback() || one.vlan ? std::string("noqueue") : std::string("fq"));
    message.add(IFLA_ADDRESS, one.hardware.data(), one.hardware.size());
    message.add(IFLA_BROADCAST, one.broadcast.data(), one.broadcast.size());
    if (one.vlan) add_vlan(message, *one.vlan);
    if (!name.empty() && name == one.other_name)
      message.add_nested(IFLA_PROP_LIST | NLA_F_NESTED, [&] { message.add(IFLA_ALT_IFNAME, one.other_name); });
    const rtnl_link_stats64 statistics{};
    message.add(IFLA_STATS64, &statistics, sizeof statistics);
    message.end(answer);
  }
}

void add_addresses(const HostSpec& host, const nlmsghdr& request, std::uint32_t port, int family, int index,
                   std::vector<std::byte>& answer) {
  const auto add = [&](const Interface& interface, const IpAddress& address, std::uint32_t prefix) {
    const bool v4 = address.is_v4();
    if ((family != AF_UNSPEC && family != (v4 ? AF_INET : AF_INET6)) || (index != 0 && index != interface.index))
      return;
    const std::uint8_t scope = interface.is_loopback() ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE;
    const ifaddrmsg body{static_cast<std::uint8_t>(v4 ? AF_INET : AF_INET6), static_cast<std::uint8_t>(prefix), IFA_F_PERMANENT,
                         scope, static_cast<std::uint32_t>(interface.index)};
    NetlinkMessage message(RTM_NEWADDR, request.nlmsg_seq, port, body);
    const std::uint8_t* bytes = address.bytes().data() + (v4 ? 12 : 0);
    const std::size_t size = v4 ? 4 : 16;
    message.add(IFA_ADDRESS, bytes, size);
    if (v4) {
      message.add(IFA_LOCAL, bytes, size);
      if (!interface.is_loopback()) message.add(IFA_BROADCAST, htonl(interface.broadcast_v4()));
      message.add(IFA_LABEL, interface.name);
    }
    message.add(IFA_FLAGS, IFA_F_PERMANENT);
    const ifa_cacheinfo for_ever{0xffffffff, 0xffffffff, 0, 0};
    message.add(IFA_CACHEINFO, &for_ever, sizeof for_ever);
    message.end(answer);
  };
  const std::vector<Interface> interfaces = interfaces_of(host);
  for (const Interface& one : interfaces) add(one, one.v4, one.prefix_bits);
  for (const Interface& one : interfaces) add(one, one.v6, one.prefix6_bits);
}

// Directly attached networks; there is no default route.
void add_routes(const HostSpec& host, const nlmsghdr& request, std::uint32_t port, int family,
                std::vector<std::byte>& answer) {
  const auto add = [&](const IpAddress& network, std::uint8_t prefix, const IpAddress& source, int interface) {
    const bool v4 = network.is_v4();
    if (family != AF_UNSPEC && family != (v4 ? AF_INET : AF_INET6)) return;
    const rtmsg body{static_cast<std::uint8_t>(v4 ? AF_INET : AF_INET6),
                     prefix,
                     0,
                     0,
                     RT_TABLE_MAIN,
                     RTPROT_KERNEL,
                     RT_SCOPE_LINK,
                     RTN_UNICAST,
                     0};
    NetlinkMessage message(RTM_NEWROUTE, request.nlmsg_seq, port, body);
    message.add(RTA_TABLE, RT_TABLE_MAIN);
    message.add(RTA_DST, network.bytes().data() + (v4 ? 12 : 0), v4 ? 4 : 16);
    if (v4) message.add(RTA_PREFSRC, source.bytes().data() + 12, 4);
    message.add(RTA_OIF, static_cast<std::uint32_t>(interface));
    message.end(answer);
  };
  const std::vector<ib::IpInterface> own = addresses_of(host);
  const std::vector<ib::IpRoute> routes = routes_of(host);
  for (const ib::IpRoute& route : routes) {
    add(IpAddress::v4(route.network.address), static_cast<std::uint8_t>(route.network.prefix_bits),
        IpAddress::v4(own[route.adapter].address), interface_index(route.adapter));
  }
  constexpr std::uint8_t kPrefix6 = 64;
  for (const ib::IpRoute& route : routes) {
    add(IpAddress::v6(ib::ipv6_gid(0, route.network.subnet6).raw), kPrefix6, IpAddress::v6(own[route.adapter].v6().raw),
        interface_index(route.adapter));
  }
}

// Attributes of a request for the route to one address.
struct RouteQuestion {
  std::optional<IpAddress> to, from;
  std::uint32_t interface = 0;  // 0: any
};

RouteQuestion route_question(int family, std::span<const std::byte> request) {
  RouteQuestion question;
  const std::size_t size = family == AF_INET ? 4 : 16;
  for_each_attribute(request, sizeof(rtmsg), [&](std::uint16_t type, std::span<const std::byte> value) {
    if (type == RTA_OIF && value.size() >= sizeof question.interface) {
      std::memcpy(&question.interface, value.data(), sizeof question.interface);
    }
    if ((type != RTA_DST && type != RTA_SRC) || value.size() < size) return;
    std::uint32_t v4 = 0;
    std::array<std::uint8_t, 16> v6{};
    std::memcpy(family == AF_INET ? static_cast<void*>(&v4) : v6.data(), value.data(), size);
    (type == RTA_DST ? question.to : question.from) = family == AF_INET ? IpAddress::v4(ntohl(v4)) : IpAddress::v6(v6);
  });
  return question;
}

// Outgoing interface and source address of packets to an address.
struct FoundRoute {
  bool is_local = false;
  int interface = 0;
  IpAddress source;
};

std::optional<FoundRoute> find_route(const HostSpec& host, const RouteQuestion& question) {
  if (!question.to) return std::nullopt;
  const IpAddress& to = *question.to;
  const std::vector<Interface> interfaces = interfaces_of(host);
  const auto is_own = [&](const IpAddress& address) {
    return std::ranges::any_of(interfaces, [&](const Interface& one) { return one.v4 == address || one.v6 == address; });
  };
  if (question.from && !is_own(*question.from)) return std::nullopt;
  for (const Interface& one : interfaces) {
    if (one.v4 == to || one.v6 == to) return FoundRoute{true, kLoopbackIndex, to};
    if (one.is_loopback() && to.is_v4() && to.loopback()) return FoundRoute{true, kLoopbackIndex, one.v4};
  }
  const std::vector<ib::IpInterface> own = addresses_of(host);
  for (const ib::IpRoute& route : routes_of(host)) {
    const int interface = interface_index(route.adapter);
    if (question.interface != 0 && static_cast<int>(question.interface) != interface) continue;
    if (to.is_v4()) {
      if (ib::network_of(to.as_v4(), route.network.prefix_bits) != route.network.address) continue;
      return FoundRoute{false, interface, IpAddress::v4(own[route.adapter].address)};
    }
    const ib::Gid network = ib::ipv6_gid(0, route.network.subnet6);
    if (!std::equal(network.raw, network.raw + 8, to.bytes().begin())) continue;
    return FoundRoute{false, interface, IpAddress::v6(own[route.adapter].v6().raw)};
  }
  // With an interface but no matching route, Linux assumes that an IPv4 address is on that link.
  for (const Interface& one : interfaces) {
    if (to.is_v4() && question.interface != 0 && one.index == static_cast<int>(question.interface)) {
      return FoundRoute{false, one.index, one.v4};
    }
  }
  return std::nullopt;
}

// Appends a route to `answer`; 0 or -errno.
int add_route(const HostSpec& host, const nlmsghdr& request, std::uint32_t port, int family, std::span<const std::byte> bytes,
              std::vector<std::byte>& answer) {
  if (family != AF_INET && family != AF_INET6) return -EOPNOTSUPP;
  const RouteQuestion question = route_question(family, bytes);
  const std::optional<FoundRoute> found = find_route(host, question);
  if (!found) return -ENETUNREACH;
  const bool v4 = family == AF_INET;
  const auto size = static_cast<std::uint8_t>(v4 ? 4 : 16);
  const auto bits = static_cast<std::uint8_t>(size * 8);
  const auto address = [&](const IpAddress& of) { return of.bytes().data() + (v4 ? 12 : 0); };
  constexpr std::uint32_t kLocal = 0x80000000;  // RTCF_LOCAL
  rtmsg body{};
  body.rtm_family = static_cast<std::uint8_t>(family);
  body.rtm_dst_len = bits;
  body.rtm_src_len = question.from || !v4 ? bits : std::uint8_t{0};
  body.rtm_table = !v4 && found->is_local ? RT_TABLE_LOCAL : RT_TABLE_MAIN;
  body.rtm_protocol = v4 ? RTPROT_UNSPEC : RTPROT_KERNEL;
  body.rtm_type = found->is_local ? RTN_LOCAL : RTN_UNICAST;
  body.rtm_flags = v4 ? RTM_F_CLONED | (found->is_local ? kLocal : 0) : 0;
  NetlinkMessage message(RTM_NEWROUTE, request.nlmsg_seq, port, body);
  message.add(RTA_TABLE, body.rtm_table);
  message.add(RTA_DST, address(*question.to), size);
  if (question.from || !v4) message.add(RTA_SRC, address(question.from.value_or(IpAddress{})), size);
  message.add(RTA_OIF, static_cast<std::uint32_t>(found->interface));
  if (!question.from || !v4) message.add(RTA_PREFSRC, address(found->source), size);
  if (v4) {
    message.add(RTA_UID, 0);
  } else {
    const std::uint8_t medium = 0;  // router preference
    message.add(RTA_PRIORITY, found->is_local ? 0 : 256);
    message.add(RTA_PREF, &medium, sizeof medium);
  }
  const rta_cacheinfo used{};
  message.add(RTA_CACHEINFO, &used, sizeof used);
  message.end(answer);
  return 0;
}

// Splits a list into datagrams of whole messages, as long as Linux': getifaddrs(3) has a buffer of 4096
// bytes.
void push_list(const std::vector<std::byte>& list, std::deque<std::vector<std::byte>>& datagrams) {
  constexpr std::size_t kMostBytes = 3776;  // NLMSG_GOODSIZE
  std::vector<std::byte> datagram;
  for (std::size_t at = 0; at < list.size();) {
    std::uint32_t length;
    std::memcpy(&length, list.data() + at, sizeof length);
    const auto message = std::span(list).subspan(at, NLMSG_ALIGN(length));
    if (!datagram.empty() && datagram.size() + message.size() > kMostBytes) datagrams.push_back(std::exchange(datagram, {}));
    datagram.insert(datagram.end(), message.begin(), message.end());
    at += message.size();
  }
  if (!datagram.empty()) datagrams.push_back(std::move(datagram));
}

// The name in a request for one interface, which may name it by index instead.
std::string named_interface(std::span<const std::byte> request) {
  std::string name;
  for_each_attribute(request, sizeof(ifinfomsg), [&](std::uint16_t type, std::span<const std::byte> value) {
    const auto* text = reinterpret_cast<const char*>(value.data());
    if (type == IFLA_IFNAME) name.assign(text, strnlen(text, value.size()));
  });
  return name;
}

}  // namespace

std::uint32_t NetlinkSocket::readiness() const {
  return POLLOUT | POLLWRNORM | (answers_.empty() ? 0 : POLLIN | POLLRDNORM);
}

int NetlinkSocket::bind(Process& process, Name name) {
  sockaddr_nl wanted;
  if (name.size() < sizeof wanted) return -EINVAL;
  std::memcpy(&wanted, name.data(), sizeof wanted);
  if (wanted.nl_family != AF_NETLINK) return -EINVAL;
  port_ = wanted.nl_pid != 0 ? wanted.nl_pid : process.pid();
  return 0;
}

IoResult NetlinkSocket::connect(Process& process, Name, bool, VirtualFilePtr&) {
  if (port_ == 0) port_ = process.pid();
  return 0;
}

IoResult NetlinkSocket::send(Process& process, OutgoingMessage& message) {
  if (protocol_ == NETLINK_KOBJECT_UEVENT) return -EPERM;
  if (port_ == 0) port_ = process.pid();
  const std::span<const std::byte> bytes = message.bytes;
  nlmsghdr request;
  if (bytes.size() < sizeof request) return -EINVAL;
  std::memcpy(&request, bytes.data(), sizeof request);
  const std::span<const std::byte> body = bytes.subspan(sizeof request);
  const int family = body.empty() ? AF_UNSPEC : static_cast<int>(body[0]);
  const bool all = (request.nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
  std::vector<std::byte> answer;
  int error = 0;
  if (protocol_ == NETLINK_SOCK_DIAG) {
    error = -ENOENT;
  } else if (protocol_ == NETLINK_RDMA) {
    error = answer_rdma(host_, request, bytes, port_, answer);
  } else if (request.nlmsg_type == RTM_GETLINK) {
    ifinfomsg wanted{};
    std::memcpy(&wanted, body.data(), std::min(body.size(), sizeof wanted));
    add_links(host_, request, port_, all ? 0 : wanted.ifi_index, all ? std::string() : named_interface(bytes),
              answer);
    if (answer.empty()) error = -ENODEV;
  } else if (request.nlmsg_type == RTM_GETADDR && all) {
    ifaddrmsg wanted{};
    std::memcpy(&wanted, body.data(), std::min(body.size(), sizeof wanted));
    const bool strict = body.size() >= sizeof wanted;
    add_addresses(host_, request, port_, family, strict ? static_cast<int>(wanted.ifa_index) : 0, answer);
  } else if (request.nlmsg_type == RTM_GETROUTE && all) {
    add_routes(host_, request, port_, family, answer);
  } else if (request.nlmsg_type == RTM_GETROUTE) {
    error = add_route(host_, request, port_, family, bytes, answer);
  } else if (!all || request.nlmsg_type < RTM_BASE || request.nlmsg_type > RTM_MAX) {
    error = -EOPNOTSUPP;
  }  // other lists (neighbours, rules) are empty
  if (error != 0 || !all) {
    const bool has_answer = !answer.empty();
    if (has_answer) {
      const std::uint16_t alone = 0;  // no NLM_F_MULTI
      std::memcpy(answer.data() + offsetof(nlmsghdr, nlmsg_flags), &alone, sizeof alone);
      answers_.push_back(std::move(answer));
    }
    if (!has_answer || (request.nlmsg_flags & NLM_F_ACK) != 0) {
      const std::uint16_t flags = error == 0 ? NLM_F_CAPPED : 0;
      const nlmsghdr header{NLMSG_LENGTH(sizeof(nlmsgerr)), NLMSG_ERROR, flags, request.nlmsg_seq, port_};
      const nlmsgerr body_of_error{error, request};
      std::vector<std::byte> message(NLMSG_SPACE(sizeof body_of_error));
      std::memcpy(message.data(), &header, sizeof header);
      std::memcpy(message.data() + NLMSG_HDRLEN, &body_of_error, sizeof body_of_error);
      answers_.push_back(std::move(message));
    }
  } else {
    push_list(answer, answers_);
    const nlmsghdr header{NLMSG_LENGTH(sizeof(int)), NLMSG_DONE, NLM_F_MULTI, request.nlmsg_seq, port_};
    std::vector<std::byte> done(NLMSG_SPACE(sizeof(int)));
    std::memcpy(done.data(), &header, sizeof header);
    answers_.push_back(std::move(done));
  }
  notify();
  return static_cast<std::int64_t>(bytes.size());
}

IoResult NetlinkSocket::receive(std::size_t limit, bool peek, IncomingMessage& message) {
  if (answers_.empty()) return std::nullopt;
  const std::vector<std::byte>& first = answers_.front();
  const std::size_t n = std::min(limit, first.size());
  message.bytes.assign(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(n));
  message.length = first.size();
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  const auto name = std::as_bytes(std::span(&kernel, 1));
  message.from.assign(name.begin(), name.end());
  if (!peek) answers_.pop_front();
  return static_cast<std::int64_t>(n);
}

int NetlinkSocket::name(bool peer, std::vector<std::byte>& bytes) const {
  sockaddr_nl own{};
  own.nl_family = AF_NETLINK;
  own.nl_pid = peer ? 0 : port_;
  const auto raw = std::as_bytes(std::span(&own, 1));
  bytes.assign(raw.begin(), raw.end());
  return 0;
}

}  // namespace verbatim::supervisor
