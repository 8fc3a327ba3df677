// Brings work requests from the rings in the arena into the adapter by DMA. Send requests then pass the
// decode stage one by one; receive requests and the receive doorbell record are there as soon as their bytes
// are.
#pragma once

#include <cstdint>

#include "sim/core/delay_line.h"
#include "sim/core/ring.h"
#include "sim/hca/context.h"
#include "sim/hca/pipeline.h"
#include "sim/hca/work_request.h"
#include "sim/host/dma_engine.h"

namespace verbatim::hca {

struct Adapter;

class WorkFetcher final : public host::DmaClient {
 public:
  explicit WorkFetcher(Adapter& adapter);

  // `count` entries from `first`, in one piece of the ring; they come back by QueuePair::on_send_work.
  void fetch_send(QueuePair& qp, std::uint32_t first, std::uint32_t count);
  // Likewise by on_recv_work.
  void fetch_recv(QueuePair& qp, std::uint32_t first, std::uint32_t count);
  // The receive producer number comes back by on_recv_record.
  void fetch_recv_record(QueuePair& qp);

 private:
  enum class Kind : std::uint8_t { kSend, kRecv, kRecvRecord };
  struct Fetch {
    Ref<QueuePair> qp;
    std::uint32_t epoch = 0;  // of the rings: a reset in between makes the fetch void
    Kind kind = Kind::kSend;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  struct Decoded {
    Ref<QueuePair> qp;
    std::uint32_t epoch = 0;
    SendWork work;
  };
  struct Received {
    Ref<QueuePair> qp;
    std::uint32_t epoch = 0;
    bool is_record = false;
    std::uint32_t producer = 0;
    Instant sampled_at;
    RecvWork work;
  };

  void start(QueuePair& qp, Kind kind, std::uint32_t first, std::uint32_t count, std::uint32_t bytes);
  void on_dma_read(std::uint64_t cookie, Instant at_adapter) override;
  void on_dma_write(std::uint64_t) override {}
  void on_decoded(Decoded decoded);
  void on_received(Received received);

  Adapter& adapter_;
  Ring<Fetch> fetching_;
  Pipeline decode_;
  DelayLine<Decoded> decoded_;
  DelayLine<Received> received_;
};

}  // namespace verbatim::hca
