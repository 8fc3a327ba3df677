// From the port to queue pairs: a packet is checked when all of it has arrived, one after the other, and
// handed to the queue pair it names. Packets from this adapter to itself join here, behind the packetize
// stage, without the port: loopback takes no wire time.
#pragma once

#include "sim/core/delay_line.h"
#include "sim/fabric/port.h"
#include "sim/hca/context.h"
#include "sim/hca/pipeline.h"
#include "sim/ib/drop_reason.h"
#include "sim/ib/packet.h"

namespace verbatim::hca {

struct Adapter;

using ib::DropReason;

// A packet being received, and the input buffer space it still holds.
struct Incoming {
  ib::PacketPtr packet;
  bool in_buffer = false;
  Instant checked_at;
};

class ReceivePipeline {
 public:
  explicit ReceivePipeline(Adapter& adapter);

  void attach(fabric::Port& port) { port_ = &port; }
  // The adapter is going away, perhaps after its port: no space is given back any more.
  void detach() { port_ = nullptr; }
  void receive(ib::PacketPtr packet, fabric::ArrivalTimes times);
  void loop_back(ib::PacketPtr packet);

  // The packet's input buffer space is free from `when` on.
  void release(Incoming& incoming, Instant when);
  void drop(Incoming& incoming, DropReason reason);

 private:
  void on_checked(Incoming incoming);
  // To every member of the group, each with its own copy.
  void deliver_to_group(Incoming incoming, const ib::OpcodeInfo& operation);

  Adapter& adapter_;
  fabric::Port* port_ = nullptr;
  Pipeline check_;
  DelayLine<Incoming> checked_;
};

}  // namespace verbatim::hca
