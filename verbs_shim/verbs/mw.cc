// Memory windows. Bind requests are posted like other work requests (post_send.cc, qp_ex.cc).
#include "verbs_shim/verbs/send.h"

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

bool can_bind(ibv_mw* handle, ibv_mw_type type, const ibv_mw_bind_info& info) {
  if (object<Mw>(handle) == nullptr || handle->type != type) return false;
  return info.mr == nullptr ? info.addr == 0 && info.length == 0 : object<Mr>(info.mr) != nullptr;
}

void put_binding(protocol::SendWqe* wqe, const ibv_mw& mw, std::uint32_t rkey, const ibv_mw_bind_info& info) {
  wqe->address_handle = mw.handle;
  wqe->rkey = rkey;
  wqe->remote_va = info.addr;
  wqe->compare_add = info.length;
  wqe->swap = info.mr == nullptr ? 0 : info.mr->lkey;
  wqe->immediate = info.mw_access_flags;
}

}  // namespace verbatim::verbs
