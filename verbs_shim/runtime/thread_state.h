// What the runtime keeps for each thread, and how it finds it.
//
// Threads of the C library have storage of their own, at the base of fs, and the runtime's is part of it. A thread may also
// have another base: that of who made it, when clone() sets none, or memory of a language's own, as Go's threads have. From
// the first such thread on the process has threads whose base says nothing (`has_foreign_bases`): nothing of the runtime is
// looked for there any more, neither read nor written. Which thread runs then follows from the stack in a handler of
// the shim's, and from the kernel's number for it elsewhere; what is kept for it lies where its slot says.
#pragma once

#include <signal.h>

#include <cstdint>

#include "verbs_shim/protocol/region.h"
#include "verbs_shim/runtime/repeated_call.h"

namespace verbatim::shim {

inline constexpr int kMostKept = 8;

struct ThreadState {
  // A row of polls and of clock reads, see exchange.cc.
  unsigned polls_in_a_row = 0;
  unsigned yields_in_a_row = 0;  // with no poll and no other call that takes time between them
  unsigned polls_allowed = protocol::kPollsAlone;
  bool in_clock_row = false;
  bool waits = false;  // since its last call it has only looked at queues, yielded or read clocks, as far as it counts calls
  std::int64_t clock_row_start_ps = 0;
  RepeatedCalls repeated_calls;
  // signal_frame.cc
  stack_t program_stack = {};  // ss_size 0: there is none
  std::uint64_t reserved = 0;
  std::uint64_t mask_afterwards = 0;
  bool has_mask_afterwards = false;
  // instructions.cc
  bool traps_timestamp_counter = false;
  // poke_timer.cc
  int timer = -1;  // -1: none
  std::uint32_t armed_us = 0;  // 0: not since the thread got the token
  // signals.cc: the jump that trapped last in a loop that did not wait, and how often it may go back before it is asked about.
  std::uint64_t vain_jump = 0;
  std::uint32_t jumps_to_pass = 0, jumps_passed = 0;
  // delivery.cc
  siginfo_t kept[kMostKept] = {};
  int kept_count = 0;
};

extern __thread ThreadState own_state;
extern bool has_foreign_bases;

protocol::ThreadSlot* find_slot();
ThreadState* find_state();

inline ThreadState& thread_state() { return has_foreign_bases ? *find_state() : own_state; }

// The base of fs.
std::uint64_t storage_base();
// Whether a thread that is to have `base` has storage of its own there.
bool is_own_storage(std::uint64_t base);
// Such a thread runs in `slot` and begins.
void begin_with_own_storage(protocol::ThreadSlot& slot);
// The same of one that has none, whose state has a place at `room`.
void begin_without_storage(protocol::ThreadSlot& slot, void* room);
// The calling thread makes one that has none of its own, `shared`: but uses the caller's.
void expect_foreign_base(bool shared);
// ARCH_SET_FS: 0 or -errno.
long set_storage_base(long base);
// Slots up to that one have been used.
void note_slot(std::uint32_t index);
// The calling thread is about to end.
void leave_slot();

}  // namespace verbatim::shim
