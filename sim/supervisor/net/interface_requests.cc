#include "sim/supervisor/net/interface_requests.h"

#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "sim/supervisor/net/interfaces.h"
#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

namespace {

sockaddr interface_address(std::uint32_t value) {
  sockaddr_in inet{};
  inet.sin_family = AF_INET;
  inet.sin_addr.s_addr = htonl(value);
  sockaddr name;
  std::memcpy(&name, &inet, sizeof name);
  return name;
}

void set_name(ifreq& request, const Interface& interface) {
  std::memset(request.ifr_name, 0, sizeof request.ifr_name);
  std::memcpy(request.ifr_name, interface.name.data(),
              std::min(interface.name.size(), sizeof request.ifr_name - 1));
}

// SIOCGIFCONF: as many entries as fit; with a null buffer, the size needed.
std::int64_t list_interfaces(Process& process, std::uint64_t address) {
  auto list = process.memory().load<ifconf>(address);
  if (!list) return -EFAULT;
  std::vector<ifreq> interfaces;
  for (const Interface& one : interfaces_of(process.host())) {
    ifreq& reported = interfaces.emplace_back();
    set_name(reported, one);
    reported.ifr_addr = interface_address(one.v4.as_v4());
  }
  const auto to = reinterpret_cast<std::uint64_t>(list->ifc_buf);
  const std::size_t room = list->ifc_len < 0 ? 0 : static_cast<std::size_t>(list->ifc_len) / sizeof(ifreq);
  const std::size_t fit = std::min(room, interfaces.size());
  const std::size_t reported = to == 0 ? interfaces.size() : fit;
  if (to != 0 && !process.memory().put(to, std::as_bytes(std::span(interfaces).first(fit)))) return -EFAULT;
  list->ifc_len = static_cast<int>(reported * sizeof(ifreq));
  return process.memory().store(address, *list) ? 0 : -EFAULT;
}

}  // namespace

// Interface requests of netdevice(7).
std::int64_t control_interface(Process& process, unsigned long number, std::uint64_t address, Instant now) {
  if (number == SIOCETHTOOL) return control_ethtool(process, address, now);
  if (number < SIOCGIFNAME || number > SIOCGIFINDEX) return -ENOTTY;
  if (number == SIOCGIFCONF) return list_interfaces(process, address);
  auto request = process.memory().load<ifreq>(address);
  if (!request) return -EFAULT;
  request->ifr_name[IFNAMSIZ - 1] = 0;
  const std::string name = request->ifr_name;
  const bool by_number = number == SIOCGIFNAME;
  const std::vector<Interface> interfaces = interfaces_of(process.host());
  const auto found = std::ranges::find_if(interfaces, [&](const Interface& one) {
    return by_number ? request->ifr_ifindex == one.index : one.has_name(name);
  });
  if (found == interfaces.end()) return by_number ? -ENXIO : -ENODEV;
  const auto set_address = [&](std::uint32_t value) { request->ifr_addr = interface_address(value); };
  switch (number) {
    case SIOCGIFNAME:
      set_name(*request, *found);
      break;
    case SIOCGIFINDEX:
      request->ifr_ifindex = found->index;
      break;
    case SIOCGIFFLAGS:
      request->ifr_flags = static_cast<short>(found->flags & 0xffff);
      break;
    case SIOCGIFADDR:
      set_address(found->v4.as_v4());
      break;
    case SIOCGIFNETMASK:
      set_address(found->mask_v4());
      break;
    case SIOCGIFBRDADDR:
      set_address(found->is_loopback() ? 0 : found->broadcast_v4());
      break;
    case SIOCGIFMTU:
      request->ifr_mtu = static_cast<int>(found->mtu);
      break;
    case SIOCGIFHWADDR: {
      request->ifr_hwaddr.sa_family = found->kind;
      char(&bytes)[sizeof request->ifr_hwaddr.sa_data] = request->ifr_hwaddr.sa_data;
      std::memset(bytes, 0, sizeof bytes);  // an IPoIB address is longer and is truncated
      std::memcpy(bytes, found->hardware.data(), std::min(sizeof bytes, found->hardware.size()));
      break;
    }
    default:
      return -ENOTTY;
  }
  return process.memory().store(address, *request) ? 0 : -EFAULT;
}

}  // namespace verbatim::supervisor
