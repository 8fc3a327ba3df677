// The units that decode work requests (profile: processing_units). Each serves one queue pair at a time: it
// takes a request of it for the interval of the decode stage, and the request leaves after the stage's
// latency. Queue pairs that have requests take turns, request by request; one queue pair never keeps two
// units busy. The stage's capacity is that of all units together.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/delay_line.h"
#include "sim/core/ring.h"
#include "sim/hca/queues/work_request.h"
#include "sim/hca/slot.h"

namespace verbatim::hca {

struct AdapterBase;
class QueuePair;
class WorkFetcher;

// A work request of one life of a queue pair's rings.
struct FetchedWork {
  Ref<QueuePair> qp;
  std::uint32_t epoch = 0;
  std::uint32_t qpn = 0;
  SendWork work;
};

class ProcessingUnits {
 public:
  ProcessingUnits(AdapterBase& adapter, WorkFetcher& fetcher);

  // The request is in the adapter at `when`, which is not before the `when` of the last call. When it has
  // been decoded, WorkFetcher::on_decoded is called.
  void push(Instant when, FetchedWork work) { arriving_.push(when, std::move(work)); }

 private:
  struct Lane {  // requests of one queue pair
    Ring<FetchedWork> waiting;
    bool is_served = false;
  };

  void on_arrived(FetchedWork work);
  void on_done(FetchedWork work);
  // The unit that served this queue pair takes the next request.
  void on_free(std::uint32_t qpn);
  void serve();
  // Whether the decode stage has room. A request is in the stage until its latency is over.
  bool has_room() const;

  AdapterBase& adapter_;
  WorkFetcher& fetcher_;
  std::uint32_t idle_;
  std::vector<Lane> lanes_;    // by number of the queue pair
  Ring<std::uint32_t> ready_;  // queue pairs that have requests and no unit, in the order of their turns
  DelayLine<FetchedWork> arriving_;
  DelayLine<std::uint32_t> busy_;
  DelayLine<FetchedWork> decoding_;
};

}  // namespace verbatim::hca
