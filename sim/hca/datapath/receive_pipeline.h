// From the port to queue pairs: a packet is checked when all of it has arrived, one after the other, and
// handed to the queue pair it names. Packets from this adapter to itself join here, behind the packetize
// stage, without the port: loopback takes no wire time. The check of the ICRC, which these have not, is a stage ahead.
//
// A packet waits here while the adapter lacks the context of its queue pair, or the protection entry of the key that a
// request names, and those of the same queue pair behind it; others pass. What else is needed to place what it brings is
// looked up by the queue pair (placement_lookup.h).
#pragma once

#include <map>

#include "sim/core/delay_line.h"
#include "sim/fabric/port.h"
#include "sim/hca/context.h"
#include "sim/hca/number_table.h"
#include "sim/hca/stages/adapter_cache.h"
#include "sim/hca/stages/input_buffer.h"
#include "sim/hca/stages/pipeline.h"
#include "sim/ib/packet.h"

namespace verbatim::hca {

struct AdapterBase;
class FrameSteering;
class GeneralServices;
class MemoryCaches;
class MulticastTable;
struct QueueCounters;

class ReceivePipeline final : public CacheClient {
 public:
  ReceivePipeline(AdapterBase& adapter, InputBuffer& input, AdapterCache& contexts, MemoryCaches& caches,
                  QueueCounters& counters, FrameSteering& steering, GeneralServices& services, const MulticastTable& multicast,
                  const NumberTable<Ref<QueuePair>>& qps);

  void receive(ib::PacketPtr packet, fabric::ArrivalTimes times);
  void loop_back(ib::PacketPtr packet);

  // What a queue pair that does not want it (IBV_QP_CREATE_BLOCK_SELF_MCAST_LB) has sent itself.
  static bool is_own_copy(const QueuePair* qp, const Incoming& incoming);

 private:
  // What a packet needs, in the order in which it is looked up.
  enum Need : int { kContext, kProtection, kNothing };
  // Packets of a queue pair that wait for what the adapter lacks for the first of them.
  struct Stall {
    Ring<Incoming> packets;
    Need lacks = kNothing;
  };

  void on_checked(Incoming&& incoming);
  void to_queue_pair(Incoming&& incoming);
  void to_subnet_management(Incoming&& incoming);
  // What the adapter lacks of what it needs for a packet, from `first` on; on_cached() comes for the queue pair then.
  Need missing(const ib::Packet& packet, Need first);
  bool has(Need need, const ib::Packet& packet);
  void on_cached(std::uint64_t qpn) override;
  // To every member of the group, each with its own copy.
  void deliver_to_group(Incoming&& incoming, const ib::OpcodeInfo& operation);

  AdapterBase& adapter_;
  InputBuffer& input_;
  AdapterCache& contexts_;
  MemoryCaches& caches_;
  QueueCounters& counters_;
  FrameSteering& steering_;
  GeneralServices& services_;
  const MulticastTable& multicast_;
  const NumberTable<Ref<QueuePair>>& qps_;
  const bool looks_up_;  // misses are possible
  Pipeline icrc_;
  Pipeline check_;
  DelayLine<Incoming> checked_;
  std::map<std::uint32_t, Stall> stalls_;  // by number of the queue pair
};

}  // namespace verbatim::hca
