// Device memory: memory in the adapter. The CPU accesses it by loads and stores (here a command that takes
// their time), the adapter without PCI Express.
#include "verbs_shim/verbs/objects.h"

namespace verbatim::verbs {
namespace {

int copy(ibv_dm* handle, std::uint64_t offset, const void* address, std::size_t length, bool to_device) {
  if (object<Dm>(handle) == nullptr) return EINVAL;
  protocol::CopyDm command{};
  command.handle = handle->handle;
  command.offset = offset;
  command.length = length;
  command.address = reinterpret_cast<std::uint64_t>(address);
  command.to_device = to_device ? 1 : 0;
  return execute(command, handle_of(handle->context));
}

int copy_to_dm(ibv_dm* dm, std::uint64_t offset, const void* from, std::size_t length) {
  return copy(dm, offset, from, length, true);
}

int copy_from_dm(void* to, ibv_dm* dm, std::uint64_t offset, std::size_t length) {
  return copy(dm, offset, to, length, false);
}

}  // namespace

ibv_dm* make_dm(ibv_context* context, std::uint32_t handle) {
  auto* dm = allocate_object<Dm>();
  if (dm == nullptr) return nullptr;
  dm->base.context = context;
  dm->base.memcpy_to_dm = copy_to_dm;
  dm->base.memcpy_from_dm = copy_from_dm;
  dm->base.handle = handle;
  return &dm->base;
}

ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attributes) {
  if (context_of(context) == nullptr || attributes->comp_mask != 0) return refuse(EINVAL);
  protocol::AllocDm command{};
  command.length = attributes->length;
  command.log_align = attributes->log_align_req;
  if (int error = execute(command, handle_of(context))) return refuse(error);
  ibv_dm* dm = make_dm(context, command.handle);
  if (dm != nullptr) return dm;
  destroy(protocol::CommandType::kFreeDm, context, command.handle);
  return refuse(ENOMEM);
}

int free_dm(ibv_dm* handle) {
  auto* dm = object<Dm>(handle);
  if (dm == nullptr) return EINVAL;
  if (int error = destroy(protocol::CommandType::kFreeDm, handle->context, handle->handle)) return error;
  release_object(dm);
  return 0;
}

ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset, std::size_t length, unsigned access) {
  if (object<Pd>(pd) == nullptr || object<Dm>(dm) == nullptr || dm->context != pd->context) return refuse(EINVAL);
  protocol::RegDmMr command{};
  command.offset = offset;
  command.length = length;
  command.dm = dm->handle;
  command.pd = pd->handle;
  command.access = access & ~static_cast<unsigned>(IBV_ACCESS_OPTIONAL_RANGE);
  if (int error = execute(command, handle_of(pd->context))) return refuse(error);
  note_translated_region();
  return make_mr(pd, nullptr, length, command.handle, command.key, command.key);
}

}  // namespace verbatim::verbs
