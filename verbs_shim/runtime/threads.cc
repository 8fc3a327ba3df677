// Creation of threads. The kernel creates the thread inside the handler of the trapped clone(). The new
// thread first runs on a stack of the shim, takes its slot, waits for its first token, and then continues
// behind the clone instruction with the registers that the kernel would have given it.
#include <errno.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <atomic>
#include <new>

#include "verbs_shim/runtime/delivery.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/replaced_calls.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

struct ThreadStart {
  std::uint32_t slot;
  bool has_own_storage;
  std::uint64_t signal_mask, blocked_reserved;
  gregset_t registers;
  std::uint16_t x87_control;
  std::uint32_t sse_control;
  std::atomic<std::uint32_t> ready;
};

// Continues at registers[REG_RIP] as after a system call that returned 0: rcx holds the address, r11 is
// undefined.
[[noreturn]] void continue_at(const gregset_t& registers) {
  asm volatile(
      "mov 0(%%rax), %%r8\n"
      "mov 8(%%rax), %%r9\n"
      "mov 16(%%rax), %%r10\n"
      "mov 32(%%rax), %%r12\n"
      "mov 40(%%rax), %%r13\n"
      "mov 48(%%rax), %%r14\n"
      "mov 56(%%rax), %%r15\n"
      "mov 64(%%rax), %%rdi\n"
      "mov 72(%%rax), %%rsi\n"
      "mov 80(%%rax), %%rbp\n"
      "mov 88(%%rax), %%rbx\n"
      "mov 96(%%rax), %%rdx\n"
      "mov 128(%%rax), %%rcx\n"
      "mov 120(%%rax), %%rsp\n"
      "xor %%eax, %%eax\n"
      "jmp *%%rcx\n"
      :
      : "a"(&registers[0])
      : "memory");
  __builtin_unreachable();
}
static_assert(REG_R8 == 0 && REG_R12 == 4 && REG_RDI == 8 && REG_RDX == 12 && REG_RSP == 15 && REG_RIP == 16);

void thread_entry(void* argument) {
  auto* start = static_cast<ThreadStart*>(argument);
  protocol::ThreadSlot& slot = slot_at(start->slot);
  start->has_own_storage ? begin_with_own_storage(slot) : begin_without_storage(slot, start + 1);
  slot.native_tid = static_cast<std::uint32_t>(native(SYS_gettid));
  install_signal_stack();
  set_blocked_reserved(start->blocked_reserved);
  my_slot->signal_mask = mask_seen(start->signal_mask);
  native(SYS_rt_sigprocmask, SIG_SETMASK, &start->signal_mask, 0, sizeof start->signal_mask);
  asm volatile("fldcw %0\n ldmxcsr %1" : : "m"(start->x87_control), "m"(start->sse_control));
  start->ready.store(1, std::memory_order_release);
  native(SYS_futex, &start->ready, FUTEX_WAKE, 1, 0, 0, 0);
  await_token();
  go_out_of_replaced(start->registers);
  continue_at(start->registers);
}

}  // namespace

long clone_thread(const long (&a)[6], void* raw_context, std::uint32_t slot, std::uint32_t tid) {
  if (raw_context == nullptr) return -ENOSYS;
  const auto* context = static_cast<const ucontext_t*>(raw_context);
  const unsigned long base = protocol::shim_stack(slot);
  const long mapped = native(SYS_mmap, base, 2 * kSignalStackSize, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
  if (mapped != static_cast<long>(base) && mapped != -EEXIST) return -ENOMEM;

  // At the top of the new thread's shim stack: its start state, and below that the argument that the gate
  // pops.
  const unsigned long top = base + 2 * kSignalStackSize;
  const auto flags = static_cast<unsigned long>(a[0]);
  const bool sets_base = (flags & CLONE_SETTLS) != 0;
  const bool has_own_storage = sets_base && is_own_storage(static_cast<std::uint64_t>(a[4]));
  if (!has_own_storage) expect_foreign_base(!sets_base);
  static_assert(sizeof(ThreadStart) <= 1024 && sizeof(ThreadStart) + sizeof(ThreadState) <= kRoomWithoutStorage);
  auto* start = new (reinterpret_cast<void*>(top - (has_own_storage ? 1024 : kRoomWithoutStorage))) ThreadStart{};
  note_slot(slot);
  start->slot = slot;
  start->has_own_storage = has_own_storage;
  start->signal_mask = without_reserved(*reinterpret_cast<const std::uint64_t*>(&context->uc_sigmask));
  start->blocked_reserved = blocked_reserved();
  memcpy(start->registers, context->uc_mcontext.gregs, sizeof start->registers);
  start->registers[REG_RSP] = a[1];
  start->x87_control = 0x37f;
  start->sse_control = 0x1f80;
  if (const auto* floating = context->uc_mcontext.fpregs) {
    start->x87_control = floating->cwd;
    start->sse_control = floating->mxcsr;
  }
  auto** stack = reinterpret_cast<void**>(reinterpret_cast<unsigned long>(start) - 64 - 8);
  *stack = start;

  // Thread ids are virtual: the shim and the supervisor write and clear them instead of the kernel.
  constexpr unsigned long kIdFlags = CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
  if ((flags & CLONE_PARENT_SETTID) != 0) write_program(a[2], tid);
  if ((flags & CLONE_CHILD_SETTID) != 0) write_program(a[3], tid);
  slot_at(slot).virtual_tid = tid;
  slot_at(slot).native_tid = 0;
  slot_at(slot).go.store(protocol::Baton::kNothing, std::memory_order_relaxed);
  slot_at(slot).looks = slot_at(slot).yields = 0;
  const long made = clone_gate()(flags & ~kIdFlags, stack, 0, 0, static_cast<unsigned long>(a[4]), thread_entry);
  if (made < 0) return made;
  while (start->ready.load(std::memory_order_acquire) == 0) native(SYS_futex, &start->ready, FUTEX_WAIT, 0, 0, 0, 0);
  return tid;
}

}  // namespace verbatim::shim
