// An adapter that runs no programs: work sources, the transport of every queue pair, and a port, without PCI Express, DMA,
// stages and caches. Each step takes the time that it takes an idle adapter of the same profile (light_delays.h). It is for
// fabrics of thousands of hosts: a host takes kilobytes, and a packet that it sends or takes no event but those of its port.
//
// In an idle fabric a message takes the times that it takes between whole adapters, except for edges of the
// core clock. Not modelled: limits of stages, of PCI Express and of buffers before the port, misses of
// caches, the time of a receive's fetch, and packets to itself. It has no management agents: packets for
// queue pairs 0 and 1 are dropped.
#pragma once

#include <memory>

#include "sim/core/choice.h"
#include "sim/core/engine.h"
#include "sim/core/trace.h"
#include "sim/fabric/packet_sink.h"
#include "sim/fabric/port.h"
#include "sim/hca/endpoint.h"
#include "sim/hca/hca.h"

namespace verbatim::hca {

class LightEndpoint : public fabric::PacketSink, public Endpoint {
 public:
  // All outlive the endpoint.
  static std::unique_ptr<LightEndpoint> make(Engine& engine, Tracer& tracer, Choices& choices, ComponentId id,
                                             const HcaProfile& profile, const PortAddress& address);

  // The port packets leave by; set once, before the first event.
  virtual void attach(fabric::Port& port) = 0;
};

}  // namespace verbatim::hca
