// Base of flow control policies without grants (`link_flow_control.h`).
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/core/time.h"
#include "sim/fabric/line_clock.h"

namespace verbatim::fabric {

struct CreditGrant;

struct WithoutCredits {
  std::uint32_t missing(std::size_t, std::uint32_t) const { return 0; }
  void on_start(std::size_t, std::uint32_t) {}
  void on_release(std::size_t, std::uint32_t, Instant) {}
  void add_grant(std::size_t, const CreditGrant&) {}
  std::uint32_t credits(std::size_t) const { return 0; }
  std::uint32_t capacity() const { return 0; }
  Instant next_grant_arrival(const LineClock&, std::size_t, std::uint32_t) const { return kNever; }
  Instant next_grant_departure() const { return kNever; }
};

}  // namespace verbatim::fabric
