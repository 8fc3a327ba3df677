// fork, vfork and clone without CLONE_THREAD. The kernel makes the copy inside the handler of the trapped
// call, as a child of the simulator (CLONE_PARENT), which is therefore notified of its end; the copy is
// killed when the simulator dies. The copy maps a region of its own in place of the shared one before it
// touches anything there, waits for its first token, and returns from the trap. Rings and devices are not
// inherited: the arena of the copy is empty, as after ibv_fork_init with MADV_DONTFORK.
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "verbs_shim/runtime/accesses.h"
#include "verbs_shim/runtime/changing_code.h"
#include "verbs_shim/runtime/delivery.h"
#include "verbs_shim/runtime/descriptors.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/huge_pages.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

[[noreturn]] void end_child() {
  while (true) native(SYS_exit_group, 70);
}

// Code that runs before this must not touch the region, which is still the parent's.
void begin_child(long region, long simulator, std::uint64_t context, ThreadState& state, bool has_own_storage) {
  take_region(region, simulator);
  protocol::ThreadSlot& slot = *my_slot;
  slot.state_address = reinterpret_cast<std::uint64_t>(&state);
  slot.has_own_storage = has_own_storage ? 1 : 0;
  slot.context_address = context;
  forget_kept(~0ull);
  slot.native_tid = static_cast<std::uint32_t>(native(SYS_gettid));
  forget_poke_timer();
  unlock_heap();
  forget_huge_counts();
  inherit_timer_slack();
  begin_accesses_in_copy();
  await_token();
  introduce_changing_code();
}

long make_region() {
  const AnyDescriptor any_descriptor;
  const long region =
      move_out_of_the_way(native(SYS_memfd_create, "verbatim-region", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (region < 0) return region;
  // The program's limit on file sizes does not apply to the region.
  rlimit own = {};
  native(SYS_getrlimit, RLIMIT_FSIZE, &own);
  const rlimit any = {own.rlim_max, own.rlim_max};
  native(SYS_setrlimit, RLIMIT_FSIZE, &any);
  const long sized = native(SYS_ftruncate, region, static_cast<long>(protocol::kRegionSize));
  native(SYS_setrlimit, RLIMIT_FSIZE, &own);
  // The supervisor requires these seals.
  if (sized == 0 && native(SYS_fcntl, region, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) return region;
  native(SYS_close, region);
  return sized != 0 ? sized : -EPERM;
}

}  // namespace

void take_region(long region, long simulator) {
  native(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (native(SYS_getppid) != simulator) end_child();
  const long base = native(SYS_mmap, protocol::kRegionAddress, protocol::kRegionSize, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_FIXED | MAP_NORESERVE, region, 0);
  if (base != static_cast<long>(protocol::kRegionAddress)) end_child();
  native(SYS_close, region);
}

long fork_process(std::uint32_t number, const long (&a)[6], void* raw_context, std::uint32_t pid) {
  if (raw_context == nullptr) return -ENOSYS;
  auto* context = static_cast<ucontext_t*>(raw_context);
  const auto flags = number == SYS_clone ? static_cast<unsigned long>(a[0]) : 0;
  const long simulator = native(SYS_getppid);
  ThreadState& state = thread_state();
  const bool has_own_storage = my_slot->has_own_storage != 0;
  const long region = make_region();
  const long child = region < 0 ? region : native(SYS_clone, CLONE_PARENT, 0, 0, 0, 0);
  if (child == 0) {
    begin_child(region, simulator, reinterpret_cast<std::uint64_t>(raw_context), state, has_own_storage);
    if ((flags & CLONE_CHILD_SETTID) != 0) write_program(a[3], pid);
    if (number == SYS_clone && a[1] != 0) context->uc_mcontext.gregs[REG_RSP] = a[1];
    return 0;
  }
  if (child > 0 && (flags & CLONE_PARENT_SETTID) != 0) write_program(a[2], pid);
  const bool waits = number == SYS_vfork || (flags & CLONE_VFORK) != 0;
  const bool shares = number == SYS_vfork || (flags & CLONE_VM) != 0;
  const bool clears_tid = (flags & CLONE_CHILD_CLEARTID) != 0;
  const long result =
      exchange(protocol::Request::kForked, 0,
               {static_cast<long>(pid), child, region, waits ? (shares ? 3 : 1) : 0, clears_tid ? a[3] : 0, 0});
  if (region >= 0) native(SYS_close, region);
  return result;
}

}  // namespace verbatim::shim
