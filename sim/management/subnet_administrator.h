// The subnet administrator (IBA 15): answers requests about the subnet.
#pragma once

#include "sim/core/delay_line.h"
#include "sim/core/engine.h"
#include "sim/core/ids.h"
#include "sim/ib/management.h"
#include "sim/management/multicast_record.h"
#include "sim/management/path_record.h"
#include "sim/management/rmpp.h"
#include "sim/management/subnet_records.h"

namespace verbatim::management {

class SubnetAdministrator {
 public:
  // `mtu` and `rate`: codes, for multicast groups that it creates.
  SubnetAdministrator(Engine& engine, ComponentId source, ib::ManagementPort& port, const SubnetView& subnet,
                      const PathFinder& paths, std::uint8_t mtu, std::uint8_t rate);

  // Returns whether the datagram is for the administrator.
  bool on_datagram(const ib::ManagementDatagram& datagram);

 private:
  struct Answer {
    ib::ManagementDatagram datagram;
    MadBytes message;  // empty: the datagram is the whole answer
  };

  void on_answered(Answer answer);
  // Answers requests except path queries and multicast memberships; empty: unknown request.
  MadBytes answer(const mad::sa::Message& question);
  MadBytes answer_service(const mad::sa::Message& question);

  Engine& engine_;
  ib::ManagementPort& port_;
  const PathFinder& paths_;
  const std::uint8_t mtu_, rate_;
  MulticastGroups groups_;
  Instant ready_{};  // for the next request
  const SubnetRecords records_;
  std::vector<Record> services_;
  RmppSender sender_;
  DelayLine<Answer> answers_;
};

}  // namespace verbatim::management
