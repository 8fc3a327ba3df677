// The user and groups by whose permissions the kernel decides about a file of the machine.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

// Whether the call checks the real user's permissions: access(2), and faccessat without AT_EACCESS.
inline bool asks_for_real_user(long number, long flags) {
  return number == SYS_access || number == SYS_faccessat || (number == SYS_faccessat2 && (flags & AT_EACCESS) == 0);
}

// Scope in which the thread has the user and groups that it has set. No effect for files in the host's own
// folders, which belong to the user who runs the simulator, nor for exec, because the new program would keep
// them.
class AsFileUser {
 public:
  // `real`: the real user (asks_for_real_user()).
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
    // A change of these clears the dumpable flag and the parent-death signal (prctl(2)).
    native(SYS_prctl, PR_SET_DUMPABLE, 1);
    native(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  }
  AsFileUser(const AsFileUser&) = delete;
  AsFileUser& operator=(const AsFileUser&) = delete;

 private:
  static constexpr long kMostGroups = 64;  // limit for the simulator's user, who keeps all groups if there are more
  const bool is_other_;
  long user_before_ = 0, group_before_ = 0, groups_before_ = -1;
  std::uint32_t groups_[kMostGroups];
};

}  // namespace verbatim::shim
