// Path of packets from the port to queue pairs: packets whose last byte has arrived pass the ICRC check and
// the receive check in order, and are delivered to their destination queue pairs. Packets from this adapter
// to itself arrive from the packetize stage, without the port and without an ICRC: loopback takes no wire
// time.
//
// A packet waits here while the context of its queue pair, or the protection entry of a request's R_Key, is
// not in the adapter's caches; later packets of the same queue pair wait for it, others do not. The queue
// pair makes the further lookups for placement (placement_lookup.h).
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

  // Whether the queue pair has sent the packet itself and was created with IBV_QP_CREATE_BLOCK_SELF_MCAST_LB.
  static bool is_own_copy(const QueuePair* qp, const Incoming& incoming);

 private:
  // Table entries that a packet needs, in the order of their lookups.
  enum Need : int { kContext, kProtection, kNothing };
  // Packets of a queue pair that wait. The first waits for a table entry.
  struct Stall {
    Ring<Incoming> packets;
    Need lacks = kNothing;
  };

  void on_checked(Incoming&& incoming);
  void to_queue_pair(Incoming&& incoming);
  void to_subnet_management(Incoming&& incoming);
  // The first missing entry for a packet, from `first` on; on_cached() is called when it has been read.
  Need missing(const ib::Packet& packet, Need first);
  bool has(Need need, const ib::Packet& packet);
  void on_cached(std::uint64_t qpn) override;
  // Delivers a copy to each member of the group.
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
