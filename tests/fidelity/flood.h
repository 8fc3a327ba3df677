// Many queue pairs of two adapters that are always busy, without processes: as many requests are posted as a
// window allows, and messages are counted by trace records.
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
  std::uint32_t window = 128;  // limit of incomplete requests per queue pair; a power of two
  std::uint32_t outstanding = 0;  // limit for all queue pairs of a side; 0: none
  std::uint32_t batch = 16;       // requests per doorbell
  std::uint32_t signal_every = 16;
  bool at_random = false;  // selection of queue pairs: at random, or one after another
  bool both_ways = false;  // the server posts requests, too
  Duration post_time{0};   // of a single posting core, per request; 0: posting takes no time
  std::uint64_t buffer_bytes = 1 << 20;
};

class Flood {
 public:
  // Fills in everything except flags for the request that a queue pair is about to post.
  using Make = std::function<test::SendRequest(Flood& flood, Rng& rng)>;

  Flood(const FloodOptions& options, Make make);

  // Events of this kind per second, in millions, at a component of the client or server ("client/p1"),
  // counted for `time` after `warm_up`.
  double rate(const char* component, TraceEvent event, Duration warm_up, Duration time);

  test::Pair pair;
  std::uint32_t address_handle = 0;  // of the server, for datagrams

 private:
  struct Flow {
    test::Qp qp;
    std::uint32_t complete = 0;  // number of requests known to be complete
  };
  struct Side {
    test::Pair::Side* side = nullptr;
    std::vector<Flow> flows;
    std::uint32_t posted = 0;  // requests not known to be complete
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
