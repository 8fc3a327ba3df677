#include "sim/hca/atomic_unit.h"

#include <span>
#include <utility>

#include "sim/hca/adapter.h"
#include "sim/hca/queue_pair.h"

namespace verbatim::hca {

AtomicUnit::AtomicUnit(Adapter& adapter)
    : adapter_(adapter),
      values_(DelayLine<Operation>::of<&AtomicUnit::on_value>(adapter.engine, adapter.id, EventClass::kStage,
                                                              this)) {}

void AtomicUnit::execute(QueuePair& qp, Context& owner, const AtomicRequest& request) {
  waiting_.push_back({owner.self, qp.self, qp.ring_epoch, request, 0});
  start_waiting();
}

void AtomicUnit::start_waiting() {
  while (!waiting_.empty() && !locked_[lock_of(waiting_.front())]) {
    Operation operation = waiting_.pop_front();
    locked_[lock_of(operation)] = true;
    Trail trail = operation.request.trail.shared();
    trail.add(adapter_.engine.now(), {adapter_.id, "atomic: locked location"});
    reading_.push_back(std::move(operation));
    adapter_.payloads.release_held();
    adapter_.dma.read(sizeof(std::uint64_t), *this, 0, std::move(trail));
  }
}

void AtomicUnit::on_dma_read(std::uint64_t, Instant at_adapter) {
  Operation operation = reading_.pop_front();
  if (Context* context = operation.context.get(); context != nullptr) {
    const AtomicRequest& request = operation.request;
    const auto to = std::as_writable_bytes(std::span(&operation.original, 1));
    if (!context->program.memory->read(request.address, to)) {
      adapter_.notifier.dma_fault(*context, request.key, request.address, to.size());
    }
  }
  values_.push(at_adapter, std::move(operation));
}

void AtomicUnit::on_value(Operation operation) {
  const AtomicRequest& request = operation.request;
  // IBA 9.4.5.1, 9.4.5.2: sums wrap; a comparison that fails changes nothing.
  const bool writes = !request.is_compare_swap || operation.original == request.compare;
  if (Context* context = operation.context.get(); context != nullptr && writes) {
    const std::uint64_t value =
        request.is_compare_swap ? request.swap_add : operation.original + request.swap_add;
    const ib::Payload payload{ib::PayloadBuffer::copy_of(std::as_bytes(std::span(&value, 1))), 0,
                              sizeof(value)};
    const MemoryPiece piece{request.address, sizeof(value), request.key};
    adapter_.payloads.write(*context, payload, {&piece, 1}, message_stream(0, false));
  }
  // No later read passes the write.
  locked_[lock_of(operation)] = false;
  QueuePair* qp = operation.qp.get();
  if (qp != nullptr && qp->ring_epoch == operation.epoch) {
    qp->responses.on_atomic_result(request.psn, operation.original, request.trail);
  }
  start_waiting();
}

}  // namespace verbatim::hca
