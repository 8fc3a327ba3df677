// Brings work requests from the rings in the arena into the adapter by DMA: whole entries, or the lines that a request
// fills (profile: wqe_layout); send requests once the adapter has the queue pair's context. They then pass the decode
// stage one by one, or the processing units; receive requests and the receive doorbell record are there as soon as their
// bytes are.
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

  // `count` entries from `first`, in one piece of the ring; they come back by Requester::on_work.
  void fetch_send(QueuePair& qp, std::uint32_t first, std::uint32_t count);
  // One that the processor has pushed, so that it is in the adapter now; likewise.
  void take_pushed(QueuePair& qp, std::uint32_t number);
  // Likewise by ReceiveQueue::on_work.
  void fetch_recv(const ReceiveQueueOwner& owner, std::uint32_t first, std::uint32_t count,
                  std::uint32_t bytes);
  // The receive producer number comes back by ReceiveQueue::on_record.
  void fetch_recv_record(const ReceiveQueueOwner& owner);
  // Likewise by TagMatching::on_operation.
  void fetch_tag_operations(const Ref<SharedReceiveQueue>& srq, std::uint32_t first, std::uint32_t count,
                            std::uint32_t bytes);

  // From the stage that decodes it.
  void on_decoded(FetchedWork decoded);

 private:
  enum class Kind : std::uint8_t { kSend, kRecv, kRecvRecord, kTagOperation };
  struct Fetch {
    ReceiveQueueOwner owner;  // a reset in between makes the fetch void
    Kind kind = Kind::kSend;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t bytes = 0;
    Trail trail;  // of this alone
  };
  struct Received {
    ReceiveQueueOwner owner;
    bool is_record = false;
    std::uint32_t producer = 0;
    Instant sampled_at;
    RecvWork work;
    std::unique_ptr<TagOperation> operation;  // instead
  };

  void extend(SendWork& work, const QueuePair& qp, const Trail& fetch) const;
  static ReceiveQueue* receives_of(const ReceiveQueueOwner& owner);
  // Bytes of send requests that are read to fetch them.
  std::uint32_t bytes_of(const QueuePair& qp, std::uint32_t first, std::uint32_t count) const;
  // Entries of which so many bytes are read; 0: they are in the adapter.
  void start_send(QueuePair& qp, std::uint32_t first, std::uint32_t count, std::uint32_t bytes);
  void start(Fetch fetch);
  // Send requests that are there at `at_adapter`.
  void decode(const Fetch& fetch, Instant at_adapter);
  // Entries do not change while they are the adapter's, and in the record later posts do not count.
  host::Touch touch_of(std::uint64_t, std::vector<host::TouchedBytes>&) const override { return host::Touch::kUnseen; }
  void on_dma_read(std::uint64_t cookie, Instant at_adapter) override;
  void on_dma_write(std::uint64_t) override {}
  void on_cached(std::uint64_t cookie) override;
  void on_received(Received received);

  AdapterBase& adapter_;
  host::DmaEngine& dma_;
  AdapterCache& contexts_;
  Ring<Fetch> fetching_;
  std::map<std::uint64_t, Fetch> waiting_;  // for the context of a queue pair, by number
  std::uint64_t waited_ever_ = 0;
  Instant last_arrival_{};  // of a send request
  Pipeline decode_;
  DelayLine<FetchedWork> decoded_;
  ProcessingUnits units_;
  DelayLine<Received> received_;
};

}  // namespace verbatim::hca
