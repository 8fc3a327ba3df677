#include "sim/hca/multicast.h"

#include <cerrno>
#include <cstring>

namespace verbatim::hca {

int MulticastTable::attach(const MulticastGroup& group, const Ref<QueuePair>& qp) {
  if (!groups_.contains(group) && groups_.size() >= kGroupsMax) return ENOMEM;
  std::vector<Ref<QueuePair>>& members = groups_[group];
  for (const Ref<QueuePair>& member : members) {
    if (member.get() == qp.get()) return 0;
  }
  if (members.size() >= kMembersMax) return ENOMEM;
  members.push_back(qp);
  return 0;
}

int MulticastTable::detach(const MulticastGroup& group, const QueuePair& qp) {
  const auto it = groups_.find(group);
  if (it == groups_.end()) return EINVAL;
  const std::size_t gone =
      std::erase_if(it->second, [&](const Ref<QueuePair>& member) { return member.get() == &qp; });
  if (it->second.empty()) groups_.erase(it);
  return gone == 0 ? EINVAL : 0;
}

void MulticastTable::forget(const QueuePair& qp) {
  for (auto it = groups_.begin(); it != groups_.end();) {
    std::erase_if(it->second, [&](const Ref<QueuePair>& member) { return member.get() == &qp; });
    it = it->second.empty() ? groups_.erase(it) : std::next(it);
  }
}

bool MulticastTable::has_member(const QueuePair& qp) const {
  for (const auto& [group, members] : groups_) {
    for (const Ref<QueuePair>& member : members) {
      if (member.get() == &qp) return true;
    }
  }
  return false;
}

std::vector<Ref<QueuePair>> MulticastTable::members(const ib::Packet& packet) const {
  // IBA 9.8.3: a multicast datagram has a GRH, which names the group.
  if (packet.bth.destination.value != kMulticastQpn || !packet.grh) return {};
  MulticastGroup group;
  std::memcpy(group.gid.data(), packet.grh->destination.raw, group.gid.size());
  group.lid = packet.lrh.destination.value;
  const auto it = groups_.find(group);
  return it == groups_.end() ? std::vector<Ref<QueuePair>>() : it->second;
}

}  // namespace verbatim::hca
