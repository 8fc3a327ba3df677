// By whose rights the kernel decides about a file of the machine.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

// Whether the call answers by the rights of the real user: access(2), unless told otherwise.
inline bool asks_for_real_user(long number, long flags) {
  return number == SYS_access || number == SYS_faccessat || (number == SYS_faccessat2 && (flags & AT_EACCESS) == 0);
}

// While it lives, by the rights of the user that the thread has made itself; not in folders of the host's own, whose files
// belong to whoever runs the simulator, and not for a program that is executed, which would keep them.
class AsFileUser {
 public:
  // `real`: by the real user's (asks_for_real_user()).
  AsFileUser(long number, bool names_own, bool real = false)
      : is_other_(!names_own && number != SYS_execve && number != SYS_execveat &&
                  (real ? my_slot->user : my_slot->file_user) != 0) {
    if (!is_other_) return;
    const protocol::ThreadSlot& slot = *my_slot;
    groups_before_ = native(SYS_getgroups, kMostGroups, groups_);
    if (groups_before_ >= 0) native(SYS_setgroups, slot.group_count, slot.groups);
    group_before_ = native(SYS_setfsgid, real ? slot.real_group : slot.file_group);
    user_before_ = native(SYS_setfsuid, real ? slot.user : slot.file_user);
  }
  ~AsFileUser() {
    if (!is_other_) return;
    native(SYS_setfsuid, user_before_);
    native(SYS_setfsgid, group_before_);
    if (groups_before_ >= 0) native(SYS_setgroups, groups_before_, groups_);
    // Who changes these is no longer readable by others and no longer ends with its parent (prctl(2)).
    native(SYS_prctl, PR_SET_DUMPABLE, 1);
    native(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  }
  AsFileUser(const AsFileUser&) = delete;
  AsFileUser& operator=(const AsFileUser&) = delete;

 private:
  static constexpr long kMostGroups = 64;  // of whoever runs the simulator; who has more keeps them
  const bool is_other_;
  long user_before_ = 0, group_before_ = 0, groups_before_ = -1;
  std::uint32_t groups_[kMostGroups];
};

}  // namespace verbatim::shim
