#include "verbs_shim/runtime/thread_state.h"

#include <asm/prctl.h>
#include <sys/syscall.h>

#include <new>

#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/replaced_calls.h"
#include "verbs_shim/runtime/state.h"

__thread verbatim::protocol::ThreadSlot* verbatim_thread_slot = nullptr;

namespace verbatim::shim {

__thread ThreadState own_state;
bool has_foreign_bases = false;

namespace {

std::uint32_t slots_used = 1;

// The thread control block of the C library stores its own address at offset 0 and again at this offset
// (tcbhead_t).
constexpr std::uint64_t kAddressAgain = 16;

}  // namespace

protocol::ThreadSlot* find_slot() {
  const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  if (here >= protocol::shim_stack(protocol::kMaxThreads - 1) && here < protocol::kShimStackEnd)
    return &slot_at(static_cast<std::uint32_t>((protocol::kShimStackEnd - 1 - here) / protocol::kShimStackSize));
  const auto tid = static_cast<std::uint32_t>(native(SYS_gettid));
  for (std::uint32_t i = 0; i < slots_used; ++i) {
    if (slot_at(i).native_tid == tid) return &slot_at(i);
  }
  while (true) native(SYS_exit_group, 70);  // unknown to the supervisor
}

ThreadState* find_state() { return reinterpret_cast<ThreadState*>(find_slot()->state_address); }

std::uint64_t storage_base() {
  std::uint64_t base = 0;
  if (has_foreign_bases) {
    native(SYS_arch_prctl, ARCH_GET_FS, &base);
  } else {
    asm("mov %%fs:0, %0" : "=r"(base));
  }
  return base;
}

bool is_own_storage(std::uint64_t base) {
  std::uint64_t first, again;
  return read_program(static_cast<long>(base), first) && first == base &&
         read_program(static_cast<long>(base + kAddressAgain), again) && again == base && base != storage_base();
}

void begin_with_own_storage(protocol::ThreadSlot& slot) {
  verbatim_thread_slot = &slot;
  slot.state_address = reinterpret_cast<std::uint64_t>(&own_state);
  slot.has_own_storage = 1;
}

void begin_without_storage(protocol::ThreadSlot& slot, void* room) {
  slot.state_address = reinterpret_cast<std::uint64_t>(new (room) ThreadState);
  slot.has_own_storage = 0;
}

void expect_foreign_base(bool shared) {
  // Libraries that look up the slot there find none.
  if (shared && my_slot->has_own_storage != 0) verbatim_thread_slot = nullptr;
  has_foreign_bases = true;
  let_all_calls_trap();
}

long set_storage_base(long base) {
  const bool is_of_a_thread = is_own_storage(static_cast<std::uint64_t>(base));
  expect_foreign_base(false);
  const long result = native(SYS_arch_prctl, ARCH_SET_FS, base);
  if (result != 0) return result;
  my_slot->has_own_storage = 0;
  if (is_of_a_thread) verbatim_thread_slot = nullptr;  // it may belong to another thread
  return 0;
}

void note_slot(std::uint32_t index) {
  if (index >= slots_used) slots_used = index + 1;
}

void leave_slot() {
  if (has_foreign_bases) my_slot->native_tid = 0;
}

}  // namespace verbatim::shim
