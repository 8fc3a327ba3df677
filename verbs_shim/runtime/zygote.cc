// A zygote: a process that is started and linked once, and copied for each of many runs before it has made a
// request. A copy equals a process that was started for the run. It is a child of the simulator
// (CLONE_PARENT) in a session of its own, and inherits what the kernel keeps of the first thread for the C
// library. It maps the region of its run before it touches anything there.
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "verbs_shim/runtime/descriptors.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

// Registrations of the first thread with the kernel, made by the C library, that a copy does not inherit.
struct KernelRegistrations {
  long tid_address = 0, robust_list = 0, robust_list_size = 0;
  bool is_known = false;
};

KernelRegistrations read_registrations() {
  KernelRegistrations registrations;
  registrations.is_known = native(SYS_prctl, PR_GET_TID_ADDRESS, &registrations.tid_address, 0, 0, 0) == 0 &&
                           native(SYS_get_robust_list, 0, &registrations.robust_list, &registrations.robust_list_size) == 0;
  return registrations;
}

// Returns 0 in the copy, else its pid or -errno.
long copy_process(long simulator, const KernelRegistrations& registrations) {
  if (!registrations.is_known) return -ENOSYS;
  const long region = fetch_passed_file(true);
  if (region < 0) return region;
  const long child = native(SYS_clone, CLONE_PARENT | CLONE_CHILD_CLEARTID, 0, 0, registrations.tid_address, 0);
  if (child == 0) {
    take_region(region, simulator);
    ask_for_region_pages();
    native(SYS_setsid);
    native(SYS_set_robust_list, registrations.robust_list, registrations.robust_list_size);
    introduce_process();
    return 0;
  }
  native(SYS_close, region);
  return child;
}

}  // namespace

void serve_copies() {
  const long simulator = native(SYS_getppid);
  const KernelRegistrations registrations = read_registrations();
  protocol::ThreadSlot& slot = *my_slot;
  auto& message = region_header().message;
  while (true) {
    if (protocol::hand_over(message)) native(SYS_futex, &message, FUTEX_WAKE, 1, 0, 0, 0);
    protocol::take(slot.go, [&slot] {
      native(SYS_futex, &slot.go, FUTEX_WAIT, static_cast<long>(protocol::Baton::kAsleep), 0, 0, 0);
      return true;
    });
    const long copy = copy_process(simulator, registrations);
    if (copy == 0) return;
    slot.result = copy;
  }
}

}  // namespace verbatim::shim
