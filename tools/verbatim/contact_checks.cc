#include "tools/verbatim/contact_checks.h"

#include <vector>

#include "sim/hca/inspector.h"
#include "verbs_shim/protocol/checks.h"

namespace verbatim::cli {

void ContactChecks::add_to(config::Simulation& simulation, std::uint32_t checks) {
  Tracer& tracer = simulation.tracer();
  std::vector<observe::RemoteRaces::Adapter> adapters;
  std::vector<observe::LateReceives::Adapter> unnamed;
  const auto& all = simulation.topology().adapters;
  for (std::size_t i = 0; i < all.size(); ++i) {
    adapters.push_back({simulation.components().id("hca/" + all[i].name), simulation.host_port(i).id(),
                        simulation.host_component(all[i].host), all[i].name});
    unnamed.push_back({adapters[i].adapter, adapters[i].port, adapters[i].host});
  }
  const auto add = [&tracer](auto& observer) {
    tracer.add(static_cast<TraceSink&>(observer));
    tracer.add(static_cast<ib::PacketObserver&>(observer));
    tracer.add(static_cast<ContactObserver&>(observer));
  };
  constexpr auto kRemoteRace = protocol::Check::kRemoteRace;
  if ((checks & check_bit(kRemoteRace)) != 0)
    add(remote_races_.emplace(tracer, protocol::kChecks[static_cast<std::size_t>(kRemoteRace)].name, std::move(adapters)));
  if ((checks & check_bit(protocol::Check::kLateReceive)) != 0) {
    const auto waits_for_ever = [&simulation](std::size_t adapter, std::uint32_t qpn) {
      return simulation.hca(adapter).inspector().waits_for_ever(qpn);
    };
    add(late_receives_.emplace(unnamed, waits_for_ever));
    for (std::size_t i = 0; i < all.size(); ++i) {
      // Light endpoints have no programs.
      if (auto* const hca = dynamic_cast<hca::Hca*>(&simulation.endpoint(i))) hca->attach(*late_receives_);
    }
  }
}

}  // namespace verbatim::cli
