// Second handles of a device and of objects in it (ibv_import_device(3), ibv_import_pd(3) and others). Both
// handles name one object: destroying it by either handle destroys it, unimporting the second handle does
// not.
#include <sys/syscall.h>

#include "verbs_shim/verbs/objects.h"

namespace verbatim::verbs {
namespace {

int find_object(ibv_context* context, protocol::ImportObject& command, protocol::ImportObject::Kind kind, std::uint32_t handle) {
  command.kind = kind;
  command.handle = handle;
  return execute(command, handle_of(context));
}

template <class Object, class Public>
void forget(Public* handle) {
  if (auto* found = object<Object>(handle); found != nullptr) release_object(found);
}

}  // namespace
}  // namespace verbatim::verbs

using namespace verbatim;
using protocol::ImportObject;

extern "C" ibv_context* ibv_import_device(int cmd_fd) {
  if (!shim::attached()) return verbs::refuse(ENOSYS);
  protocol::ImportDevice command{};
  command.cmd_fd = cmd_fd;
  if (int error = verbs::execute(command, 0)) return verbs::refuse(error);
  ibv_device* device = verbs::device_by_index(command.device);
  ibv_context* context = device == nullptr ? nullptr
                                           : verbs::make_context(device, command.context, cmd_fd, command.async_fd,
                                                                 command.completion_vectors);
  if (context != nullptr) return context;
  protocol::CloseDevice close{};
  verbs::execute(close, command.context);
  shim::system_call(SYS_close, command.async_fd);
  return verbs::refuse(ENOMEM);
}

extern "C" ibv_pd* ibv_import_pd(ibv_context* context, std::uint32_t handle) {
  ImportObject command{};
  if (int error = verbs::find_object(context, command, ImportObject::kPd, handle)) return verbs::refuse(error);
  auto* pd = verbs::allocate_object<verbs::Pd>();
  if (pd == nullptr) return nullptr;
  pd->base.context = context;
  pd->base.handle = handle;
  return &pd->base;
}

extern "C" ibv_mr* ibv_import_mr(ibv_pd* pd, std::uint32_t handle) {
  if (verbs::object<verbs::Pd>(pd) == nullptr) return verbs::refuse(EINVAL);
  ImportObject command{};
  command.pd = pd->handle;
  if (int error = verbs::find_object(pd->context, command, ImportObject::kMr, handle)) return verbs::refuse(error);
  auto* mr = verbs::allocate_object<verbs::Mr>();
  if (mr == nullptr) return nullptr;
  mr->base.context = pd->context;
  mr->base.pd = pd;
  verbs::enter_domain(pd);
  mr->base.length = command.length;
  mr->base.handle = handle;
  mr->base.lkey = command.lkey;
  mr->base.rkey = command.rkey;
  return &mr->base;
}

extern "C" ibv_dm* ibv_import_dm(ibv_context* context, std::uint32_t handle) {
  ImportObject command{};
  if (int error = verbs::find_object(context, command, ImportObject::kDm, handle)) return verbs::refuse(error);
  return verbs::make_dm(context, handle);
}

extern "C" void ibv_unimport_pd(ibv_pd* pd) { verbs::forget<verbs::Pd>(pd); }
extern "C" void ibv_unimport_mr(ibv_mr* mr) {
  if (verbs::object<verbs::Mr>(mr) == nullptr) return;
  verbs::leave_domain(mr->pd);
  verbs::forget<verbs::Mr>(mr);
}
extern "C" void ibv_unimport_dm(ibv_dm* dm) { verbs::forget<verbs::Dm>(dm); }
