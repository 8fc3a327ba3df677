// Executes atomic requests on program memory (IBA 9.4.5): a DMA read of 64 bits, the operation, and a DMA
// write. Requests start in order of arrival. A request whose lock is held by an operation in progress waits,
// and so do all later requests. The lock is the address modulo the profile's number of locks (4096: the low
// 12 bits, facts/timing.md 3.3); one lock permits one operation per DMA read, about 2.7 million a second.
//
// If the profile limits the number of operations in progress, requests of other queue pairs overtake one that
// waits for a lock.
//
// Operations are atomic against each other only (IBV_ATOMIC_HCA): a store of the CPU or a WRITE between the
// DMA read and the DMA write is lost.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/core/delay_line.h"
#include "sim/core/ring.h"
#include "sim/hca/context.h"
#include "sim/host/dma_engine.h"
#include "sim/ib/packet.h"

namespace verbatim::hca {

struct AdapterBase;
class AdapterMemory;
class Notifier;
class PayloadWriter;

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
  AtomicUnit(AdapterBase& adapter, host::DmaEngine& dma, AdapterMemory& memory, PayloadWriter& payloads, Notifier& notifier);

  // Executes an atomic on the memory of `owner`'s program. The queue pair's ResponderDriver::on_atomic_done()
  // gets the original value.
  void execute(QueuePair& qp, Context& owner, const AtomicRequest& request);

 private:
  struct Operation {
    Ref<Context> context;
    Ref<QueuePair> qp;
    std::uint32_t epoch = 0;  // the queue pair's ring_epoch; after a reset the result is discarded
    AtomicRequest request;
    std::uint64_t original = 0;
  };
  std::size_t lock_of(const Operation& operation) const { return operation.request.address % locked_.size(); }

  void start_waiting();
  // Index of the first waiting request that may start; the number of waiting requests: none may.
  std::size_t next_to_start() const;
  void start(Operation operation);
  // As message_stream() of payload_writer.h.
  static std::uint64_t stream_of(const Operation& operation);
  void on_dma_read(std::uint64_t cookie, Instant at_adapter) override;
  void on_dma_write(std::uint64_t) override {}
  // Reads the original value, unless the context has ended.
  void read(Operation& operation);
  void on_value(Operation operation);

  AdapterBase& adapter_;
  host::DmaEngine& dma_;
  AdapterMemory& memory_;
  PayloadWriter& payloads_;
  Notifier& notifier_;
  std::vector<bool> locked_;
  std::deque<Operation> waiting_;
  std::uint32_t under_way_ = 0;
  Ring<Operation> reading_;
  DelayLine<Operation> values_;
  Instant last_value_{};  // time of the newest entry of values_
};

}  // namespace verbatim::hca
