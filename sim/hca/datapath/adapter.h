// The parts of one adapter, in the order in which they are made. Each part is an ordinary class that is given
// references to the siblings that it uses. Objects of programs, such as queue pairs, reach the parts through
// this struct.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/hca/adapter_base.h"
#include "sim/hca/adapter_memory.h"
#include "sim/hca/congestion/congestion_point.h"
#include "sim/hca/context.h"
#include "sim/hca/datapath/atomic_unit.h"
#include "sim/hca/datapath/completion_queue.h"
#include "sim/hca/datapath/completion_writer.h"
#include "sim/hca/datapath/diagnoses.h"
#include "sim/hca/datapath/frame_steering.h"
#include "sim/hca/datapath/general_services.h"
#include "sim/hca/datapath/notifier.h"
#include "sim/hca/datapath/payload_writer.h"
#include "sim/hca/datapath/placement_lookup.h"
#include "sim/hca/datapath/receive_pipeline.h"
#include "sim/hca/datapath/record_writer.h"
#include "sim/hca/datapath/send_pipeline.h"
#include "sim/hca/datapath/work_fetcher.h"
#include "sim/hca/hca.h"
#include "sim/hca/key_guard.h"
#include "sim/hca/key_table.h"
#include "sim/hca/multicast.h"
#include "sim/hca/number_table.h"
#include "sim/hca/queue_counters.h"
#include "sim/hca/stages/adapter_cache.h"
#include "sim/hca/stages/input_buffer.h"
#include "sim/hca/stages/memory_caches.h"
#include "sim/hca/stages/recovery_delays.h"
#include "sim/host/dma_engine.h"

namespace verbatim::hca {

struct Adapter : AdapterBase {
  Adapter(Engine& engine, Tracer& tracer, Choices& choices, ComponentId id, const HcaProfile& profile,
          const PortAddress& address);

  // Null when no queue pair has this number now.
  QueuePair* qp_by_number(ib::Qpn number) const {
    return qps.find(number.value).get();
  }

  // Null when no shared receive queue has this number now.
  Ref<SharedReceiveQueue> srq_by_number(std::uint32_t number) const {
    const auto it = srqs.find(number);
    return it == srqs.end() ? Ref<SharedReceiveQueue>() : it->second;
  }

  // 0, or the errno for a path that a connection or an address handle cannot have. A path with a GRH needs a
  // source GID of the table. On Ethernet a path needs a GRH with addresses of one IP version, to a neighbour
  // or, if it `may_lead_to_group`, to a multicast group.
  int check_global_path(const protocol::AddressVector& path, bool may_lead_to_group) const;

  // Delayed recovery steps are due (stages/recovery_delays.h).
  void on_recovery();

  CongestionPoint congestion{profile.congestion_control};
  QueueCounters counters;
  Diagnoses diagnoses{*this, keys};
  KeyGuard key_guard;
  host::DmaEngine dma;
  AdapterMemory memory;
  KeyTable keys;
  InputBuffer input;
  AdapterCache contexts;  // by number of the queue pair
  MemoryCaches caches;
  MulticastTable multicast;
  Notifier notifier;
  CompletionWriter completions;
  RecordWriter records;
  PlacementLookup placements;
  PayloadWriter payloads;
  AtomicUnit atomics;
  WorkFetcher fetcher;
  RecoveryDelays<Ref<QueuePair>> recoveries;
  SendPipeline sender;
  ReceivePipeline receiver;
  FrameSteering steering;
  GeneralServices services;
  NumberTable<Ref<QueuePair>> qps;                        // by number
  std::map<std::uint32_t, Ref<SharedReceiveQueue>> srqs;  // by number
  std::vector<MemoryPiece> scratch_pieces;                // result of find_pieces()
};

}  // namespace verbatim::hca
