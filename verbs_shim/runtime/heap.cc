// The shim's own heap, at a fixed address and private to the process (a forked child gets a copy):
// power-of-two size classes, each with a free list. Objects never move and the program's malloc never sees
// them.
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/runtime.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

constexpr std::size_t kHeaderSize = 64;  // keeps every block aligned to a cache line
constexpr int kClasses = 37;

struct FreeBlock {
  FreeBlock* next;
};

// All zero at first: a process that allocates nothing touches no page of it.
struct Heap {
  uint64_t used;  // bytes allocated from the reserved range
  FreeBlock* free[kClasses];
  int lock;
};

bool is_used = false;

Heap* heap() { return reinterpret_cast<Heap*>(protocol::kShimHeapAddress); }
constexpr uint64_t kFirst = (sizeof(Heap) + 63) / 64 * 64;

int class_of(std::size_t size) {
  int k = 7;
  while ((std::size_t{1} << k) < size) ++k;
  return k;
}

class Guard {
 public:
  Guard() {
    while (__atomic_exchange_n(&heap()->lock, 1, __ATOMIC_ACQUIRE) != 0) native(SYS_sched_yield);
  }
  ~Guard() { __atomic_store_n(&heap()->lock, 0, __ATOMIC_RELEASE); }
};

}  // namespace

bool map_heap() {
  const long base = native(SYS_mmap, protocol::kShimHeapAddress, region_header().shim_heap_size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
  if (base != static_cast<long>(protocol::kShimHeapAddress)) return false;
  return true;
}

void unlock_heap() {
  if (is_used) heap()->lock = 0;
}

void* allocate(std::size_t size) {
  const std::uint64_t heap_size = region_header().shim_heap_size;
  if (size > heap_size / 4) return nullptr;
  const int k = class_of(size + kHeaderSize);
  is_used = true;
  const Guard guard;
  if (heap()->used == 0) heap()->used = kFirst;
  char* block = reinterpret_cast<char*>(heap()->free[k]);
  if (block != nullptr) {
    heap()->free[k] = heap()->free[k]->next;
    memset(block, 0, std::size_t{1} << k);
  } else {
    const uint64_t bytes = uint64_t{1} << k;
    if (heap()->used + bytes > heap_size) return nullptr;
    block = reinterpret_cast<char*>(protocol::kShimHeapAddress + heap()->used);
    heap()->used += bytes;
  }
  *reinterpret_cast<int*>(block) = k;
  return block + kHeaderSize;
}

void release(void* memory) {
  if (memory == nullptr) return;
  char* block = static_cast<char*>(memory) - kHeaderSize;
  const int k = *reinterpret_cast<int*>(block);
  if (k < 0 || k >= kClasses) __builtin_trap();  // the header was overwritten: the program wrote beyond an object
  const Guard guard;
  auto* free_block = reinterpret_cast<FreeBlock*>(block);
  free_block->next = heap()->free[k];
  heap()->free[k] = free_block;
}

}  // namespace verbatim::shim
