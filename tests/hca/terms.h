// Times of single steps of a message, for formulas that tests check to the picosecond.
#pragma once

#include <cstdint>

#include "sim/fabric/switch.h"
#include "sim/hca/hca_profile.h"

namespace verbatim::test {

// The terms of a formula.
struct Terms {
  hca::HcaProfile profile;
  fabric::LinkParams link;
  fabric::SwitchProfile switch_profile;

  std::int64_t pcie(std::uint64_t bytes) const {
    return to_ps(host::pcie_byte_time(profile.pcie.generation, profile.pcie.lanes).time_for(bytes));
  }
  std::int64_t one_way() const { return to_ps(profile.pcie.one_way_latency); }
  // A DMA read of fewer bytes than a completion on an idle connection: request out, memory, completion back.
  std::int64_t dma_read(std::uint64_t bytes) const {
    return pcie(profile.pcie.read_header_bytes) + one_way() + to_ps(profile.pcie.memory_read_latency) +
           pcie(bytes + profile.pcie.completion_header_bytes) + one_way();
  }
  std::int64_t dma_write(std::uint64_t bytes) const {
    return pcie(bytes + profile.pcie.write_header_bytes) + one_way() +
           to_ps(profile.pcie.memory_write_latency);
  }
  // Work that is there at `t` leaves a stage after the next edge and the stage's cycles.
  std::int64_t stage(std::int64_t t, const hca::Stage& stage) const {
    return after(t, profile.core_clock_hz, stage.latency_cycles);
  }
  static std::int64_t after(std::int64_t t, std::uint64_t hertz, std::int64_t cycles) {
    const std::int64_t period = 1'000'000'000'000 / static_cast<std::int64_t>(hertz);
    return ((t + period - 1) / period + cycles) * period;
  }
  std::int64_t wire(std::uint64_t bytes) const { return to_ps(link.byte_time.time_for(bytes)); }
};

}  // namespace verbatim::test
