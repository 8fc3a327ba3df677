// Per-thread state of the runtime, and how it is found.
//
// Threads of the C library have thread-local storage at the base of fs, and the runtime's state is part of
// it. A thread may have another base: its creator's, if clone() sets none, or memory of a language runtime,
// as Go's threads have. From the first such thread on (`has_foreign_bases`) the base identifies no thread of
// the process, and the runtime neither reads nor writes state there. The running thread is then identified by
// the stack in a handler of the shim, and by the kernel's thread id elsewhere; its state is at the address in
// its slot.
#pragma once

#include <signal.h>

#include <cstdint>

#include "verbs_shim/protocol/region.h"
#include "verbs_shim/runtime/repeated_call.h"

namespace verbatim::shim {

inline constexpr int kMostKept = 8;

struct ThreadState {
  // Consecutive polls and clock reads, see exchange.cc.
  unsigned polls_in_a_row = 0;
  unsigned yields_in_a_row = 0;  // with no poll and no other call that takes time between them
  unsigned polls_allowed = protocol::kPollsAlone;
  bool in_clock_row = false;
  unsigned completions_to_time = 0;  // clock reads at the least cost, see clock_reads_follow()
  bool waits = false;  // since its last counted call the thread has only polled, yielded or read clocks
  std::int64_t clock_row_start_ps = 0;
  RepeatedCalls repeated_calls;
  // signal_frame.cc
  stack_t program_stack = {};  // ss_size 0: none
  std::uint64_t reserved = 0;
  std::uint64_t mask_afterwards = 0;
  bool has_mask_afterwards = false;
  // instructions.cc
  bool traps_timestamp_counter = false;
  // poke_timer.cc
  int timer = -1;  // -1: none
  std::uint32_t armed_us = 0;  // 0: not armed since the thread got the token
  // signals.cc: the last trapped jump of a loop that was not waiting, and how often it may be taken before
  // the supervisor is asked again
  std::uint64_t last_unproven_jump = 0;
  std::uint32_t jumps_to_pass = 0, jumps_passed = 0;
  // delivery.cc
  siginfo_t kept[kMostKept] = {};
  int kept_count = 0;

  // Time has passed other than by a clock read.
  void end_clock_row() {
    in_clock_row = false;
    completions_to_time = 0;
  }
};

extern __thread ThreadState own_state;
// Some thread of the process has a foreign base; never reset.
extern bool has_foreign_bases;

protocol::ThreadSlot* find_slot();
ThreadState* find_state();

inline ThreadState& thread_state() { return has_foreign_bases ? *find_state() : own_state; }

// The base of fs.
std::uint64_t storage_base();
// Whether a thread with fs base `base` has storage of its own there.
bool is_own_storage(std::uint64_t base);
// A new thread with storage of its own starts in `slot`.
void begin_with_own_storage(protocol::ThreadSlot& slot);
// The same for a thread without storage; its state is placed at `room`.
void begin_without_storage(protocol::ThreadSlot& slot, void* room);
// The calling thread creates a thread without storage of its own. `shared`: that thread uses the caller's.
void expect_foreign_base(bool shared);
// ARCH_SET_FS: 0 or -errno.
long set_storage_base(long base);
// Slots up to `index` have been used.
void note_slot(std::uint32_t index);
// The calling thread is about to exit.
void leave_slot();

}  // namespace verbatim::shim
