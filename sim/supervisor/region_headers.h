// Headers of the regions of new processes (verbs_shim/protocol/region.h): the properties of the host and the
// run that the shim needs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/supervisor/machine/process_region.h"
#include "sim/supervisor/run_context.h"

namespace verbatim::supervisor {

class Horizon;

class RegionHeaders {
 public:
  RegionHeaders(const RunContext& run, const Horizon& horizon) : run_(run), horizon_(horizon) {}

  // Called once, when the run begins. `reports_calls`: the shim reports every call of a program.
  void begin(bool reports_calls);
  void fill(ProcessRegion& region, std::uint32_t pid, std::uint32_t parent, std::size_t host);

 private:
  // Value of RegionHeader::checks: the checks that the shim makes, and what it reports.
  std::uint32_t requested_checks() const;

  const RunContext& run_;
  const Horizon& horizon_;
  bool reports_calls_ = false;
  std::int64_t machine_began_ns_ = 0;  // CLOCK_REALTIME of the machine at the start of the run, ns
  std::uint64_t heap_size_ = protocol::kShimHeapSize;  // bytes of every process's shim heap
  std::uint64_t random_stream_ = 0;                    // number of the next header's stream
};

}  // namespace verbatim::supervisor
