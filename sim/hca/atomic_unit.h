// Executes atomic requests on program memory (IBA 9.4.5): a DMA read of 64 bits, the operation, and a DMA
// write. Requests start in the order in which they come; one for a location that another may still change
// waits, and those behind it. Locations are told apart by the low 12 bits of their address, as adapters do
// (facts/timing.md 3.3), so one location takes one operation per DMA read, about 2.7 million a second.
//
// Atomic against each other only (IBV_ATOMIC_HCA): what the CPU or a WRITE stores between read and write is
// lost.
#pragma once

#include <bitset>
#include <cstdint>

#include "sim/core/delay_line.h"
#include "sim/core/ring.h"
#include "sim/hca/context.h"
#include "sim/host/dma_engine.h"
#include "sim/ib/packet.h"

namespace verbatim::hca {

struct Adapter;

struct AtomicRequest {
  bool is_compare_swap = false;
  std::uint64_t swap_add = 0;
  std::uint64_t compare = 0;
  host::ProgramAddress address = 0;  // a multiple of 8
  std::uint32_t key = 0;
  ib::Psn psn;
  Trail trail;
};

class AtomicUnit final : public host::DmaClient {
 public:
  explicit AtomicUnit(Adapter& adapter);

  // On memory of `owner`. The original value goes to the queue pair's ResponseQueue::on_atomic_result.
  void execute(QueuePair& qp, Context& owner, const AtomicRequest& request);

 private:
  struct Operation {
    Ref<Context> context;
    Ref<QueuePair> qp;
    std::uint32_t epoch = 0;  // of the queue pair's rings: after a reset nobody waits for the result
    AtomicRequest request;
    std::uint64_t original = 0;
  };
  static constexpr std::size_t kLocks = 4096;
  static std::size_t lock_of(const Operation& operation) { return operation.request.address % kLocks; }

  void start_waiting();
  void on_dma_read(std::uint64_t cookie, Instant at_adapter) override;
  void on_dma_write(std::uint64_t) override {}
  void on_value(Operation operation);

  Adapter& adapter_;
  std::bitset<kLocks> locked_;
  Ring<Operation> waiting_;
  Ring<Operation> reading_;
  DelayLine<Operation> values_;
};

}  // namespace verbatim::hca
