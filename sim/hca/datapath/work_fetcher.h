// Fetches work requests from the rings in the arena by DMA: whole entries, or the lines that a request fills
// (profile: wqe_layout). Send requests are fetched when the adapter has the queue pair's context, and then
// pass the decode stage one by one, or the processing units. Receives and the receive doorbell record are in
// the adapter when their last byte has been read.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "sim/core/delay_line.h"
#include "sim/core/ring.h"
#include "sim/hca/context.h"
#include "sim/hca/datapath/processing_units.h"
#include "sim/hca/datapath/receive_queue.h"
#include "sim/hca/queues/tag_list.h"
#include "sim/hca/queues/work_request.h"
#include "sim/hca/stages/adapter_cache.h"
#include "sim/hca/stages/pipeline.h"
#include "sim/host/dma_engine.h"

namespace verbatim::hca {

struct AdapterBase;

class WorkFetcher final : public host::DmaClient, public CacheClient {
 public:
  WorkFetcher(AdapterBase& adapter, host::DmaEngine& dma, AdapterCache& contexts);

  // `count` entries from `first`, contiguous in the ring; RequesterDriver::on_work is called for each.
  void fetch_send(QueuePair& qp, std::uint32_t first, std::uint32_t count);
  // The same for an entry that the processor has pushed with its doorbell, and that is in the adapter now.
  void take_pushed(QueuePair& qp, std::uint32_t number);
  // Entries of a receive ring; ReceiveQueue::on_work is called for each.
  void fetch_recv(const ReceiveQueueOwner& owner, std::uint32_t first, std::uint32_t count,
                  std::uint32_t bytes);
  // The receive producer number; ReceiveQueue::on_record is called with it.
  void fetch_recv_record(const ReceiveQueueOwner& owner);
  // Operations on a list of tags; TagMatching::on_operation is called for each.
  void fetch_tag_operations(const Ref<SharedReceiveQueue>& srq, std::uint32_t first, std::uint32_t count,
                            std::uint32_t bytes);

  // Called by the processing units.
  void on_decoded(FetchedWork decoded);

 private:
  enum class Kind : std::uint8_t { kSend, kRecv, kRecvRecord, kTagOperation };
  struct Fetch {
    ReceiveQueueOwner owner;  // after a reset the fetch is discarded
    Kind kind = Kind::kSend;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t bytes = 0;
    Trail trail;  // the trail of this fetch
  };
  struct Received {
    ReceiveQueueOwner owner;
    bool is_record = false;
    std::uint32_t producer = 0;
    Instant sampled_at;
    RecvWork work;
    std::unique_ptr<TagOperation> operation;  // instead of `work`
  };

  void extend(SendWork& work, const QueuePair& qp, const Trail& fetch) const;
  static ReceiveQueue* receives_of(const ReceiveQueueOwner& owner);
  // Bytes of send requests that are read to fetch them.
  std::uint32_t bytes_of(const QueuePair& qp, std::uint32_t first, std::uint32_t count) const;
  // Fetches entries by reading `bytes`; 0: they are in the adapter.
  void start_send(QueuePair& qp, std::uint32_t first, std::uint32_t count, std::uint32_t bytes);
  void start(Fetch fetch);
  // Decodes send requests that are in the adapter at `at_adapter`.
  void decode(const Fetch& fetch, Instant at_adapter);
  // The program does not change posted entries, and later posts in the record do not count.
  host::Touch touch_of(std::uint64_t, std::vector<host::TouchedBytes>&) const override { return host::Touch::kUnseen; }
  void on_dma_read(std::uint64_t cookie, Instant at_adapter) override;
  void on_dma_write(std::uint64_t) override {}
  void on_cached(std::uint64_t cookie) override;
  void on_received(Received received);

  AdapterBase& adapter_;
  host::DmaEngine& dma_;
  AdapterCache& contexts_;
  Ring<Fetch> fetching_;
  std::map<std::uint64_t, Fetch> waiting_;  // fetches that wait for the context of a queue pair, by number
  std::uint64_t waited_ever_ = 0;
  Instant last_arrival_{};  // arrival of the last send request
  Pipeline decode_;
  DelayLine<FetchedWork> decoded_;
  ProcessingUnits units_;
  DelayLine<Received> received_;
};

}  // namespace verbatim::hca
