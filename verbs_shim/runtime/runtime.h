// Interface of the runtime, which is loaded into every simulated process, to the verbs and CM libraries. C++
// without exceptions, RTTI or the C++ library, because this code runs inside another program.
// Every function may be called from any thread; errno is preserved unless stated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "verbs_shim/protocol/commands.h"
#include "verbs_shim/protocol/region.h"

#define VERBATIM_EXPORT __attribute__((visibility("default")))

namespace verbatim::shim {

// False when the library was loaded outside a simulation: there are no devices (ENOSYS).
VERBATIM_EXPORT bool attached();

// The calling thread's virtual clock, in picoseconds since the run began. Takes no virtual time.
VERBATIM_EXPORT std::int64_t now_ps();

VERBATIM_EXPORT const protocol::CallCosts& costs();

// Enabled checks: a mask of protocol::check_bit().
VERBATIM_EXPORT std::uint32_t checks();
// Asks the supervisor how the program will use the fields of `completions`; bit i of `failed` marks a failed
// one (Request::kFailedPoll).
VERBATIM_EXPORT protocol::FieldUseAnswer use_of_failed(const void* completions, std::uint32_t count, std::uint64_t failed);
// Virtual pid. A forked copy of the process has another one.
VERBATIM_EXPORT std::uint32_t process_id();
// Calls `gone` after each successful call that takes memory [start, start + size) away from the program;
// `call` is its name. `shows_shared`: shared mappings in the range keep their content.
using MemoryGone = void (*)(std::uint64_t start, std::uint64_t size, const char* call, bool shows_shared);
VERBATIM_EXPORT void watch_memory(MemoryGone gone);
// Calls `gone` for heap blocks on the pages of [start, start + size): before free(), and after a realloc() that
// has moved or shrunk the block. Ranges accumulate until forget_heap(). Blocks outside the ranges may be
// reported as well.
VERBATIM_EXPORT void watch_heap(MemoryGone gone, std::uint64_t start, std::uint64_t size);
VERBATIM_EXPORT void forget_heap();
// `seen` is called before stores of the program that trap (accesses.h), with their addresses and sizes: those of
// instructions and of memcpy and memmove. It must not enter the program or the supervisor.
using StoreSeen = void (*)(std::uint64_t start, std::uint64_t size);
VERBATIM_EXPORT void watch_stores(StoreSeen seen);
// Candidates for the return addresses on the stack of the trapped call, innermost first; 0 after the last.
VERBATIM_EXPORT void fill_frames(std::uint64_t (&frames)[protocol::kMostNoteFrames]);
// Copies bytes of program memory; false if not all of them are mapped.
VERBATIM_EXPORT bool copy_program_bytes(void* to, const void* from, std::size_t size);

// Advances the calling thread's virtual clock; other threads and the hardware run meanwhile.
VERBATIM_EXPORT void spend(std::int64_t cost_ps);

// Spends `cost_ps` before a read of a completion queue's next entry. The entry is at `arena_offset` and has
// sequence number `sequence` once it is written. The caller has stored its own caller's registers (see
// verbatim_thread_slot).
// A poll has found `completions`. As many clock reads may follow in a row without a rise of their cost: a program that
// notes the time of each completion does not wait for a time (protocol::cost_in_clock_row()).
VERBATIM_EXPORT void clock_reads_follow(unsigned completions);
VERBATIM_EXPORT void spend_on_poll(std::int64_t cost_ps, std::uint32_t context, std::uint32_t cq_number,
                                   std::uint64_t arena_offset, std::uint32_t sequence);

// Spends `cost_ps`, then lets an MMIO write leave the CPU.
VERBATIM_EXPORT void ring_doorbell(std::int64_t cost_ps, protocol::DoorbellKind kind, std::uint32_t context,
                                   std::uint32_t number, std::uint64_t value);

// Sends a command and returns its status (0 or errno); `command` holds the answer afterwards. The caller sets
// header.type, header.size and header.context. At most protocol::kMailboxSize bytes.
VERBATIM_EXPORT int command(protocol::CommandHeader* command);

// Makes a system call as if the program had made it, by the same path as a trapped one (virtual descriptors
// block in virtual time). Returns -errno on failure.
VERBATIM_EXPORT long system_call(long number, long a0 = 0, long a1 = 0, long a2 = 0, long a3 = 0, long a4 = 0,
                                 long a5 = 0);

// read() of the C library, which is a cancellation point, as the event calls of rdma-core are. Returns -errno
// on failure.
VERBATIM_EXPORT long read_cancellably(int fd, void* bytes, std::size_t size);

// Zeroed memory, 64-byte aligned, from the shim's own heap (never the program's); nullptr when it is
// exhausted.
VERBATIM_EXPORT void* allocate(std::size_t size);
VERBATIM_EXPORT void release(void* memory);

// Address of an arena offset that a command returned.
VERBATIM_EXPORT void* arena(std::uint64_t offset);

// Offset of an address in the arena.
inline std::uint64_t arena_offset(const void* address) {
  return reinterpret_cast<std::uint64_t>(address) - protocol::kRegionAddress - protocol::kArenaOffset;
}

}  // namespace verbatim::shim

// The calling thread's slot, nullptr outside a simulation. For code that has to keep all registers.
extern "C" VERBATIM_EXPORT __thread verbatim::protocol::ThreadSlot* verbatim_thread_slot;
