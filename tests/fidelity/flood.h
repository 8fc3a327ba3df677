// Many queue pairs of two adapters kept busy without processes: as many requests are always posted as a
// window allows, and every message that passes is counted in the trace.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/core/rng.h"
#include "tests/hca/driver.h"

namespace verbatim::fidelity {

struct FloodOptions {
  hca::HcaProfile client, server;
  fabric::LinkParams link;
  ib::QpType type = ib::QpType::kRc;
  std::uint32_t queue_pairs = 32;
  std::uint32_t window = 128;  // requests posted and not known to be complete, per queue pair; a power of two
  std::uint32_t outstanding = 0;  // and of all queue pairs of one side together; 0: any number
  std::uint32_t batch = 16;       // requests per doorbell
  std::uint32_t signal_every = 16;
  bool at_random = false;  // queue pairs are chosen at random, else in turns
  bool both_ways = false;  // the server posts, too
  Duration post_time{0};   // of the one core that posts, per request; 0: there are enough cores
  std::uint64_t buffer_bytes = 1 << 20;
};

class Flood {
 public:
  // Fills in everything but flags, for the request that a queue pair is about to post.
  using Make = std::function<test::SendRequest(Flood& flood, Rng& rng)>;

  Flood(const FloodOptions& options, Make make);

  // Events of this kind a second, in millions, at the client's or server's adapter or port ("client/p1"):
  // after `warm_up`, for `time`.
  double rate(const char* component, TraceEvent event, Duration warm_up, Duration time);

  test::Pair pair;
  std::uint32_t address_handle = 0;  // of the server, for datagrams

 private:
  struct Flow {
    test::Qp qp;
    std::uint32_t complete = 0;  // requests known to be
  };
  struct Side {
    test::Pair::Side* side = nullptr;
    std::vector<Flow> flows;
    std::uint32_t posted = 0;  // and not known to be complete
    std::size_t turn = 0;
    std::int64_t core_free_ps = 0;
  };
  struct Counter final : TraceSink {
    std::uint32_t component = 0;
    TraceEvent event{};
    std::uint64_t count = 0;
    void on_record(const TraceRecord& record, std::span<const std::byte>) override {
      count += record.event == event && record.component == component ? 1 : 0;
    }
  };

  static test::PairOptions pair_options(const FloodOptions& options);
  void connect(Side& client, Side& server);
  void poll(Side& side);
  void post(Side& side);
  void run(Duration time);

  const FloodOptions options_;
  const Make make_;
  Rng rng_{1, "flood"};
  Side client_, server_;
  Counter counter_;
};

}  // namespace verbatim::fidelity
