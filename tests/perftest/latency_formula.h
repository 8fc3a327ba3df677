// The latency that ib_write_lat must measure, as a sum of values from the files of topology, adapter, switch and
// processor.
//
// ib_write_lat exchanges messages by RDMA WRITE; each side polls the last byte and writes back when it has changed. A
// direction starts when the doorbell leaves the CPU and ends when the last byte is visible in memory; a read of the
// time stamp counter and a post are between two directions. The program's latency is half a round trip.
#pragma once

#include <cstdint>
#include <string>

#include "sim/config/spec.h"

namespace verbatim::perftest {

class LatencyFormula {
 public:
  // A topology with hosts `server` and `client` and a row of switches between them; its links are all of one
  // kind and in the row's order.
  explicit LatencyFormula(const std::string& topology_file);

  // Time at which the last byte of a one-packet RDMA WRITE is visible whose doorbell leaves the CPU at
  // `posted`. `max_inline` is the queue pair's; data that fit are part of the work request.
  std::int64_t write_visible(std::int64_t posted, std::uint32_t bytes, std::uint32_t max_inline) const;
  // One direction of ib_write_lat in the steady state of clock edges and posts.
  std::int64_t half_round_trip(std::uint32_t bytes, std::uint32_t max_inline) const;

  // Additional time of each switch and its cable.
  std::int64_t switch_and_cable() const;
  // One period of the slowest clock on the path: the maximum effect of waiting for its edges.
  std::int64_t clock_period() const;
  std::int64_t poll_period() const;
  double cycles(std::int64_t ps) const;  // of the time stamp counter

 private:
  std::int64_t pcie(std::uint64_t bytes) const;
  std::int64_t dma_read(std::uint64_t bytes) const;
  std::int64_t stage(std::int64_t t, const hca::Stage& stage) const;
  std::int64_t wire(const config::LinkSpec& link, std::uint64_t bytes) const;

  config::TopologySpec topology_;
  hca::HcaProfile hca_;
  config::CpuProfile cpu_;
};

}  // namespace verbatim::perftest
