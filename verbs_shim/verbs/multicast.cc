// Multicast groups of UD queue pairs.
#include "verbs_shim/verbs/objects.h"

using namespace verbatim;

namespace {

int change_membership(protocol::CommandType type, ibv_qp* handle, const ibv_gid* gid, std::uint16_t lid) {
  if (verbs::object<verbs::Qp>(handle) == nullptr) return EINVAL;
  protocol::Multicast command{};
  command.qp = handle->handle;
  command.lid = lid;
  std::memcpy(command.gid, gid->raw, sizeof(command.gid));
  return verbs::execute(command, verbs::handle_of(handle->context), type);
}

}  // namespace

extern "C" int ibv_attach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) {
  return change_membership(protocol::CommandType::kAttachMulticast, qp, gid, lid);
}

extern "C" int ibv_detach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) {
  return change_membership(protocol::CommandType::kDetachMulticast, qp, gid, lid);
}
