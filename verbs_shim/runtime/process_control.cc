// prctl(2), by the table in protocol/process_control.h.
#include "verbs_shim/protocol/process_control.h"

#include <errno.h>
#include <sys/syscall.h>

#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/memory_calls.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

using protocol::ControlKind;
using protocol::ControlOption;

constexpr int kOptions = sizeof protocol::kControlOptions / sizeof protocol::kControlOptions[0];

// Settings of the process, by the option's index in the table. A forked copy inherits them, an executed
// program does not.
long settings[kOptions];
bool is_set[kOptions];

// Timer slack that PR_SET_TIMERSLACK with 0 restores: the parent's at the fork.
long first_slack = protocol::kUsualSlackNs;

constexpr int kSlack = protocol::control_index(PR_SET_TIMERSLACK);

bool has_unused_arguments(const ControlOption& option, const long (&a)[6]) {
  constexpr int kArguments = 5;
  for (int i = option.unused_from; i < kArguments; ++i) {
    if (a[i] != 0) return true;
  }
  return option.option == PR_SET_NO_NEW_PRIVS && a[1] != 1;
}

long keep_setting(int at, const ControlOption& option, const long (&a)[6]) {
  if (option.value >= 0 && (a[1] < 0 || a[1] >= option.value)) return -EINVAL;
  if (option.option == PR_SET_TIMERSLACK && a[1] <= 0) {
    is_set[at] = false;
    return 0;
  }
  settings[at] = a[1];
  is_set[at] = true;
  return 0;
}

long get_setting(const ControlOption& option, const long (&a)[6]) {
  const int at = protocol::control_index(option.value);
  const long first = at == kSlack ? first_slack : option.first;
  const long value = at >= 0 && is_set[at] ? settings[at] : first;
  if (option.option != PR_GET_TSC) return value;
  return write_program(a[1], static_cast<int>(value)) ? 0 : -EFAULT;
}

}  // namespace

void inherit_timer_slack() {
  if (is_set[kSlack]) first_slack = settings[kSlack];
}

long process_control(const long (&a)[6]) {
  const int at = protocol::control_index(a[0]);
  if (at < 0) return refuse_argument(SYS_prctl, static_cast<int>(a[0]), EINVAL);
  const ControlOption& option = protocol::kControlOptions[at];
  if (has_unused_arguments(option, a)) return -EINVAL;
  if (option.kind == ControlKind::kCredentials || option.kind == ControlKind::kRelatives)
    return exchange(protocol::Request::kSystemCall, SYS_prctl, a);
  spend(costs().system_call_ps);
  switch (option.kind) {
    case ControlKind::kKernel:
      return native(SYS_prctl, a[0], a[1], a[2], a[3], a[4], a[5]);
    case ControlKind::kSetting:
      return keep_setting(at, option, a);
    case ControlKind::kStored:
      return get_setting(option, a);
    default:
      return option.value;
  }
}

}  // namespace verbatim::shim
