// Protection domains.
#include "verbs_shim/verbs/objects.h"

using namespace verbatim;
using verbs::Pd;

extern "C" ibv_pd* ibv_alloc_pd(ibv_context* context) {
  auto* pd = verbs::allocate_object<Pd>();
  if (pd == nullptr) return nullptr;
  protocol::AllocPd command{};
  if (int error = verbs::execute(command, verbs::handle_of(context))) {
    verbs::release_object(pd);
    return verbs::refuse(error);
  }
  pd->base.context = context;
  pd->base.handle = command.handle;
  return &pd->base;
}

extern "C" int ibv_dealloc_pd(ibv_pd* handle) {
  auto* pd = verbs::object<Pd>(handle);
  if (pd == nullptr) return EINVAL;
  int error = verbs::destroy(protocol::CommandType::kDeallocPd, handle->context, handle->handle);
  if (error == 0) verbs::release_object(pd);
  return error;
}
