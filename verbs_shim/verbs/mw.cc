// Memory windows.
#include "verbs_shim/verbs/objects.h"

namespace verbatim::verbs {

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) {
  if (object<Pd>(pd) == nullptr) return refuse(EINVAL);
  auto* mw = allocate_object<Mw>();
  if (mw == nullptr) return nullptr;
  protocol::AllocMw command{};
  command.pd = pd->handle;
  command.type = type;
  if (int error = execute(command, handle_of(pd->context))) {
    release_object(mw);
    return refuse(error);
  }
  mw->base.context = pd->context;
  mw->base.pd = pd;
  enter_domain(pd);
  mw->base.rkey = command.rkey;
  mw->base.handle = command.handle;
  mw->base.type = type;
  return &mw->base;
}

int dealloc_mw(ibv_mw* handle) {
  auto* mw = object<Mw>(handle);
  if (mw == nullptr) return EINVAL;
  if (int error = destroy(protocol::CommandType::kDeallocMw, handle->context, handle->handle)) return error;
  leave_domain(handle->pd);
  release_object(mw);
  return 0;
}

int bind_mw(ibv_qp*, ibv_mw*, ibv_mw_bind*) { return EOPNOTSUPP; }

}  // namespace verbatim::verbs
