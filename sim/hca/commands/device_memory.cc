// Memory of the adapter's own, null regions, import, and advice on regions that are paged on demand.
#include <cerrno>

#include "sim/hca/commands/hca_impl.h"

namespace verbatim::hca {

namespace {

// A copy by the processor is of words of 4 bytes, as the mlx5 provider has it.
constexpr std::uint64_t kWord = 4;

bool lies_within(const DeviceMemory& dm, std::uint64_t offset, std::uint64_t length) {
  return offset <= dm.length && length <= dm.length - offset;
}

}  // namespace

int Hca::Impl::alloc_dm(Context& context, protocol::AllocDm& command) {
  const std::uint64_t most = adapter.profile.max_dm_size;
  if (most == 0) return refuse(EOPNOTSUPP, "the adapter has no memory of its own for programs");
  if (command.length == 0 || command.length > most) {
    return refuse(EINVAL, "a length of ", command.length, ": it may be 1 to max_dm_size ", most);
  }
  if (command.log_align > 32 || (1ull << command.log_align) > most) {
    return refuse(EINVAL, "log_align_req ", command.log_align, " is more than max_dm_size ", most);
  }
  const auto offset = adapter.memory.allocate(command.length, std::max<std::uint64_t>(1ull << command.log_align, 64));
  if (!offset) return refuse(ENOMEM, "the adapter's memory has no room for ", command.length, " bytes more");
  command.handle = take_handle(context);
  context.objects.dms[command.handle] = {*offset, command.length, 0};
  return 0;
}

int Hca::Impl::free_dm(Context& context, protocol::DestroyObject& command) {
  const auto it = context.objects.dms.find(command.handle);
  if (it == context.objects.dms.end()) return no_object_to_destroy("device memory", command.handle);
  if (it->second.users > 0) return refuse(EBUSY, it->second.users, " memory regions lie in it");
  adapter.memory.release(it->second.offset);
  context.objects.dms.erase(it);
  command.events_reported = command.async_events_reported = 0;
  return 0;
}

int Hca::Impl::copy_dm(Context& context, protocol::CopyDm& command) {
  const auto it = context.objects.dms.find(command.handle);
  if (it == context.objects.dms.end()) return no_object("device memory", command.handle);
  if (command.to_device > 1) return refuse(EINVAL, "unknown direction");
  const DeviceMemory& dm = it->second;
  if (!lies_within(dm, command.offset, command.length)) return refuse_dm_range(command.offset, command.length, dm.length);
  if (command.offset % kWord != 0 || command.length % kWord != 0) {
    return refuse(EINVAL, "offset ", command.offset, " and length ", command.length, " must be multiples of 4");
  }
  std::vector<std::byte> bytes(command.length);
  const host::ProgramAddress at = kDeviceMemory + dm.offset + command.offset;
  if (is_on_adapter(command.address)) return refuse(EFAULT, Hex{command.address}, " is no address of the program");
  const auto from = command.to_device != 0 ? command.address : at, to = command.to_device != 0 ? at : command.address;
  return adapter.memory.read(context, from, bytes) && adapter.memory.write(context, to, bytes) ? 0 : EFAULT;
}

int Hca::Impl::reg_dm_mr(Context& context, protocol::RegDmMr& command) {
  constexpr std::uint32_t kKnown = ib::kLocalWrite | ib::kRemoteRights | ib::kZeroBased | ib::kOptionalAccess;
  const auto it = context.objects.dms.find(command.dm);
  if (it == context.objects.dms.end()) return no_object("device memory", command.dm);
  if (!context.objects.pds.contains(command.pd)) return no_object("protection domain", command.pd);
  // ibv_alloc_dm(3): such a region counts from its first byte.
  if ((command.access & ~kKnown) != 0 || (command.access & ib::kZeroBased) == 0) {
    return refuse(EINVAL, "access ", Hex{command.access}, ": IBV_ACCESS_ZERO_BASED is needed, local and remote rights are allowed");
  }
  const bool writes_remotely = (command.access & (ib::kRemoteWrite | ib::kRemoteAtomic)) != 0;
  if (writes_remotely && (command.access & ib::kLocalWrite) == 0) {
    return refuse(EINVAL, "IBV_ACCESS_REMOTE_WRITE and IBV_ACCESS_REMOTE_ATOMIC need IBV_ACCESS_LOCAL_WRITE");
  }
  if (!lies_within(it->second, command.offset, command.length)) {
    refuse_dm_range(command.offset, command.length, it->second.length);
    return EINVAL;
  }
  auto region = std::make_unique<MemoryRegion>();
  region->pd = command.pd;
  region->access = command.access;
  region->start = kDeviceMemory + it->second.offset + command.offset;
  region->length = command.length;
  region->dm = command.dm;
  const int error = add_mr(context, std::move(region), &command.handle, &command.key);
  if (error == 0) ++it->second.users;
  return error;
}

int Hca::Impl::alloc_null_mr(Context& context, protocol::AllocNullMr& command) {
  if (!context.objects.pds.contains(command.pd)) return no_object("protection domain", command.pd);
  auto region = std::make_unique<MemoryRegion>();
  region->pd = command.pd;
  region->access = ib::kLocalWrite;
  region->start = kNullMemory;
  region->length = SIZE_MAX;
  return add_mr(context, std::move(region), &command.handle, &command.lkey);
}

int Hca::Impl::import_object(Context& context, protocol::ImportObject& command) {
  if (command.kind == protocol::ImportObject::kPd) {
    return context.objects.pds.contains(command.handle) ? 0 : no_object("protection domain", command.handle);
  }
  if (command.kind == protocol::ImportObject::kDm) {
    const auto dm = context.objects.dms.find(command.handle);
    if (dm == context.objects.dms.end()) return no_object("device memory", command.handle);
    command.length = dm->second.length;
    return 0;
  }
  const auto mr = context.objects.mrs.find(command.handle);
  if (command.kind != protocol::ImportObject::kMr || mr == context.objects.mrs.end()) {
    return no_object("memory region", command.handle);
  }
  if (mr->second->pd != command.pd) return refuse(EINVAL, "the memory region belongs to another protection domain");
  command.lkey = command.rkey = mr->second->key;
  command.length = mr->second->length;
  return 0;
}

int Hca::Impl::advise_mr(Context& context, protocol::AdviseMr& command) {
  enum Advice : std::uint32_t { kPrefetch, kPrefetchWrite, kPrefetchNoFault };
  constexpr std::uint32_t kFlush = 1;
  if (command.advice > kPrefetchNoFault) return refuse(EOPNOTSUPP, "unknown advice ", command.advice);
  if ((command.flags & ~kFlush) != 0) return refuse(EINVAL, "unknown flags ", Hex{command.flags});
  if (!context.objects.pds.contains(command.pd)) return no_object("protection domain", command.pd);
  if (adapter.keys.find_window(command.lkey) != nullptr) return refuse(EINVAL, Hex{command.lkey}, " is a window's key, not an lkey");
  const MemoryRegion* region = adapter.keys.find(command.lkey);
  if (region == nullptr || &region->context->objects != &context.objects) return refuse(ENOENT, "this context has no memory with lkey ", Hex{command.lkey});
  const bool writes = command.advice == kPrefetchWrite;
  if (region->pd != command.pd) return refuse(EPERM, "the memory belongs to another protection domain");
  if ((region->access & ib::kOnDemand) == 0) return refuse(EPERM, "the memory was registered without IBV_ACCESS_ON_DEMAND");
  if (writes && (region->access & ib::kLocalWrite) == 0) return refuse(EPERM, "the memory was registered without IBV_ACCESS_LOCAL_WRITE");
  const std::uint64_t offset = command.va - region->iova;
  if (command.va < region->iova || offset > region->length || command.length > region->length - offset) {
    return refuse(EFAULT, command.length, " bytes at ", Hex{command.va}, " are not within the memory with lkey ", Hex{command.lkey});
  }
  // Without the flag the advice is followed later, and nobody hears what became of it.
  if ((command.flags & kFlush) == 0 || command.advice == kPrefetchNoFault || command.length == 0) return 0;
  return region->context->program.memory->is_mapped(region->start + offset, command.length, writes) ? 0 : EFAULT;
}

}  // namespace verbatim::hca
