// The subnet administrator (IBA 15): answers questions about the subnet that its manager has brought up.
#pragma once

#include "sim/core/delay_line.h"
#include "sim/core/engine.h"
#include "sim/core/ids.h"
#include "sim/ib/management.h"
#include "sim/management/multicast_record.h"
#include "sim/management/path_record.h"

namespace verbatim::management {

class SubnetAdministrator {
 public:
  // `mtu` and `rate`: codes, of the multicast groups that it makes.
  SubnetAdministrator(Engine& engine, ComponentId source, ib::ManagementPort& port, const PathFinder& paths, std::uint8_t mtu,
                      std::uint8_t rate);

  void on_datagram(const ib::ManagementDatagram& datagram);

 private:
  void on_answered(ib::ManagementDatagram answer);

  Engine& engine_;
  ib::ManagementPort& port_;
  const PathFinder& paths_;
  const std::uint8_t mtu_, rate_;
  MulticastGroups groups_;
  Instant ready_{};  // for the next question
  DelayLine<ib::ManagementDatagram> answers_;
};

}  // namespace verbatim::management
