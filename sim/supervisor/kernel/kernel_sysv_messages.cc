// msgget(2) and related calls.
#include <sys/msg.h>
#include <sys/syscall.h>

#include <cerrno>

#include "sim/supervisor/kernel/kernel.h"
#include "sim/supervisor/kernel/sysv_calls.h"
#include "sim/supervisor/kernel/sysv_ipc.h"

namespace verbatim::supervisor {

namespace {

constexpr std::uint64_t kTypeSize = sizeof(std::int64_t);  // precedes a message's bytes in program memory

msginfo message_limits(const SysvIpc& ipc, bool of_use) {
  constexpr int kMost = MessageQueue::kMost, kRoom = MessageQueue::kRoom;
  msginfo info{};
  info.msgmni = kMost;
  info.msgmax = MessageQueue::kLargest;
  info.msgmnb = kRoom;
  info.msgssz = 16;
  info.msgseg = 0xffff;
  info.msgpool = kMost * (kRoom / 1024);
  info.msgmap = info.msgtql = kRoom;
  if (!of_use) return info;
  info.msgpool = static_cast<int>(ipc.queues.slots().size());
  info.msgmap = info.msgtql = 0;
  for (const auto& [slot, queue] : ipc.queues.slots()) {
    info.msgmap += static_cast<int>(queue->messages.size());
    info.msgtql += static_cast<int>(queue->bytes);
  }
  return info;
}

}  // namespace

Kernel::Outcome Kernel::sys_msgget(Thread& thread) {
  const auto& a = thread.call().arguments;
  SysvIpc& ipc = ipc_of(thread.process());
  const auto key = static_cast<key_t>(a[0]);
  const std::int64_t flags = static_cast<std::int32_t>(a[1]);
  const auto make = [&]() -> std::int64_t {
    return ipc.queues.add(std::make_shared<MessageQueue>(
        IpcPermissions(key, static_cast<std::uint32_t>(flags), thread.credentials), seconds()));
  };
  return Answer{get_ipc(ipc.queues, key, flags, thread.credentials, make, [](const MessageQueue&) { return true; })};
}

Kernel::Outcome Kernel::sys_msgsnd(Thread& thread) {
  const auto& a = thread.call().arguments;
  Process& process = thread.process();
  const auto from = static_cast<std::uint64_t>(a[1]), size = static_cast<std::uint64_t>(a[2]);
  const auto type = load_argument<std::int64_t>(thread, from);
  if (!type) return Answer{-EFAULT};
  if (size > MessageQueue::kLargest || static_cast<std::int32_t>(a[0]) < 0 || *type < 1) return Answer{-EINVAL};
  MessageQueue::Message message{*type, std::vector<std::byte>(size)};
  if (size > 0 && !read_argument(thread, from + kTypeSize, message.bytes)) return Answer{-EFAULT};
  const auto queue = ipc_of(process).queues.find(static_cast<std::int32_t>(a[0]));
  if (queue == nullptr) return Answer{thread.retried() ? -EIDRM : -EINVAL};
  if (!queue->permissions.allow(thread.credentials, 0222)) return Answer{-EACCES};
  if (!queue->has_room(size)) {
    if ((a[3] & IPC_NOWAIT) != 0) return Answer{-EAGAIN};
    return wait_for(thread, {queue}, kNever, "msgsnd");
  }
  queue->sender = process.pid();
  queue->sent_at = seconds();
  queue->put(std::move(message));
  return Answer{0};
}

Kernel::Outcome Kernel::sys_msgrcv(Thread& thread) {
  const auto& a = thread.call().arguments;
  Process& process = thread.process();
  const auto to = static_cast<std::uint64_t>(a[1]), room = static_cast<std::uint64_t>(a[2]);
  const bool copies = (a[4] & MSG_COPY) != 0, waits = (a[4] & IPC_NOWAIT) == 0;
  if (static_cast<std::int32_t>(a[0]) < 0 || a[2] < 0) return Answer{-EINVAL};
  if (copies && ((a[4] & MSG_EXCEPT) != 0 || waits)) return Answer{-EINVAL};
  const auto queue = ipc_of(process).queues.find(static_cast<std::int32_t>(a[0]));
  if (queue == nullptr) return Answer{thread.retried() ? -EIDRM : -EINVAL};
  if (!queue->permissions.allow(thread.credentials, 0444)) return Answer{-EACCES};
  const auto found = queue->find(a[3], a[4]);
  if (found == queue->messages.end()) {
    if (!waits) return Answer{-ENOMSG};
    return wait_for(thread, {queue}, kNever, "msgrcv");
  }
  if (found->bytes.size() > room && (a[4] & MSG_NOERROR) == 0) return Answer{-E2BIG};
  const std::uint64_t size = std::min<std::uint64_t>(room, found->bytes.size());
  const std::vector<std::byte> bytes(found->bytes.begin(), found->bytes.begin() + static_cast<std::ptrdiff_t>(size));
  const bool stored = process.memory().store(to, found->type) && (size == 0 || process.memory().put(to + kTypeSize, bytes));
  if (!copies) {  // a message that cannot be stored is lost, as in Linux
    queue->receiver = process.pid();
    queue->received_at = seconds();
    queue->take(found);
  }
  return Answer{stored ? static_cast<std::int64_t>(size) : -EFAULT};
}

Kernel::Outcome Kernel::sys_msgctl(Thread& thread) {
  const auto& a = thread.call().arguments;
  ProcessMemory& memory = thread.process().memory();
  SysvIpc& ipc = ipc_of(thread.process());
  const auto id = static_cast<std::int32_t>(a[0]), command = static_cast<std::int32_t>(a[1]);
  const auto address = static_cast<std::uint64_t>(a[2]);
  if (id < 0 || command < 0) return Answer{-EINVAL};
  if (command == IPC_INFO || command == MSG_INFO) {
    return Answer{memory.store(address, message_limits(ipc, command == MSG_INFO)) ? ipc.queues.highest_slot() : -EFAULT};
  }
  const bool by_slot = command == MSG_STAT || command == MSG_STAT_ANY;
  std::optional<msqid_ds> given;
  if (command == IPC_SET) given = memory.load<msqid_ds>(address);
  if (command == IPC_SET && !given) return Answer{-EFAULT};
  const auto queue = by_slot ? ipc.queues.at(id) : ipc.queues.find(id);
  if (queue == nullptr) return Answer{-EINVAL};
  const Credentials& who = thread.credentials;
  switch (command) {
    case IPC_STAT:
    case MSG_STAT:
    case MSG_STAT_ANY: {
      if (command != MSG_STAT_ANY && !queue->permissions.allow(who, 0444)) return Answer{-EACCES};
      msqid_ds state{};
      state.msg_perm = queue->permissions.to_ipc_perm();
      state.msg_stime = queue->sent_at;
      state.msg_rtime = queue->received_at;
      state.msg_ctime = queue->changed_at;
      state.__msg_cbytes = queue->bytes;
      state.msg_qnum = queue->messages.size();
      state.msg_qbytes = queue->room;
      state.msg_lspid = static_cast<pid_t>(queue->sender);
      state.msg_lrpid = static_cast<pid_t>(queue->receiver);
      return Answer{!memory.store(address, state) ? -EFAULT : by_slot ? queue->permissions.id : 0};
    }
    case IPC_SET: {
      if (!queue->permissions.belong_to(who)) return Answer{-EPERM};
      if (given->msg_qbytes > MessageQueue::kRoom && !who.may(kCapSysResource)) return Answer{-EPERM};
      const int error = queue->permissions.set(who, given->msg_perm);
      if (error != 0) return Answer{error};
      queue->room = given->msg_qbytes;
      queue->changed_at = seconds();
      queue->changed();
      return Answer{0};
    }
    case IPC_RMID:
      if (!queue->permissions.belong_to(who)) return Answer{-EPERM};
      ipc.queues.remove(id);
      queue->changed();
      return Answer{0};
    default:
      return Answer{-EINVAL};
  }
}

}  // namespace verbatim::supervisor
