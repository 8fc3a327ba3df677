// msgget(2) and related calls.
#include <sys/msg.h>
#include <sys/syscall.h>

#include <cerrno>

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

CallOutcome sys_msgget(CallContext& call) {
  const auto& a = call.arguments;
  SysvIpc& ipc = call.host.sysv_ipc;
  const auto key = static_cast<key_t>(a[0]);
  const std::int64_t flags = call.as_int(1);
  const auto make = [&]() -> std::int64_t {
    return ipc.queues.add(std::make_shared<MessageQueue>(
        IpcPermissions(key, static_cast<std::uint32_t>(flags), call.thread.credentials), call.seconds()));
  };
  return Answer{get_ipc(ipc.queues, key, flags, call.thread.credentials, make,
                        [](const MessageQueue&) { return true; })};
}

CallOutcome sys_msgsnd(CallContext& call) {
  Process& process = call.process;
  const auto from = call.address(1), size = call.length(2);
  const auto type = call.load_argument<std::int64_t>(from);
  if (!type) return Answer{-EFAULT};
  if (size > MessageQueue::kLargest || call.as_int(0) < 0 || *type < 1) return Answer{-EINVAL};
  MessageQueue::Message message{*type, std::vector<std::byte>(size)};
  if (size > 0 && !call.read_argument(from + kTypeSize, message.bytes)) return Answer{-EFAULT};
  const auto queue = call.host.sysv_ipc.queues.find(call.as_int(0));
  if (queue == nullptr) return Answer{call.is_retry() ? -EIDRM : -EINVAL};
  if (!queue->permissions.allow(call.thread.credentials, 0222)) return Answer{-EACCES};
  if (!queue->has_room(size)) {
    if ((call.flags(3) & IPC_NOWAIT) != 0) return Answer{-EAGAIN};
    return call.wait_for({queue}, kNever, "msgsnd");
  }
  queue->sender = process.pid();
  queue->sent_at = call.seconds();
  queue->put(std::move(message));
  return Answer{0};
}

CallOutcome sys_msgrcv(CallContext& call) {
  const auto& a = call.arguments;
  Process& process = call.process;
  const auto to = call.address(1), room = call.length(2);
  const bool copies = (call.flags(4) & MSG_COPY) != 0, waits = (call.flags(4) & IPC_NOWAIT) == 0;
  if (call.as_int(0) < 0 || a[2] < 0) return Answer{-EINVAL};
  if (copies && ((call.flags(4) & MSG_EXCEPT) != 0 || waits)) return Answer{-EINVAL};
  const auto queue = call.host.sysv_ipc.queues.find(call.as_int(0));
  if (queue == nullptr) return Answer{call.is_retry() ? -EIDRM : -EINVAL};
  if (!queue->permissions.allow(call.thread.credentials, 0444)) return Answer{-EACCES};
  const auto found = queue->find(a[3], a[4]);
  if (found == queue->messages.end()) {
    if (!waits) return Answer{-ENOMSG};
    return call.wait_for({queue}, kNever, "msgrcv");
  }
  if (found->bytes.size() > room && (call.flags(4) & MSG_NOERROR) == 0) return Answer{-E2BIG};
  const std::uint64_t size = std::min<std::uint64_t>(room, found->bytes.size());
  const std::vector<std::byte> bytes(found->bytes.begin(), found->bytes.begin() + static_cast<std::ptrdiff_t>(size));
  const bool stored = process.memory().store(to, found->type) && (size == 0 || process.memory().put(to + kTypeSize, bytes));
  if (!copies) {  // a message that cannot be stored is lost, as in Linux
    queue->receiver = process.pid();
    queue->received_at = call.seconds();
    queue->take(found);
  }
  return Answer{stored ? static_cast<std::int64_t>(size) : -EFAULT};
}

CallOutcome sys_msgctl(CallContext& call) {
  ProcessMemory& memory = call.process.memory();
  SysvIpc& ipc = call.host.sysv_ipc;
  const auto id = call.as_int(0), command = call.as_int(1);
  const auto address = call.address(2);
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
  const Credentials& who = call.thread.credentials;
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
      queue->changed_at = call.seconds();
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
