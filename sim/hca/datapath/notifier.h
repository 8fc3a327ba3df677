// Completion events and asynchronous events of programs: each is readable at least one event latency after
// its cause, in the order of the causes. Memory faults are reported at once. Where the profile has event
// queues, an entry of one and then the interrupt message are written first, and the latency counts from the
// message.
#pragma once

#include <cstdint>

#include "sim/core/choice.h"
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
  // Time of the next event; kNever: none is due.
  Instant next() const { return due_.next(); }
  // An event of the port, or of the whole adapter, for one of its contexts.
  void port_event(Context& context, ib::AsyncEventType type);
  // A DMA access through `key` hit unmapped bytes. Reported once per region.
  void dma_fault(Context& context, std::uint32_t key, std::uint64_t va, std::uint64_t length);

 private:
  struct Notice {
    Ref<CompletionQueue> cq;
    Ref<QueuePair> qp;
    Ref<SharedReceiveQueue> srq;
    ib::AsyncEventType type{};
    bool is_completion = false;
    Ref<Context> context;
    Duration delay{0};  // by a free choice (freedom.h)
  };
  void push(Notice notice);
  void on_dma_read(std::uint64_t, Instant) override {}
  // An event queue entry has been written (0), or its interrupt message (1).
  void on_dma_write(std::uint64_t is_message) override;
  void wake(Notice notice);
  void on_due(Notice notice);
  // An event of a queue pair of an XRC domain, for all that have it open.
  void notify_openings(QueuePair& qp, protocol::AsyncEvent event);

  AdapterBase& adapter_;
  host::DmaEngine& dma_;
  KeyTable& keys_;
  Ring<Notice> writing_;
  DelayLine<Notice> due_;
  Instant last_due_{};
  RareDelays rare_delays_;
};

}  // namespace verbatim::hca
