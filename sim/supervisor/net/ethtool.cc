#include <linux/ethtool.h>
#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "sim/supervisor/net/interface_requests.h"
#include "sim/supervisor/net/interface_statistics.h"
#include "sim/supervisor/net/interfaces.h"
#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

namespace {

// Fixed parts of <linux/ethtool.h> structures that end with an array.
struct SetSizes {
  std::uint32_t command, reserved;
  std::uint64_t sets;  // bit mask
};
static_assert(sizeof(SetSizes) == sizeof(ethtool_sset_info));
struct Strings {
  std::uint32_t command, set, length;
};
static_assert(sizeof(Strings) == sizeof(ethtool_gstrings));
struct Statistics {
  std::uint32_t command, count;
};
static_assert(sizeof(Statistics) == sizeof(ethtool_stats));

// A header followed by an array.
template <class Header>
std::vector<std::byte> with_rest(const Header& header, std::span<const std::byte> rest) {
  std::vector<std::byte> all(sizeof header + rest.size());
  std::memcpy(all.data(), &header, sizeof header);
  std::ranges::copy(rest, all.begin() + sizeof header);
  return all;
}

template <std::size_t kSize>
void set_text(char (&field)[kSize], std::string_view text) {
  std::memset(field, 0, kSize);
  std::memcpy(field, text.data(), std::min(text.size(), kSize - 1));
}

std::vector<std::byte> statistic_names(const std::vector<InterfaceStatistic>& statistics) {
  std::vector<std::byte> names(statistics.size() * ETH_GSTRING_LEN);
  for (std::size_t i = 0; i < statistics.size(); ++i) {
    const std::string& name = statistics[i].name;
    std::memcpy(names.data() + i * ETH_GSTRING_LEN, name.data(),
                std::min<std::size_t>(name.size(), ETH_GSTRING_LEN - 1));
  }
  return names;
}

}  // namespace

std::int64_t control_ethtool(Process& process, std::uint64_t address, Instant now) {
  auto request = process.memory().load<ifreq>(address);
  if (!request) return -EFAULT;
  request->ifr_name[IFNAMSIZ - 1] = 0;
  const std::string name = request->ifr_name;
  const HostSpec& host = process.host();
  const std::vector<Interface> interfaces = interfaces_of(host);
  const auto found = std::ranges::find_if(interfaces, [&](const Interface& one) { return one.has_name(name); });
  if (found == interfaces.end()) return -ENODEV;
  const auto to = reinterpret_cast<std::uint64_t>(request->ifr_data);
  const auto command = process.memory().load<std::uint32_t>(to);
  if (!command) return -EFAULT;
  const auto answer = [&](std::span<const std::byte> bytes) {
    return std::int64_t{process.memory().put(to, bytes) ? 0 : -EFAULT};
  };
  if (*command == ETHTOOL_GLINK) {
    const ethtool_value link{ETHTOOL_GLINK, 1};
    return answer(std::as_bytes(std::span(&link, 1)));
  }
  // Statistics exist for Ethernet ports of an adapter only: not for VLANs, loopback or the management
  // interface.
  if (!found->device || found->vlan || !host.devices[*found->device]->address().roce || !host.port_counters)
    return -EOPNOTSUPP;
  const auto statistics = [&] { return interface_statistics(host.port_counters(*found->device), now); };
  switch (*command) {
    case ETHTOOL_GDRVINFO: {
      ethtool_drvinfo driver{};
      driver.cmd = *command;
      set_text(driver.driver, "mlx5_core");
      set_text(driver.bus_info, bus_address(*found->device));
      driver.n_stats = static_cast<std::uint32_t>(statistics().size());
      return answer(std::as_bytes(std::span(&driver, 1)));
    }
    case ETHTOOL_GSSET_INFO: {
      auto info = process.memory().load<SetSizes>(to);
      if (!info) return -EFAULT;
      const std::uint64_t known = std::uint64_t{1} << ETH_SS_STATS;
      std::vector<std::uint32_t> sizes;
      if ((info->sets & known) != 0) sizes.push_back(static_cast<std::uint32_t>(statistics().size()));
      info->sets &= known;
      return answer(with_rest(*info, std::as_bytes(std::span(sizes))));
    }
    case ETHTOOL_GSTRINGS: {
      auto strings = process.memory().load<Strings>(to);
      if (!strings) return -EFAULT;
      if (strings->set != ETH_SS_STATS) return -EOPNOTSUPP;
      const std::vector<InterfaceStatistic> all = statistics();
      strings->length = static_cast<std::uint32_t>(all.size());
      return answer(with_rest(*strings, statistic_names(all)));
    }
    case ETHTOOL_GSTATS: {
      auto stats = process.memory().load<Statistics>(to);
      if (!stats) return -EFAULT;
      std::vector<std::uint64_t> values;
      for (const InterfaceStatistic& one : statistics()) values.push_back(one.value);
      stats->count = static_cast<std::uint32_t>(values.size());
      return answer(with_rest(*stats, std::as_bytes(std::span(values))));
    }
    default:
      return -EOPNOTSUPP;
  }
}

}  // namespace verbatim::supervisor
