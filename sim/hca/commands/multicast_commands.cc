// Joining and leaving multicast groups.
#include <cerrno>
#include <cstring>

#include "sim/hca/commands/hca_impl.h"
#include "sim/hca/multicast.h"
#include "sim/ib/addressee.h"
#include "sim/ib/group_address.h"

namespace verbatim::hca {

int Hca::Impl::change_multicast(Context& context, protocol::Multicast& command, bool attaches) {
  QueuePair* qp = find_qp(context, command.qp);
  ib::Gid gid;
  std::memcpy(gid.raw, command.gid, sizeof(gid.raw));
  // IBA 4.1.1, 10.5.2: groups are for datagrams, and have GIDs of their own. The Linux core takes those of both kinds on every
  // link, and looks at the LID only where there are LIDs.
  if (qp == nullptr) return no_object("queue pair", command.qp);
  if (!qp->is_datagram()) return refuse(EINVAL, "only queue pairs of type UD can join a multicast group");
  if (!ib::is_multicast(gid)) return refuse(EINVAL, ib::text_of(gid), " is not a multicast GID");
  const bool has_lid = !adapter.address.roce;
  if (has_lid && !ib::is_multicast(ib::Lid{command.lid})) {
    return refuse(EINVAL, Hex{command.lid}, " is not a multicast LID (0xc000 to 0xfffe)");
  }
  MulticastGroup group;
  std::memcpy(group.gid.data(), command.gid, group.gid.size());
  if (has_lid) group.lid = command.lid;
  if (attaches) {
    const int error = adapter.multicast.attach(group, qp->self);
    return error == 0 ? 0 : refuse(error, "the adapter has no room for another group, or for another member of this one");
  }
  const int error = adapter.multicast.detach(group, *qp);
  return error == 0 ? 0 : refuse(error, "the queue pair is not attached to this group");
}

int Hca::Impl::attach_multicast(Context& context, protocol::Multicast& command) {
  return change_multicast(context, command, true);
}

int Hca::Impl::detach_multicast(Context& context, protocol::Multicast& command) {
  return change_multicast(context, command, false);
}

}  // namespace verbatim::hca
