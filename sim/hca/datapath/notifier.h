// Events on their way to programs: completion events and asynchronous events, each readable one event latency
// after its cause or later, in the order of the causes; and memory faults, told at once. Where the profile has event
// queues, an entry of one and then the interrupt message are written first, and the latency counts from the message.
#pragma once

#include <cstdint>

#include "sim/core/delay_line.h"
#include "sim/hca/context.h"
#include "sim/host/dma_engine.h"
#include "sim/ib/types.h"

namespace verbatim::hca {

struct AdapterBase;
class KeyTable;

class Notifier final : public host::DmaClient {
 public:
  Notifier(AdapterBase& adapter, host::DmaEngine& dma, KeyTable& keys);

  void completion_event(CompletionQueue& cq);
  void async_event(CompletionQueue& cq, ib::AsyncEventType type);
  void async_event(QueuePair& qp, ib::AsyncEventType type);
  void async_event(SharedReceiveQueue& srq, ib::AsyncEventType type);
  // When the next event is told; kNever: none is due.
  Instant next() const { return due_.next(); }
  // Of the port, or of the adapter as a whole; to one of those who have opened it.
  void port_event(Context& context, ib::AsyncEventType type);
  // A DMA access through `key` hit unmapped bytes. Once per region.
  void dma_fault(Context& context, std::uint32_t key, std::uint64_t va, std::uint64_t length);

 private:
  struct Notice {
    Ref<CompletionQueue> cq;
    Ref<QueuePair> qp;
    Ref<SharedReceiveQueue> srq;
    ib::AsyncEventType type{};
    bool is_completion = false;
    Ref<Context> context;
    Duration delay{0};  // free choice
  };
  void push(Notice notice);
  void on_dma_read(std::uint64_t, Instant) override {}
  // An event queue entry or its interrupt message, which is the last.
  void on_dma_write(std::uint64_t is_message) override;
  void wake(Notice notice);
  void on_due(Notice notice);
  // A queue pair of an XRC domain: everybody who uses it is told.
  void tell_openings(QueuePair& qp, protocol::AsyncEvent event);

  AdapterBase& adapter_;
  host::DmaEngine& dma_;
  KeyTable& keys_;
  Ring<Notice> writing_;
  DelayLine<Notice> due_;
  Instant last_due_{};
};

}  // namespace verbatim::hca
