// By whose rights the kernel decides about a file of the machine.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

// While it lives, by the rights of the user that the thread has made itself; not in folders of the host's own, whose files
// belong to whoever runs the simulator, and not for a program that is executed, which would keep them.
class AsFileUser {
 public:
  AsFileUser(long number, bool names_own)
      : is_other_(!names_own && number != SYS_execve && number != SYS_execveat && my_slot->file_user != 0) {
    if (!is_other_) return;
    group_before_ = native(SYS_setfsgid, my_slot->file_group);
    user_before_ = native(SYS_setfsuid, my_slot->file_user);
  }
  ~AsFileUser() {
    if (!is_other_) return;
    native(SYS_setfsuid, user_before_);
    native(SYS_setfsgid, group_before_);
    // Who changes these is no longer readable by others and no longer ends with its parent (prctl(2)).
    native(SYS_prctl, PR_SET_DUMPABLE, 1);
    native(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  }
  AsFileUser(const AsFileUser&) = delete;
  AsFileUser& operator=(const AsFileUser&) = delete;

 private:
  const bool is_other_;
  long user_before_ = 0, group_before_ = 0;
};

}  // namespace verbatim::shim
