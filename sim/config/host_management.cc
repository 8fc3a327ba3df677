#include "sim/config/host_management.h"

#include <algorithm>

#include "sim/ib/group_address.h"
#include "sim/ib/partition.h"
#include "sim/mad/mad.h"
#include "sim/subnet/subnet.h"

namespace verbatim::config {

namespace {

constexpr std::uint8_t kAckDelay = 15;  // local_ca_ack_delay of ConnectX adapters: 134 ms
constexpr std::uint32_t kNetworkBits = 8;  // hosts have addresses of 10.0.0.0/8

}  // namespace

std::optional<cm::AddressBook::Station> HostAddresses::find(const cm::Address& address) const {
  if (ib::is_multicast(address.ip)) return Station{address.ip, true};  // nobody is asked for it
  for (std::size_t i = 0; i < topology_.hosts.size(); ++i) {
    const std::vector<ib::Gid>& gids = ports_[i].gids;
    const std::uint32_t own = topology_.hosts[i].address;
    bool has = false;
    if (address.family == cm::Family::kIb) {
      has = std::find(gids.begin(), gids.end(), address.ip) != gids.end();
    } else {
      // The link-local address is made of the port's own: of its GUID or its MAC address.
      has = address.ip == subnet::ipv4_gid(own) || address.ip == subnet::ipv6_gid(own) || address.ip == gids.front();
    }
    if (!has) continue;
    const bool names_port = address.family == cm::Family::kIb || topology_.is_roce();
    return Station{names_port ? address.ip : gids.front(), i == adapter_};
  }
  return std::nullopt;
}

bool HostAddresses::reaches(const cm::Address& address) const {
  if (ib::is_multicast(address.ip)) return true;
  switch (address.family) {
    case cm::Family::kIpv4: {
      const std::uint32_t own = topology_.hosts[topology_.adapters[adapter_].host].address;
      return address.ip.raw[12] == static_cast<std::uint8_t>(own >> (32 - kNetworkBits));
    }
    case cm::Family::kIpv6:
      return address.ip.raw[0] == 0xfd || address.is_link_local() || address.is_loopback();
    case cm::Family::kIb:
      return true;
    case cm::Family::kNone:
      break;
  }
  return false;
}

cm::Address HostAddresses::own_for(const cm::Address& destination) const {
  cm::Address address;
  address.family = destination.family;
  const std::uint32_t ip = topology_.hosts[topology_.adapters[adapter_].host].address;
  const bool is_ports = destination.family == cm::Family::kIb || destination.is_link_local();
  address.ip = is_ports                                   ? ports_[adapter_].gids.front()
               : destination.family == cm::Family::kIpv4 ? subnet::ipv4_gid(ip)
                                                          : subnet::ipv6_gid(ip);
  return address;
}

const cm::PortFacts* SubnetPaths::port_of(const ib::Gid& gid) const {
  const auto has = [&](const cm::PortFacts& port) { return std::ranges::find(port.gids, gid) != port.gids.end(); };
  const auto found = std::find_if(ports_.begin(), ports_.end(), has);
  return found == ports_.end() ? nullptr : &*found;
}

std::optional<management::Path> SubnetPaths::find(const ib::Gid& from, const ib::Gid& to,
                                                  std::optional<std::uint16_t> pkey) const {
  const cm::PortFacts* const near = port_of(from);
  const cm::PortFacts* const far = port_of(to);
  if (near == nullptr || far == nullptr) return std::nullopt;
  for (const std::uint16_t own : near->pkeys) {
    if (pkey && own != *pkey) continue;
    for (const std::uint16_t other : far->pkeys) {
      if (!ib::do_pkeys_match(own, other)) continue;
      constexpr std::uint8_t kPacketLifeTime = 18;  // OpenSM's subnet_timeout: 1.07 s
      management::Path path;
      path.sgid = from;
      path.dgid = to;
      path.slid = near->lid;
      path.dlid = far->lid;
      path.pkey = own;
      path.mtu = std::min(near->mtu, far->mtu);
      path.rate = std::min(near->rate, far->rate);
      path.packet_life_time = kPacketLifeTime;
      return path;
    }
  }
  return std::nullopt;
}

// IBA table 207; where a width and speed have no code of their own, the next lower one's.
std::uint8_t rate_code(std::uint32_t width, std::uint32_t speed) {
  const std::uint32_t lanes = width == 1 ? 1 : width == 2 ? 4 : width == 4 ? 8 : width == 8 ? 12 : 2;
  struct Speed {
    std::uint32_t code, megabits;
  };
  constexpr Speed kSpeeds[] = {{1, 2500},   {2, 5000},   {4, 10000},  {8, 10000},
                               {16, 14000}, {32, 25000}, {64, 50000}, {128, 100000}};
  std::uint32_t all = 0;
  for (const Speed& one : kSpeeds) {
    if (one.code == speed) all = one.megabits * lanes;
  }
  struct Rate {
    std::uint32_t megabits;
    std::uint8_t code;
  };
  constexpr Rate kRates[] = {{400000, 21}, {300000, 18}, {200000, 17}, {168000, 12}, {120000, 10}, {112000, 13}, {100000, 16},
                             {80000, 9},   {60000, 8},   {56000, 11},  {50000, 20},  {40000, 7},   {30000, 4},   {28000, 19},
                             {25000, 15},  {20000, 6},   {14000, 14},  {10000, 3},   {5000, 5},    {2500, 2}};
  for (const Rate& one : kRates) {
    if (all >= one.megabits) return one.code;
  }
  return 2;
}

HostManagement::HostManagement(const NodeSurroundings& in, hca::Hca& hca, fabric::Port& fabric_port, cm::PortFacts& port,
                               HostAddresses addresses, const Subnet& subnet, Rng random)
    : addresses_(addresses),
      connections_(in.engine, in.source, hca.management(), port.node_guid, kAckDelay, random),
      queries_(in.engine, in.source, hca.management(), subnet.manager),
      rdma_cm_(in.engine, in.source, port, addresses_, connections_, queries_),
      agents_(in, hca, fabric_port, port, [this](ib::Lid manager) { queries_.set_manager(manager); }) {
  agents_.agents().reserve(mad::kCommunicationManagement);
  if (subnet.paths != nullptr) {
    administrator_ = std::make_unique<management::SubnetAdministrator>(in.engine, in.source, hca.management(), *subnet.view,
                                                                         *subnet.paths, port.mtu, port.rate);
    agents_.agents().reserve(mad::kSubnetAdministration);
  }
  hca.attach(*this);
}

void HostManagement::on_datagram(const ib::ManagementDatagram& datagram) {
  const mad::Header header = mad::header_of(datagram.mad);
  if (datagram.is_subnet_management()) return agents_.receive(datagram);
  if (header.management_class == mad::kCommunicationManagement) return connections_.on_datagram(datagram);
  if (header.management_class == mad::kSubnetAdministration) {
    // The kernel's own questions are in transactions that no agent of a program has.
    const bool is_answer = mad::is_answer(header);
    if (is_answer && header.transaction_id >> 32 == 0) return queries_.on_datagram(datagram);
    if (administrator_ != nullptr && administrator_->on_datagram(datagram)) return;
  }
  agents_.receive(datagram);
}

}  // namespace verbatim::config
