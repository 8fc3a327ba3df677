#include "sim/hca/datapath/atomic_unit.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "sim/hca/adapter_base.h"
#include "sim/hca/adapter_memory.h"
#include "sim/hca/datapath/notifier.h"
#include "sim/hca/datapath/payload_writer.h"
#include "sim/hca/datapath/queue_pair.h"

namespace verbatim::hca {

std::uint64_t AtomicUnit::stream_of(const Operation& operation) {
  const QueuePair* qp = operation.qp.get();
  return message_stream(qp != nullptr ? qp->number : 0, false);
}

AtomicUnit::AtomicUnit(AdapterBase& adapter, host::DmaEngine& dma, AdapterMemory& memory, PayloadWriter& payloads,
                       Notifier& notifier)
    : adapter_(adapter),
      dma_(dma),
      memory_(memory),
      payloads_(payloads),
      notifier_(notifier),
      locked_(adapter.profile.atomics.locks),
      values_(DelayLine<Operation>::of<&AtomicUnit::on_value>(adapter.engine, adapter.id, EventClass::kStage,
                                                              this)) {}

void AtomicUnit::execute(QueuePair& qp, Context& owner, const AtomicRequest& request) {
  waiting_.push_back({owner.self, qp.self, qp.ring_epoch, request, 0});
  start_waiting();
}

void AtomicUnit::start_waiting() {
  for (std::size_t next = next_to_start(); next < waiting_.size(); next = next_to_start()) {
    Operation operation = std::move(waiting_[next]);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(next));
    start(std::move(operation));
  }
}

std::size_t AtomicUnit::next_to_start() const {
  const std::uint32_t most = adapter_.profile.atomics.in_flight;
  if (most == 0) return !waiting_.empty() && !locked_[lock_of(waiting_.front())] ? 0 : waiting_.size();
  if (under_way_ >= most) return waiting_.size();
  // Operations of one queue pair change memory in its order (IBA 9.5).
  constexpr std::size_t kWindow = 64;
  std::array<const QueuePair*, kWindow> blocked;
  std::size_t count = 0;
  for (std::size_t i = 0; i < std::min(waiting_.size(), kWindow); ++i) {
    const QueuePair* qp = waiting_[i].qp.get();
    const bool follows = std::find(blocked.begin(), blocked.begin() + count, qp) != blocked.begin() + count;
    if (!follows && !locked_[lock_of(waiting_[i])]) return i;
    blocked[count++] = qp;
  }
  return waiting_.size();
}

void AtomicUnit::start(Operation operation) {
  locked_[lock_of(operation)] = true;
  ++under_way_;
  Trail trail = operation.request.trail.shared();
  trail.add(adapter_.engine.now(), {adapter_.id, "atomic: locked location"});
  // An atomic sees, and acknowledges, the earlier writes of its queue pair (IBA 9.5); no read passes a write
  // of the same bytes.
  payloads_.release_stream(stream_of(operation));
  payloads_.release_bytes(operation.request.address, sizeof(std::uint64_t));
  if (is_on_adapter(operation.request.address)) {
    // It is read behind the atomics that wait for PCI Express.
    last_value_ = std::max(last_value_, adapter_.engine.now());
    return values_.push(last_value_, std::move(operation));
  }
  reading_.push_back(std::move(operation));
  dma_.read(sizeof(std::uint64_t), *this, 0, std::move(trail));
}

void AtomicUnit::read(Operation& operation) {
  Context* context = operation.context.get();
  if (context == nullptr) return;
  const AtomicRequest& request = operation.request;
  const auto to = std::as_writable_bytes(std::span(&operation.original, 1));
  if (!memory_.read(*context, request.address, to)) {
    notifier_.dma_fault(*context, request.key, request.address, to.size());
  }
}

void AtomicUnit::on_dma_read(std::uint64_t, Instant at_adapter) {
  Operation operation = reading_.pop_front();
  read(operation);
  last_value_ = std::max(last_value_, at_adapter);
  values_.push(last_value_, std::move(operation));
}

void AtomicUnit::on_value(Operation operation) {
  const AtomicRequest& request = operation.request;
  if (is_on_adapter(request.address)) read(operation);
  // IBA 9.4.5.1, 9.4.5.2: sums wrap; a comparison that fails changes nothing.
  const bool writes = !request.is_compare_swap || operation.original == request.compare;
  if (Context* context = operation.context.get(); context != nullptr && writes) {
    const std::uint64_t value =
        request.is_compare_swap ? request.swap_add : operation.original + request.swap_add;
    const ib::Payload payload{ib::PayloadBuffer::copy_of(std::as_bytes(std::span(&value, 1))), 0,
                              sizeof(value)};
    const MemoryPiece piece{request.address, sizeof(value), request.key, context};
    payloads_.release_stream(stream_of(operation));  // each is a message of its own
    payloads_.write(*context, payload, {&piece, 1}, stream_of(operation));
  }
  // No later read passes the write.
  locked_[lock_of(operation)] = false;
  --under_way_;
  QueuePair* qp = operation.qp.get();
  if (qp != nullptr && qp->ring_epoch == operation.epoch) {
    qp->responder_driver.on_atomic_done(request.psn, operation.original, request.trail);
  }
  start_waiting();
}

}  // namespace verbatim::hca
