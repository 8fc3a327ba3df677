// Openings of the adapter, the programs that share them, and the simple objects in them. Handles name objects within their
// opening only, and count up unless the adapter chooses to give one again (freedom.h).
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "sim/core/number_space.h"
#include "sim/hca/arena.h"
#include "sim/hca/flow_table.h"
#include "sim/hca/hca.h"
#include "sim/hca/pinned_pages.h"
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
  Context* context = nullptr;  // of the program in whose memory it lies
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

// What one opening of the device has, however many processes share its descriptor (Linux: struct ib_ucontext): handles, and the
// objects that they name for all of them.
struct Ucontext {
  // Whether an object has this handle, which is one of all kinds alike.
  bool names(std::uint32_t handle) const;
  // More than one context has had it: an object may be of another program than the one that uses it.
  bool is_shared() const { return contexts.size() > 1; }

  std::vector<Ref<Context>> contexts;  // by age; all end with the opening
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
  NumberSpace handles{1, std::numeric_limits<std::uint32_t>::max()};
};

// One program's part of an opening. What it makes is its own as far as memory goes: regions are of its address space, rings
// and records lie in its arena, events are told to its listener.
class Context {
 public:
  Context(Ref<Context> self, std::uint32_t number, const ProgramPort& program, std::shared_ptr<Arena> arena, Ucontext& objects)
      : self(self), number(number), program(program), arena(std::move(arena)), objects(objects) {}

  // The program uses it no more: nobody hears of what its objects do.
  void leave();
  bool has_left() const { return has_left_; }
  // The program is about to end, or has: the memory of its regions stays as it is now, as pages stay that are pinned, and is
  // no program's any more. What cannot be read now is not mapped then.
  void keep_memory();

  const Ref<Context> self;
  const std::uint32_t number;
  ProgramPort program;
  const std::shared_ptr<Arena> arena;  // shared by the contexts of one process; the adapter's own has none
  Ucontext& objects;

 private:
  bool has_left_ = false;
  std::unique_ptr<PinnedPages> kept_;
};

}  // namespace verbatim::hca
