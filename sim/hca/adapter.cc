#include "sim/hca/adapter.h"

#include "sim/hca/queue_pair.h"

namespace verbatim::hca {

Adapter::Adapter(Engine& engine, Tracer& tracer, Choices& choices, ComponentId id, const HcaProfile& profile,
                 const PortAddress& address)
    : engine(engine),
      tracer(tracer),
      choices(choices),
      id(id),
      profile(profile),
      address(address),
      clock(profile.core_clock_hz),
      dma(engine, id, profile.pcie),
      notifier(*this),
      completions(*this),
      payloads(*this),
      atomics(*this),
      fetcher(*this),
      sender(*this),
      receiver(*this) {}

}  // namespace verbatim::hca
