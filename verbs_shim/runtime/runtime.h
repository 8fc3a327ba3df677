// What the verbs and cm libraries need of the runtime that lives in every simulated process. C++ without
// exceptions, RTTI or the C++ library: this code runs inside someone else's program.
// Every function may be called from any thread; errno is preserved unless stated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "verbs_shim/protocol/commands.h"
#include "verbs_shim/protocol/region.h"

#define VERBATIM_EXPORT __attribute__((visibility("default")))

namespace verbatim::shim {

// False when the library was loaded outside a simulation: then there are no devices (ENOSYS).
VERBATIM_EXPORT bool attached();

// The calling thread's virtual clock, picoseconds since the run began. Costs nothing.
VERBATIM_EXPORT std::int64_t now_ps();

VERBATIM_EXPORT const protocol::CallCosts& costs();

// Checks that are made: protocol::check_bit() of each.
VERBATIM_EXPORT std::uint32_t checks();
// What the program will do with completions of which some have failed (Request::kFailedPoll).
VERBATIM_EXPORT protocol::FieldUseAnswer use_of_failed(const void* completions, std::uint32_t count, std::uint64_t failed);
// The process; a copy of it has another number.
VERBATIM_EXPORT std::uint32_t process_id();
// From now on `gone` is told of memory that the program takes away: [start, start + size), by a call of that name, which has
// succeeded. `shows_shared`: what is shared there stays what it was.
using MemoryGone = void (*)(std::uint64_t start, std::uint64_t size, const char* call, bool shows_shared);
VERBATIM_EXPORT void watch_memory(MemoryGone gone);
// Likewise of blocks of the heap on these pages and those named before, until they are forgotten, just before they are given
// back; more may be told.
VERBATIM_EXPORT void watch_heap(MemoryGone gone, std::uint64_t start, std::uint64_t size);
VERBATIM_EXPORT void forget_heap();
// What may be return addresses on the stack of the call that has trapped, the innermost first; 0 behind the last.
VERBATIM_EXPORT void fill_frames(std::uint64_t (&frames)[protocol::kMostNoteFrames]);
// Copies bytes of the program's; false: not all of them are there.
VERBATIM_EXPORT bool copy_program_bytes(void* to, const void* from, std::size_t size);

// Lets virtual time pass; other threads and the hardware go on meanwhile.
VERBATIM_EXPORT void spend(std::int64_t cost_ps);

// Spends `cost_ps` before a look at a completion queue's next entry, which lies at `arena_offset` and has sequence
// `sequence` once it is written. The caller has stored its own caller's registers (see verbatim_thread_slot).
VERBATIM_EXPORT void spend_on_poll(std::int64_t cost_ps, std::uint32_t context, std::uint32_t cq_number,
                                   std::uint64_t arena_offset, std::uint32_t sequence);

// Spends `cost_ps`, then lets an MMIO write leave the CPU.
VERBATIM_EXPORT void ring_doorbell(std::int64_t cost_ps, protocol::DoorbellKind kind, std::uint32_t context,
                                   std::uint32_t number, std::uint64_t value);

// Sends a command and returns its status (0 or errno); `command` holds the answer afterwards. header.type,
// header.size and header.context are set by the caller. At most protocol::kMailboxSize bytes.
VERBATIM_EXPORT int command(protocol::CommandHeader* command);

// A system call as if the program had made it, through the same path as a trapped one (virtual descriptors block
// in virtual time): -errno on failure.
VERBATIM_EXPORT long system_call(long number, long a0 = 0, long a1 = 0, long a2 = 0, long a3 = 0, long a4 = 0,
                                 long a5 = 0);

// read() by the C library, which makes it a point where the calling thread can be cancelled, as the calls of rdma-core
// that wait for events are. -errno on failure.
VERBATIM_EXPORT long read_cancellably(int fd, void* bytes, std::size_t size);

// Zeroed memory, 64-byte aligned, from the shim's own heap (never the program's); nullptr when exhausted.
VERBATIM_EXPORT void* allocate(std::size_t size);
VERBATIM_EXPORT void release(void* memory);

// Address of an arena offset handed out by a command.
VERBATIM_EXPORT void* arena(std::uint64_t offset);

// Offset of an address in the arena.
inline std::uint64_t arena_offset(const void* address) {
  return reinterpret_cast<std::uint64_t>(address) - protocol::kRegionAddress - protocol::kArenaOffset;
}

}  // namespace verbatim::shim

// The calling thread's slot, nullptr outside a simulation: for code that has to keep all registers.
extern "C" VERBATIM_EXPORT __thread verbatim::protocol::ThreadSlot* verbatim_thread_slot;
