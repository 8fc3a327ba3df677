#include "sim/supervisor/kernel/lock_waits.h"

#include <cerrno>

#include "sim/supervisor/kernel/tree_calls.h"

namespace verbatim::supervisor {

const LockWaits::Wait* LockWaits::wait_of(std::uint32_t owner) const {
  const auto first = waits_.lower_bound({owner, 0});
  return first == waits_.end() || first->first.first != owner ? nullptr : &first->second;
}

bool LockWaits::note(std::uint32_t owner, std::uint32_t tid, std::uint32_t holder) {
  Wait& own = waits_[{owner, tid}];
  own.tried = ++tries_;
  if (own.holder != holder) own = {holder, own.tried, own.tried};
  std::size_t steps = 0;
  for (const Wait* next = wait_of(holder); next != nullptr && ++steps <= waits_.size(); next = wait_of(next->holder)) {
    if (next->began > own.began || next->tried < own.began) return false;
    if (next->holder == owner) return true;
  }
  return false;
}

CallOutcome sys_lock_wait(CallContext& call) {
  const auto native = static_cast<pid_t>(call.arguments[0]);
  LockWaits& waits = call.host.lock_waits;
  Process* holder = nullptr;
  for (const auto& process : call.table.processes()) {
    const bool near = process->alive && process->host_index() == call.process.host_index();
    if (native > 0 && near && process->native_pid() == native) holder = process.get();
  }
  const bool is_deadlock =
      holder != nullptr && holder != &call.process && waits.note(call.process.pid(), call.thread.tid(), holder->pid());
  if (holder == nullptr || is_deadlock) waits.forget(call.process.pid(), call.thread.tid());
  return Answer{is_deadlock ? -EDEADLK : 0};
}

}  // namespace verbatim::supervisor
