// Is placed in front of an adapter and drops, holds or changes packets.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "sim/fabric/port.h"
#include "sim/hca/hca.h"

namespace verbatim::test {

struct Filter final : fabric::PacketSink {
  hca::Hca* hca = nullptr;
  fabric::Port* port = nullptr;
  std::function<bool(ib::Packet&)> keep;  // empty: everything passes
  std::function<bool(const ib::Packet&)> holds;  // matching packets stay in the port's input buffer until let_go(); empty: none
  std::vector<ib::PacketPtr> held;
  void receive(fabric::PortNumber in, ib::PacketPtr packet, fabric::ArrivalTimes times) override {
    if (holds && holds(*packet)) return held.push_back(std::move(packet));
    if (keep && !keep(*packet)) {
      port->release(packet->lrh.lane, packet->wire_bytes(), times.tail);
      return;
    }
    hca->receive(in, std::move(packet), times);
  }
  void let_go(Instant now) {
    holds = {};
    for (ib::PacketPtr& packet : held) hca->receive(fabric::PortNumber{1}, std::move(packet), {now, now});
    held.clear();
  }
  void link_changed(fabric::PortNumber in, bool up) override { hca->link_changed(in, up); }
};

}  // namespace verbatim::test
