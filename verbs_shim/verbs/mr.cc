// Memory regions. This file refuses only requests that are invalid on every adapter; the adapter checks all
// of them again.
#include "verbs_shim/verbs/objects.h"

namespace verbatim::verbs {
namespace {

constexpr unsigned kKnownAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                  IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |
                                  IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB | IBV_ACCESS_RELAXED_ORDERING;

// Flags of the optional range are ignored where they are not supported (ibv_reg_mr(3)).
constexpr unsigned kIgnoredAccess = IBV_ACCESS_OPTIONAL_RANGE & ~IBV_ACCESS_RELAXED_ORDERING;

}  // namespace

ibv_mr* register_memory(ibv_pd* pd_handle, void* address, std::size_t length, std::uint64_t iova,
                        unsigned access) {
  auto* pd = object<Pd>(pd_handle);
  if (pd == nullptr) return refuse(EINVAL);
  access &= ~kIgnoredAccess;
  if ((access & ~kKnownAccess) != 0) return refuse(refuse_with(EINVAL, "ibv_reg_mr: unknown access flags %#x", access & ~kKnownAccess));
  // IBA 10.6.3.1 and ibv_reg_mr(3): remote write and remote atomic need local write.
  if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0 &&
      (access & IBV_ACCESS_LOCAL_WRITE) == 0) {
    return refuse(refuse_with(EINVAL, "ibv_reg_mr: access %#x: IBV_ACCESS_REMOTE_WRITE and IBV_ACCESS_REMOTE_ATOMIC need "
                                  "IBV_ACCESS_LOCAL_WRITE", access));
  }
  protocol::RegMr command{};
  command.start = reinterpret_cast<std::uint64_t>(address);
  command.length = length;
  command.iova = iova;
  command.pd = pd_handle->handle;
  command.access = access;
  if (int error = execute(command, handle_of(pd_handle->context))) return refuse(error);
  if (iova != command.start || (access & IBV_ACCESS_ZERO_BASED) != 0) note_translated_region();
  ibv_mr* const made = make_mr(pd_handle, address, length, command.handle, command.lkey, command.rkey);
  if (made != nullptr) reinterpret_cast<Mr*>(made)->is_on_demand = (access & IBV_ACCESS_ON_DEMAND) != 0;
  return made;
}

ibv_mr* make_mr(ibv_pd* pd, void* address, std::size_t length, std::uint32_t handle, std::uint32_t lkey,
                std::uint32_t rkey) {
  auto* mr = allocate_object<Mr>();
  if (mr == nullptr) {
    destroy(protocol::CommandType::kDeregMr, pd->context, handle);
    return refuse(ENOMEM);
  }
  mr->base.context = pd->context;
  mr->base.pd = pd;
  enter_domain(pd);
  mr->base.addr = address;
  mr->base.length = length;
  mr->base.handle = handle;
  mr->base.lkey = lkey;
  mr->base.rkey = rkey;
  add_region(*mr);
  return &mr->base;
}

ibv_mr* alloc_null_mr(ibv_pd* pd) {
  if (object<Pd>(pd) == nullptr) return refuse(EINVAL);
  protocol::AllocNullMr command{};
  command.pd = pd->handle;
  if (int error = execute(command, handle_of(pd->context))) return refuse(error);
  note_translated_region();
  return make_mr(pd, nullptr, SIZE_MAX, command.handle, command.lkey, 0);
}

int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* list, std::uint32_t count) {
  if (object<Pd>(pd) == nullptr || count == 0) return EINVAL;
  for (std::uint32_t i = 0; i < count; ++i) {
    protocol::AdviseMr command{};
    command.va = list[i].addr;
    command.length = list[i].length;
    command.lkey = list[i].lkey;
    command.pd = pd->handle;
    command.advice = advice;
    command.flags = flags;
    if (int error = execute(command, handle_of(pd->context))) return error;
  }
  return 0;
}

}  // namespace verbatim::verbs

using namespace verbatim;

extern "C" ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) {
  VERBATIM_ENTER_VERB();
  return verbs::register_memory(pd, address, length, reinterpret_cast<std::uint64_t>(address),
                                static_cast<unsigned>(access));
}

extern "C" ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                                   int access) {
  VERBATIM_ENTER_VERB();
  return verbs::register_memory(pd, address, length, iova, static_cast<unsigned>(access));
}

extern "C" ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                                    unsigned access) {
  VERBATIM_ENTER_VERB();
  return verbs::register_memory(pd, address, length, iova, access);
}

extern "C" ibv_mr* ibv_reg_dmabuf_mr(ibv_pd*, std::uint64_t, std::size_t, std::uint64_t, int, int) {
  return verbs::refuse(verbs::refuse_with(EOPNOTSUPP, "ibv_reg_dmabuf_mr: nothing on a simulated host exports memory as a dmabuf"));
}

extern "C" int ibv_rereg_mr(ibv_mr* handle, int flags, ibv_pd* pd, void* address, std::size_t length,
                            int access) {
  auto* mr = verbs::object<verbs::Mr>(handle);
  const bool changes_pd = (flags & IBV_REREG_MR_CHANGE_PD) != 0;
  const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
  const bool translation_missing = moves && (address == nullptr || length == 0);
  const bool access_without_flag = access != 0 && (flags & IBV_REREG_MR_CHANGE_ACCESS) == 0;
  const bool pd_missing = changes_pd && verbs::object<verbs::Pd>(pd) == nullptr;
  if (mr == nullptr || flags == 0 || (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) != 0 || translation_missing ||
      access_without_flag || pd_missing) {
    errno = EINVAL;
    return IBV_REREG_MR_ERR_INPUT;
  }
  protocol::ReregMr command{};
  command.handle = handle->handle;
  command.flags = static_cast<std::uint32_t>(flags);
  command.pd = changes_pd ? pd->handle : 0;
  command.start = command.iova = reinterpret_cast<std::uint64_t>(address);
  command.length = length;
  command.access = static_cast<unsigned>(access) & ~verbs::kIgnoredAccess;
  if (int error = verbs::execute(command, verbs::handle_of(handle->context))) {
    // The request was refused as a whole: the region is unchanged.
    errno = error;
    return IBV_REREG_MR_ERR_CMD;
  }
  handle->lkey = command.lkey;
  handle->rkey = command.rkey;
  if (changes_pd) {
    verbs::leave_domain(handle->pd);
    handle->pd = pd;
    verbs::enter_domain(pd);
  }
  if (moves) {
    handle->addr = address;
    handle->length = length;
  }
  return 0;
}

extern "C" int ibv_dereg_mr(ibv_mr* handle) {
  auto* mr = verbs::object<verbs::Mr>(handle);
  if (mr == nullptr) return EINVAL;
  VERBATIM_ENTER_VERB();
  if (int error = verbs::destroy(protocol::CommandType::kDeregMr, handle->context, handle->handle)) return error;
  verbs::leave_domain(handle->pd);
  verbs::remove_region(*mr);
  verbs::release_object(mr);
  return 0;
}
