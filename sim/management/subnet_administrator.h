// The subnet administrator (IBA 15): answers questions about the subnet that its manager has brought up.
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
  // `mtu` and `rate`: codes, of the multicast groups that it makes.
  SubnetAdministrator(Engine& engine, ComponentId source, ib::ManagementPort& port, const SubnetView& subnet,
                      const PathFinder& paths, std::uint8_t mtu, std::uint8_t rate);

  // Whether it is for the administrator.
  bool on_datagram(const ib::ManagementDatagram& datagram);

 private:
  struct Answer {
    ib::ManagementDatagram datagram;
    MadBytes message;  // empty: the datagram is all
  };

  void on_answered(Answer answer);
  // Of what is neither a path between two ports nor a membership; empty: it is nothing that the administrator knows of.
  MadBytes answer(const mad::sa::Message& question);
  MadBytes answer_service(const mad::sa::Message& question);

  Engine& engine_;
  ib::ManagementPort& port_;
  const PathFinder& paths_;
  const std::uint8_t mtu_, rate_;
  MulticastGroups groups_;
  Instant ready_{};  // for the next question
  const SubnetRecords records_;
  std::vector<Record> services_;
  RmppSender sender_;
  DelayLine<Answer> answers_;
};

}  // namespace verbatim::management
