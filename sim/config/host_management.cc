#include "sim/config/host_management.h"

#include <algorithm>

#include "sim/ib/partition.h"
#include "sim/mad/mad.h"

namespace verbatim::config {

namespace {

constexpr std::uint8_t kAckDelay = 15;  // local_ca_ack_delay of ConnectX adapters: 134 ms

}  // namespace

const cm::PortFacts* SubnetPaths::port_of(const ib::Gid& gid) const {
  const auto has = [&](const cm::PortFacts& port) { return std::ranges::find(port.gids, gid) != port.gids.end(); };
  const auto found = std::find_if(ports_.begin(), ports_.end(), has);
  return found == ports_.end() ? nullptr : &*found;
}

const PathChange* SubnetPaths::current() const {
  const PathChange* last = nullptr;
  for (const PathChange& change : changes_) {
    if (change.since <= engine_.now()) last = &change;
  }
  return last;
}

bool SubnetPaths::do_cables_lead(ib::Lid from, ib::Lid to) const {
  const PathChange* const change = current();
  if (change == nullptr || std::max(from.value, to.value) >= change->islands.size()) return true;
  return change->islands[from.value] == change->islands[to.value];
}

std::uint8_t SubnetPaths::level_of(ib::Lid from, ib::Lid to) const {
  const PathChange* const change = current();
  const subnet::ServiceLevels* const levels = change == nullptr ? levels_.get() : change->levels.get();
  return levels == nullptr ? std::uint8_t{0} : levels->of(from, to);
}

std::optional<management::Path> SubnetPaths::find(const ib::Gid& from, const ib::Gid& to,
                                                  std::optional<std::uint16_t> pkey) const {
  const cm::PortFacts* const near = port_of(from);
  const cm::PortFacts* const far = port_of(to);
  if (near == nullptr || far == nullptr || !do_cables_lead(near->lid, far->lid)) return std::nullopt;
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
      path.service_level = level_of(near->lid, far->lid);
      path.mtu = std::min(near->mtu, far->mtu);
      path.rate = std::min(near->rate, far->rate);
      path.packet_life_time = kPacketLifeTime;
      return path;
    }
  }
  return std::nullopt;
}

// IBA table 207. A width and speed without a code get that of the next lower rate.
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
  constexpr Rate kRates[] = {{1200000, 24}, {800000, 23}, {600000, 22}, {400000, 21}, {300000, 18}, {200000, 17},
                             {168000, 14},  {120000, 10}, {112000, 13}, {100000, 16}, {80000, 9},   {60000, 8},
                             {56000, 12},   {50000, 20},  {40000, 7},   {30000, 4},   {28000, 19},  {25000, 15},
                             {20000, 6},    {14000, 11},  {10000, 3},   {5000, 5},    {2500, 2}};
  for (const Rate& one : kRates) {
    if (all >= one.megabits) return one.code;
  }
  return 2;
}

HostManagement::HostManagement(const NodeSurroundings& in, hca::Hca& hca, fabric::Port& fabric_port, cm::PortFacts& port,
                               const Subnet& subnet, Choices& choices, Rng random)
    : port_(port),
      connections_(in.engine, choices, in.source, hca.management(), port.node_guid, kAckDelay, random),
      queries_(in.engine, in.source, hca.management(), subnet.manager),
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
    // The kernel's own queries use transaction IDs that no program's agent has.
    const bool is_answer = mad::is_answer(header);
    if (is_answer && header.transaction_id >> 32 == 0) return queries_.on_datagram(datagram);
    if (administrator_ != nullptr && administrator_->on_datagram(datagram)) return;
  }
  agents_.receive(datagram);
}

}  // namespace verbatim::config
