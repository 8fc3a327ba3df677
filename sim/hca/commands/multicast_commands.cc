// Joining and leaving multicast groups.
#include <cerrno>
#include <cstring>

#include "sim/hca/commands/hca_impl.h"
#include "sim/hca/multicast.h"

namespace verbatim::hca {

int Hca::Impl::change_multicast(Context& context, protocol::Multicast& command, bool attaches) {
  QueuePair* qp = find_qp(context, command.qp);
  // IBA 4.1.1, 10.5.2: groups are for datagrams; their GIDs begin with 0xFF.
  if (qp == nullptr || !qp->is_datagram() || command.gid[0] != 0xff) return EINVAL;
  if (!is_multicast(ib::Lid{command.lid})) return EINVAL;
  MulticastGroup group;
  std::memcpy(group.gid.data(), command.gid, group.gid.size());
  group.lid = command.lid;
  return attaches ? adapter.multicast.attach(group, *qp) : adapter.multicast.detach(group, *qp);
}

int Hca::Impl::attach_multicast(Context& context, protocol::Multicast& command) {
  if (adapter.address.roce) return EOPNOTSUPP;  // there are no groups on Ethernet
  return change_multicast(context, command, true);
}

int Hca::Impl::detach_multicast(Context& context, protocol::Multicast& command) {
  return change_multicast(context, command, false);
}

}  // namespace verbatim::hca
