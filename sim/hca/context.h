// Openings of the adapter, the programs that share them, and the simple objects in them. A handle identifies
// an object within its opening. Handles count up, unless a choice reuses one (freedom.h).
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
  std::uint32_t dm = 0;       // handle of the device memory that contains it; 0: none
  Context* context = nullptr;  // context of the program in whose memory it is
};

// A part of the adapter's own memory.
struct DeviceMemory {
  std::uint64_t offset = 0, length = 0;
  std::uint32_t users = 0;  // memory regions
};

// Remote access to a part of a memory region by a separate key (IBA 10.6.7). A window of type 1 is bound and
// unbound only by its program and is valid for its protection domain. One of type 2, here 2B, is valid for
// the queue pair through which it was bound, and either side may invalidate it.
struct MemoryWindow {
  static constexpr std::uint32_t kType1 = 1, kType2 = 2;  // ibv_mw_type
  std::uint32_t pd = 0;                                   // handle
  std::uint32_t type = kType1;
  std::uint32_t key = 0;
  MemoryRegion* region = nullptr;  // null: not bound
  Ref<QueuePair> qp;               // type 2: the queue pair through which it is bound
  std::uint32_t access = 0;
  std::uint64_t start = 0;  // address of its first byte, in the region's addresses (iova)
  std::uint64_t length = 0;
  Context* context = nullptr;
};

// A context's opening of an XRC domain (IBA A14). Queue pairs and shared receive queues of all openings of a
// domain can be used together.
struct XrcOpening {
  std::uint32_t domain = 0;
  std::uint32_t users = 0;  // queue pairs and shared receive queues
};

// Indirection table of receive side scaling (ibv_create_rwq_ind_table(3)); it may contain a work queue
// several times.
struct IndirectionTable {
  std::vector<Ref<QueuePair>> queues;
  std::uint32_t users = 0;  // queue pairs
};

struct AddressHandle {
  std::uint32_t pd = 0;
  protocol::AddressVector address;
};

// One opening of the device (Linux: struct ib_ucontext): the handles and objects of all processes that share
// its descriptor.
struct Ucontext {
  // Whether an object of any kind has this handle.
  bool has_handle(std::uint32_t handle) const;
  // Whether the opening has had more than one context: a program may use an object that another program
  // created.
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

// One program's part of an opening. Its regions are in its address space, its rings and records in its arena,
// and its listener gets the events of its objects.
class Context {
 public:
  Context(Ref<Context> self, std::uint32_t number, const ProgramPort& program, std::shared_ptr<Arena> arena, Ucontext& objects)
      : self(self), number(number), program(program), arena(std::move(arena)), objects(objects) {}

  // The program has left the context: events of its objects are ignored.
  void leave();
  bool has_left() const { return has_left_; }
  // The program is about to end, or has ended: the bytes of its regions are copied, as pinned pages outlive a
  // program. Bytes that cannot be read now are not mapped in the copy.
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
