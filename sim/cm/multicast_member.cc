#include "sim/cm/multicast_member.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sim/management/multicast_record.h"

namespace verbatim::cm {

namespace {

constexpr std::uint32_t kJoinTimeout = 12'000;  // ms: four requests of 3 s (cma_join_ib_multicast)
constexpr std::uint32_t kUsualQkey = 0x0123'4567;
constexpr std::uint32_t kAllQueuePairs = 0xffffff;

}  // namespace

// IPv4 and IPv6 over InfiniBand (RFC 4391, section 4): link-local scope, the partition, and the low bits of
// the address. The UDP port space has a signature of its own, which separates its groups from those of IP.
ib::Gid group_gid(const Address& address, PortSpace space, std::uint16_t pkey, bool roce) {
  ib::Gid gid;
  if (address.is_any()) return gid;
  if (roce || address.family == Family::kIb) return address.ip;
  constexpr std::uint8_t kSubnetAdministrators[] = {0xff, 0x10, 0xa0, 0x1b};
  const bool is_gid = address.family == Family::kIpv6 && address.ip.raw[0] == kSubnetAdministrators[0] &&
                      (address.ip.raw[1] & 0xf0) == kSubnetAdministrators[1] && address.ip.raw[2] == kSubnetAdministrators[2] &&
                      address.ip.raw[3] == kSubnetAdministrators[3];
  if (is_gid) return address.ip;
  const bool v4 = address.family == Family::kIpv4;
  gid.raw[0] = 0xff;
  gid.raw[1] = 0x12;
  gid.raw[2] = v4 ? 0x40 : 0x60;
  gid.raw[3] = space == PortSpace::kUdp ? 0x01 : 0x1b;
  gid.raw[4] = static_cast<std::uint8_t>(pkey >> 8);
  gid.raw[5] = static_cast<std::uint8_t>(pkey);
  if (v4) {
    std::memcpy(gid.raw + 12, address.ip.raw + 12, 4);
    gid.raw[12] &= 0x0f;
  } else {
    std::memcpy(gid.raw + 6, address.ip.raw + 6, 10);
  }
  return gid;
}

MulticastMember::MulticastMember(RdmaId& id, std::uint32_t number, const Address& address)
    : id_(id),
      number_(number),
      group_(group_gid(address, id.space_, id.pkey(), id.port().roce)),
      timer_(Timer::of<&MulticastMember::on_timer>(id.cm_.engine_, id.cm_.source_, EventClass::kSupervisor, this)) {
  if (id.port().roce) {
    timer_.schedule_after(Duration::zero());
    return;
  }
  const std::uint32_t qkey = id.qkey_ != 0 ? id.qkey_ : kUsualQkey;
  id.side().queries.ask(*this, management::encode_join(group_, id.source_gid(), id.pkey(), qkey), kJoinTimeout);
}

MulticastMember::~MulticastMember() {
  management::SubnetQueries& queries = id_.side().queries;
  queries.forget(*this);
  if (is_member_) queries.send_once(management::encode_leave(group_, id_.source_gid()));
}

void MulticastMember::on_answer(const ib::Mad* answer) {
  const auto joined = answer != nullptr ? management::decode_join_answer(*answer) : std::nullopt;
  if (!joined) {
    Event failed{.type = EventType::kMulticastError, .status = answer == nullptr ? -ETIMEDOUT : -EINVAL};
    failed.group = number_;
    return id_.emit(std::move(failed));
  }
  is_member_ = true;
  group_ = joined->group;
  Event event{.type = EventType::kMulticastJoin};
  event.group = number_;
  event.parameters.qpn = kAllQueuePairs;
  event.parameters.qkey = id_.qkey_ = joined->qkey;
  Path& path = event.datagram_path.emplace();
  path.sgid = id_.source_gid();
  path.dgid = joined->group;
  path.slid = id_.port().lid;
  path.dlid = joined->lid;
  path.flow_label = joined->flow_label;
  path.pkey = joined->pkey;
  constexpr std::uint8_t kWithGrh = 2;  // multicast datagrams have one (IBA 10.5.2)
  path.hop_limit = std::max(joined->hop_limit, kWithGrh);
  path.traffic_class = joined->traffic_class;
  path.service_level = joined->service_level;
  path.mtu = joined->mtu;
  path.rate = joined->rate;
  id_.emit(std::move(event));
}

void MulticastMember::on_timer() {
  Event event{.type = EventType::kMulticastJoin};
  event.group = number_;
  event.parameters.qpn = kAllQueuePairs;
  event.parameters.qkey = id_.qkey_ = id_.qkey_ != 0 ? id_.qkey_ : kUsualQkey;
  Path& path = event.datagram_path.emplace(id_.ethernet_path());
  path.dgid = group_;
  path.hop_limit = 1;
  id_.emit(std::move(event));
}

}  // namespace verbatim::cm
