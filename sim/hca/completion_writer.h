// The last stage of every work request: its completion passes the completion stage and is written to the ring
// by DMA. One for the whole adapter, in order, and behind the payload writes issued before: posted writes
// keep their order, so no completion is seen before its data.
#pragma once

#include "sim/core/delay_line.h"
#include "sim/core/ring.h"
#include "sim/hca/completion_queue.h"
#include "sim/hca/pipeline.h"
#include "sim/host/dma_engine.h"

namespace verbatim::hca {

class CompletionWriter final : public host::DmaClient {
 public:
  explicit CompletionWriter(Adapter& adapter);

  void push(const Ref<CompletionQueue>& cq, const protocol::Cqe& entry, bool solicited);

 private:
  struct Pending {
    Ref<CompletionQueue> cq;
    protocol::Cqe entry;
    bool solicited = false;
  };
  void on_staged(Pending pending);
  void on_dma_read(std::uint64_t, Instant) override {}
  void on_dma_write(std::uint64_t cookie) override;

  Adapter& adapter_;
  Pipeline stage_;
  DelayLine<Pending> staged_;
  Ring<Pending> writing_;
};

}  // namespace verbatim::hca
