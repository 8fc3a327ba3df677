// The latency that ib_write_lat must measure, as a sum of values from the files: topology, adapter, switch,
// processor.
//
// ib_write_lat bounces a message by RDMA WRITE; each side polls the last byte and writes back when it has
// changed. Each direction begins with the doorbell leaving the CPU and ends with the last byte visible in
// memory; between two directions are a read of the time stamp counter and a post. Half a round trip is the
// program's latency.
#pragma once

#include <cstdint>
#include <string>

#include "sim/config/spec.h"

namespace verbatim::perftest {

class LatencyFormula {
 public:
  // A topology of the hosts `server` and `client` with a row of switches between them, the links of one kind
  // and in the row's order.
  explicit LatencyFormula(const std::string& topology_file);

  // When the last byte of an RDMA WRITE of one packet is visible whose doorbell leaves the CPU at `posted`.
  // `max_inline` is the queue pair's; data that fit travel inside the work request.
  std::int64_t write_visible(std::int64_t posted, std::uint32_t bytes, std::uint32_t max_inline) const;
  // One direction of ib_write_lat in the steady state of clock edges and posts.
  std::int64_t half_round_trip(std::uint32_t bytes, std::uint32_t max_inline) const;

  // Additional time of each switch and its cable.
  std::int64_t switch_and_cable() const;
  // One period of the slowest clock in the path: bound of the effect of waiting for its edges.
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
