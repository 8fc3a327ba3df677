// One program's opening of the adapter, and the simple objects in it. Handles name objects within their
// context only, count up and are never used twice.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "sim/hca/arena.h"
#include "sim/hca/datapath/flow_table.h"
#include "sim/hca/hca.h"
#include "sim/hca/slot.h"

namespace verbatim::hca {

class CompletionQueue;
class QueuePair;
class SharedReceiveQueue;
class Context;

struct ProtectionDomain {
  std::uint32_t users = 0;  // MRs, QPs, AHs …
};

struct MemoryRegion {
  std::uint32_t pd = 0;  // handle
  std::uint32_t access = 0;
  std::uint32_t key = 0;
  host::ProgramAddress start = 0;
  std::uint64_t length = 0;
  std::uint64_t iova = 0;
  bool fault_reported = false;
  std::uint32_t windows = 0;  // bound to it
  std::uint32_t dm = 0;       // handle of the device memory it lies in; 0: none
  Context* context = nullptr;
};

// A part of the adapter's own memory.
struct DeviceMemory {
  std::uint64_t offset = 0, length = 0;
  std::uint32_t users = 0;  // memory regions
};

// Remote access to a part of a memory region, by a key of its own (IBA 10.6.7). One of type 1 is bound and unbound by its
// program alone and serves its protection domain; one of type 2, here 2B, serves the queue pair through which it was bound,
// and either side may end that.
struct MemoryWindow {
  static constexpr std::uint32_t kType1 = 1, kType2 = 2;  // ibv_mw_type
  std::uint32_t pd = 0;                                   // handle
  std::uint32_t type = kType1;
  std::uint32_t key = 0;
  MemoryRegion* region = nullptr;  // null: not bound
  Ref<QueuePair> qp;               // of type 2: through which it is bound
  std::uint32_t access = 0;
  std::uint64_t start = 0;  // of its first byte, among the region's own addresses
  std::uint64_t length = 0;
  Context* context = nullptr;
};

// A context's opening of an XRC domain (IBA A14): queue pairs and shared receive queues made through it
// belong together with those of every other opening of the same domain.
struct XrcOpening {
  std::uint32_t domain = 0;
  std::uint32_t users = 0;  // queue pairs and shared receive queues
};

// For receive side scaling: work queues, some perhaps several times (ibv_create_rwq_ind_table(3)).
struct IndirectionTable {
  std::vector<Ref<QueuePair>> queues;
  std::uint32_t users = 0;  // queue pairs
};

struct AddressHandle {
  std::uint32_t pd = 0;
  protocol::AddressVector address;
};

class Context {
 public:
  Context(Ref<Context> self, std::uint32_t number, const ProgramPort& program, std::shared_ptr<Arena> arena)
      : self(self), number(number), program(program), arena(std::move(arena)) {}

  std::uint32_t next_handle() { return ++last_handle_; }

  const Ref<Context> self;
  const std::uint32_t number;
  const ProgramPort program;
  const std::shared_ptr<Arena> arena;  // shared by the contexts of one process; the adapter's own has none
  std::map<std::uint32_t, ProtectionDomain> pds;
  std::map<std::uint32_t, std::unique_ptr<MemoryRegion>> mrs;
  std::map<std::uint32_t, std::unique_ptr<MemoryWindow>> mws;
  std::map<std::uint32_t, DeviceMemory> dms;
  std::map<std::uint32_t, AddressHandle> ahs;
  std::map<std::uint32_t, XrcOpening> xrcds;
  std::map<std::uint32_t, Ref<CompletionQueue>> cqs;
  std::map<std::uint32_t, Ref<QueuePair>> qps;
  std::map<std::uint32_t, Ref<QueuePair>> wqs;
  std::map<std::uint32_t, Ref<SharedReceiveQueue>> srqs;
  std::map<std::uint32_t, IndirectionTable> tables;
  std::map<std::uint32_t, std::unique_ptr<Flow>> flows;
  std::map<std::uint32_t, std::unique_ptr<FlowCounters>> counters;

 private:
  std::uint32_t last_handle_ = 0;
};

}  // namespace verbatim::hca
