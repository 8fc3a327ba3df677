// Protection domains, thread domains, and parent domains, which join the two.
#include "verbs_shim/verbs/objects.h"

namespace verbatim::verbs {
namespace {

// Resource type for the allocator, with the driver in the upper half (ibv_alloc_parent_domain(3)).
std::uint64_t number_of(ResourceType type) {
  constexpr std::uint64_t kMlx5 = 1;  // RDMA_DRIVER_MLX5
  return kMlx5 << 32 | static_cast<std::uint64_t>(type);
}

bool take(Pd& pd, ResourceType type, std::size_t size, std::size_t alignment, void** to) {
  void* const given = pd.allocate(&pd.base, pd.allocator_context, size, alignment, number_of(type));
  *to = given == IBV_ALLOCATOR_USE_DEFAULT ? nullptr : given;
  return given != nullptr;
}

void give_back(Pd& pd, ResourceType type, void** memory) {
  if (*memory != nullptr) pd.release(&pd.base, pd.allocator_context, *memory, number_of(type));
  *memory = nullptr;
}

}  // namespace

bool allocate_in_domain(ibv_pd* handle, ResourceType type, std::uint64_t ring_bytes, DomainMemory* memory) {
  auto* pd = object<Pd>(handle);
  if (pd == nullptr || pd->allocate == nullptr || ring_bytes == 0) return true;
  // Whole pages for rings, and records of two counters, as mlx5 requests them.
  constexpr std::size_t kPage = 4096, kRecord = 8;
  if (!take(*pd, type, (ring_bytes + kPage - 1) / kPage * kPage, kPage, &memory->rings)) return false;
  if (take(*pd, ResourceType::kDoorbellRecord, kRecord, kRecord, &memory->record)) return true;
  give_back(*pd, type, &memory->rings);
  return false;
}

void release_in_domain(ibv_pd* handle, ResourceType type, DomainMemory* memory) {
  auto* pd = object<Pd>(handle);
  if (pd == nullptr || pd->release == nullptr) return;
  give_back(*pd, ResourceType::kDoorbellRecord, &memory->record);
  give_back(*pd, type, &memory->rings);
}

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attributes) {
  if (attributes->comp_mask != 0) return refuse(EINVAL);
  auto* td = allocate_object<Td>();
  if (td == nullptr) return nullptr;
  td->base.context = context;
  return &td->base;
}

int dealloc_td(ibv_td* handle) {
  auto* td = object<Td>(handle);
  if (td == nullptr) return EINVAL;
  if (td->users != 0) return refuse_with(EBUSY, "ibv_dealloc_td: a parent domain uses it");
  release_object(td);
  return 0;
}

ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes) {
  // IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC, which headers before rdma-core 64 do not define. As with mlx5,
  // it has no effect outside a confidential guest.
  constexpr std::uint32_t kUnprotectedMemory = 1 << 2;
  constexpr std::uint32_t kKnown =
      IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT | kUnprotectedMemory;
  auto* protection_domain = object<Pd>(attributes->pd);
  Td* const td = object<Td>(attributes->td);
  // A parent domain has no parent, its parts belong to one device, and an allocator needs a release function.
  if (protection_domain == nullptr || protection_domain->protection_domain != nullptr ||
      attributes->pd->context != context || (attributes->td != nullptr && (td == nullptr || td->base.context != context)) ||
      (attributes->comp_mask & ~kKnown) != 0 ||
      ((attributes->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) != 0 &&
       (attributes->alloc == nullptr || attributes->free == nullptr))) {
    return refuse(refuse_with(EINVAL, "ibv_alloc_parent_domain: it needs a plain PD and perhaps a thread domain of the same device, "
                                  "and alloc and free come together"));
  }
  auto* parent = allocate_object<Pd>();
  if (parent == nullptr) return nullptr;
  parent->base.context = context;
  parent->base.handle = attributes->pd->handle;
  parent->protection_domain = protection_domain;
  ++protection_domain->users;
  if ((attributes->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) != 0) {
    parent->allocate = attributes->alloc;
    parent->release = attributes->free;
  }
  if ((attributes->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT) != 0) parent->allocator_context = attributes->pd_context;
  parent->td = td;
  if (td != nullptr) ++td->users;
  return &parent->base;
}

}  // namespace verbatim::verbs

using namespace verbatim;
using verbs::Pd;

extern "C" ibv_pd* ibv_alloc_pd(ibv_context* context) {
  VERBATIM_ENTER_VERB();
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
  if (pd->users != 0) return verbs::refuse_with(EBUSY, "ibv_dealloc_pd: a parent domain uses it");
  if (pd->protection_domain != nullptr) {
    --pd->protection_domain->users;
    if (pd->td != nullptr) --pd->td->users;
    verbs::release_object(pd);
    return 0;
  }
  int error = verbs::destroy(protocol::CommandType::kDeallocPd, handle->context, handle->handle);
  if (error == 0) verbs::release_object(pd);
  return error;
}
