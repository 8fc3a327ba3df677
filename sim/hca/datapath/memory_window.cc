// Choices that the specification leaves to the adapter: invalidating a window of type 2 that is not bound is
// no error, and destroying a queue pair unbinds its windows.
#include "sim/hca/datapath/memory_window.h"

#include "sim/hca/datapath/adapter.h"
#include "sim/hca/datapath/queue_pair.h"

namespace verbatim::hca {

using ib::WcStatus;

void unbind(Adapter& adapter, MemoryWindow& window) {
  if (window.region == nullptr) return;
  adapter.payloads.release_bytes(window.region->start, window.region->length);  // no write through the window follows
  --window.region->windows;
  if (QueuePair* qp = window.qp.get(); qp != nullptr) --qp->uses.windows;
  window.region = nullptr;
  window.qp = {};
}

void unbind_windows_of(QueuePair& qp) {
  if (qp.uses.windows == 0) return;
  for (const auto& [handle, window] : qp.context.objects.mws) {
    if (window->qp.get() == &qp) unbind(qp.adapter, *window);
  }
}

namespace {

// Rights that a request may name. Local rights are those of the region.
constexpr std::uint32_t kWindowAccess = ib::kRemoteRights | ib::kZeroBased | ib::kLocalWrite;

// The region of the request; null when the window may not be bound to it.
MemoryRegion* region_to_bind(const Adapter& adapter, const QueuePair& qp, const SendWork& work) {
  MemoryRegion* region = adapter.keys.find(work.bound_lkey());
  // C10-72 to C10-75: of the same domain, made for windows, and all of the window within it.
  if (region == nullptr || (region->access & ib::kMwBind) == 0 || (region->access & ib::kZeroBased) != 0) return nullptr;
  const bool writes = (work.bound_access() & (ib::kRemoteWrite | ib::kRemoteAtomic)) != 0;
  const std::uint32_t needed = writes ? std::uint32_t{ib::kLocalWrite} : 0;
  return adapter.keys
      .check(work.bound_lkey(), qp.context, qp.params.pd, work.remote_va, work.bound_length(), needed)
      .region;
}

}  // namespace

WcStatus bind_window(Adapter& adapter, QueuePair& qp, const SendWork& work) {
  const auto found = qp.context.objects.mws.find(work.address_handle);
  if (found == qp.context.objects.mws.end()) return WcStatus::kMwBindError;
  MemoryWindow& window = *found->second;
  const bool is_type1 = window.type == MemoryWindow::kType1;
  if (window.pd != qp.params.pd || (work.bound_access() & ~kWindowAccess) != 0) return WcStatus::kMwBindError;
  // A window of type 2 is bound once and then invalidated. A request of no bytes unbinds a window of type 1.
  const bool unbinds = work.bound_length() == 0;
  if (!is_type1 && (unbinds || window.region != nullptr)) return WcStatus::kMwBindError;
  MemoryRegion* region = unbinds ? nullptr : region_to_bind(adapter, qp, work);
  if (!unbinds && region == nullptr) return WcStatus::kMwBindError;
  unbind(adapter, window);
  // The window's own index and the low byte of the request's rkey: rdma-core, providers/mlx5/qp.c, set_umr_mkey_seg.
  adapter.keys.rename(window, KeyTable::variant_of(work.rkey));
  if (unbinds) return WcStatus::kSuccess;
  window.region = region;
  window.access = work.bound_access();
  window.start = work.remote_va;
  window.length = work.bound_length();
  ++region->windows;
  if (!is_type1) {
    window.qp = qp.self;
    ++qp.uses.windows;
  }
  return WcStatus::kSuccess;
}

bool invalidate_window(Adapter& adapter, const QueuePair& qp, std::uint32_t key) {
  MemoryWindow* window = adapter.keys.find_window(key);
  if (window == nullptr || window->type != MemoryWindow::kType2) return false;
  if (&window->context->objects != &qp.memory_owner().objects) return false;
  if (window->region == nullptr) return window->pd == qp.memory_pd();
  if (window->qp.get() != &qp) return false;
  unbind(adapter, *window);
  return true;
}

}  // namespace verbatim::hca
