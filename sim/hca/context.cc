#include "sim/hca/context.h"

#include "sim/hca/adapter_memory.h"

namespace verbatim::hca {

namespace {

// Listener of a program that has left: ignores all events.
class Nobody final : public EventListener {
  void on_completion_event(std::uint32_t, const protocol::CompletionEvent&) override {}
  void on_async_event(std::uint32_t, const protocol::AsyncEvent&) override {}
  void on_completion_written(std::uint32_t, std::uint32_t) override {}
  void on_dma_fault(std::uint32_t, std::uint64_t, std::uint64_t) override {}
};
Nobody nobody;

}  // namespace

bool Ucontext::has_handle(std::uint32_t handle) const {
  const auto is_in = [handle](const auto&... kinds) { return (kinds.contains(handle) || ...); };
  return is_in(pds, mrs, mws, dms, ahs, xrcds, cqs, qps, wqs, srqs, tables, flows, counters);
}

void Context::leave() {
  has_left_ = true;
  program.listener = &nobody;
}

void Context::keep_memory() {
  if (kept_ != nullptr) return;
  kept_ = std::make_unique<PinnedPages>();
  for (const auto& [handle, region] : objects.mrs) {
    // Pages on demand are not pinned: they go with the program.
    const bool is_pinned = region->context == this && (region->access & ib::kOnDemand) == 0 && !is_on_adapter(region->start);
    if (is_pinned) kept_->keep(*program.memory, region->start, region->length);
  }
  program.memory = kept_.get();
}

}  // namespace verbatim::hca
