// An adapter as work sources see it (work_source.h): what a host has on its cable, whether it runs programs (hca.h) or only
// sources (light_endpoint.h).
#pragma once

#include <cstdint>

#include "sim/core/ids.h"
#include "sim/hca/congestion/congestion_point.h"
#include "sim/hca/hca_profile.h"
#include "sim/hca/work_source.h"

namespace verbatim::hca {

struct PortAddress;

// Low numbers are those of special queue pairs and of nobody.
inline constexpr std::uint32_t kFirstQueuePairNumber = 0x48;

class Endpoint {
 public:
  virtual ~Endpoint() = default;

  // Source of the adapter's own events.
  virtual ComponentId component() const = 0;
  virtual const HcaProfile& profile() const = 0;
  virtual const PortAddress& address() const = 0;

  virtual const CongestionCounters& congestion_counters() const = 0;
  // Injection rate control of the port on InfiniBand, from now on. Indices of queue pairs begin anew.
  virtual void set_injection(const ib::InjectionSetting& setting) = 0;

  // Traffic without a program: a queue pair in RESET with `depth` requests at most that are posted and not completed, 1 to
  // max_qp_wr. The source outlives the adapter's last event. The adapter has less than max_qp queue pairs.
  virtual SourceEnd add_source(WorkSource& source, std::uint32_t depth) = 0;
  // To RTS, towards a peer that add_source() has made too; packets may come as soon as both ends are connected.
  virtual void connect_source(std::uint32_t qpn, const SourcePath& path) = 0;
  // The doorbell for so many more requests leaves the processor now.
  virtual void post_source(std::uint32_t qpn, std::uint32_t count) = 0;

  // The adapter's hardware fails now, for good: packets are neither sent nor taken, and its sources hear of it.
  virtual void fail() = 0;
};

}  // namespace verbatim::hca
