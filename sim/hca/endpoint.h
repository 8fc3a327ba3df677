// Interface of an adapter for work sources (work_source.h): a full adapter, which can also run programs
// (hca.h), or a light one (light_endpoint.h).
#pragma once

#include <cstdint>

#include "sim/core/ids.h"
#include "sim/hca/congestion/congestion_point.h"
#include "sim/hca/hca_profile.h"
#include "sim/hca/work_source.h"

namespace verbatim::hca {

struct PortAddress;

// First number of an ordinary queue pair; lower ones are special queue pairs or unused.
inline constexpr std::uint32_t kFirstQueuePairNumber = 0x48;

class Endpoint {
 public:
  virtual ~Endpoint() = default;

  // Component of the adapter's own events.
  virtual ComponentId component() const = 0;
  virtual const HcaProfile& profile() const = 0;
  virtual const PortAddress& address() const = 0;

  virtual const CongestionCounters& congestion_counters() const = 0;
  // Sets injection rate control of the port (InfiniBand). Resets the table indices of queue pairs.
  virtual void set_injection(const ib::InjectionSetting& setting) = 0;

  // Adds a work source: creates its queue pair, in RESET. `depth`: maximum number of posted, incomplete
  // requests, 1 to max_qp_wr. The source must outlive the adapter's last event, and the adapter must have
  // less than max_qp queue pairs.
  virtual SourceEnd add_source(WorkSource& source, std::uint32_t depth) = 0;
  // Changes a source's queue pair to RTS. The peer must be a source's queue pair as well; packets may arrive
  // as soon as both ends are connected.
  virtual void connect_source(std::uint32_t qpn, const SourcePath& path) = 0;
  // Announces `count` more requests by a doorbell, which leaves the processor now.
  virtual void post_source(std::uint32_t qpn, std::uint32_t count) = 0;

  // The hardware fails permanently: packets are neither sent nor received, and the sources are notified.
  virtual void fail() = 0;
};

}  // namespace verbatim::hca
