// Signals on readiness of pipes, sockets and inotify descriptors: fcntl(2), "Managing signals".
#include <fcntl.h>

#include <cerrno>
#include <cstdlib>

#include "sim/supervisor/kernel/file_signal.h"
#include "sim/supervisor/kernel/file_signal_calls.h"
#include "sim/supervisor/tasks/signals.h"

namespace verbatim::supervisor {

namespace {

bool is_of(const Process& process, const FileSignal::Owner& owner, std::size_t host) {
  if (!process.alive || process.host_index() != host) return false;
  if (owner.type == F_OWNER_PID) return process.pid() == owner.id;
  return owner.type == F_OWNER_PGRP && const_cast<Process&>(process).family().group == owner.id;
}

Thread* thread_of(Process& process, const FileSignal::Owner& owner) {
  if (owner.type != F_OWNER_TID || !process.alive) return nullptr;
  for (const auto& thread : process.threads()) {
    if (thread->tid() == owner.id && thread->state() != Thread::State::kDead) return thread.get();
  }
  return nullptr;
}

}  // namespace

bool is_async(const VirtualFile& file) {
  const auto* signal = static_cast<const FileSignal*>(file.wait_queue.follower().get());
  return signal != nullptr && signal->is_async();
}

namespace {

FileSignal& signal_of(CallContext& call, VirtualFile& file) {
  if (file.wait_queue.follower() == nullptr) {
    const std::size_t host = call.process.host_index();
    const auto send = [&table = call.table, host](const FileSignal::Owner& owner, int signal,
                                                  const SignalOrigin& origin) {
      for (const auto& other : table.processes()) {
        if (is_of(*other, owner, host)) table.signal_process(*other, signal, origin);
        Thread* const thread = other->host_index() == host ? thread_of(*other, owner) : nullptr;
        if (thread == nullptr) continue;
        is_deadly(*other, signal) || stops(*other, signal) ? table.signal_process(*other, signal, origin)
                                                           : signal_thread(*thread, signal, origin);
      }
    };
    file.wait_queue.set_follower(
        std::make_shared<FileSignal>(call.services.engine, call.process.host().component, file, send));
  }
  return static_cast<FileSignal&>(*file.wait_queue.follower());
}

}  // namespace

// False: the file does not support O_ASYNC.
bool set_async(CallContext& call, VirtualFile& file, bool on, int descriptor) {
  if (!file.supports_signals()) return false;
  if (on != is_async(file)) signal_of(call, file).set_async(on, descriptor);
  return true;
}

Answer control_file_signal(CallContext& call, VirtualFile& file) {
  const auto& a = call.arguments;
  Process& process = call.process;
  if (!file.supports_signals()) return {a[1] == F_GETOWN_EX ? -EINVAL : 0};
  FileSignal& signal = signal_of(call, file);
  const auto exists = [&](const FileSignal::Owner& owner) {
    if (owner.id == 0) return true;
    for (const auto& other : call.table.processes()) {
      if (is_of(*other, owner, process.host_index())) return true;
      if (other->host_index() == process.host_index() && thread_of(*other, owner) != nullptr) return true;
    }
    return false;
  };
  switch (a[1]) {
    case F_GETSIG:
      return {signal.signal};
    case F_SETSIG:
      if (a[2] < 0 || a[2] > 64) return {-EINVAL};
      signal.signal = call.as_int(2);
      return {0};
    case F_GETOWN: {
      const auto id = static_cast<std::int64_t>(signal.owner.id);
      return {signal.owner.type == F_OWNER_PGRP ? -id : id};
    }
    case F_GETOWN_EX: {
      const f_owner_ex owner{static_cast<decltype(f_owner_ex::type)>(signal.owner.type),
                            static_cast<pid_t>(signal.owner.id)};
      return {process.memory().store(call.address(2), owner) ? 0 : -EFAULT};
    }
    default:
      break;
  }
  FileSignal::Owner owner{F_OWNER_PID, 0};
  if (a[1] == F_SETOWN_EX) {
    struct Asked {
      int type;
      pid_t id;
    };
    const auto asked = process.memory().load<Asked>(call.address(2));
    if (!asked) return {-EFAULT};
    if (asked->type < F_OWNER_TID || asked->type > F_OWNER_PGRP) return {-EINVAL};
    owner = {asked->type, static_cast<std::uint32_t>(asked->id)};
  } else {
    const auto who = call.as_int(2);
    if (who == INT32_MIN) return {-EINVAL};
    owner = {who < 0 ? F_OWNER_PGRP : F_OWNER_PID, static_cast<std::uint32_t>(std::abs(who))};
  }
  if (!exists(owner)) return {-ESRCH};
  signal.owner = owner;
  return {0};
}

}  // namespace verbatim::supervisor
