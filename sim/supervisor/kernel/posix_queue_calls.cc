// mq_open(2) and related calls. The order of the checks is that of Linux' ipc/mqueue.c.
#include "sim/supervisor/kernel/posix_queue_calls.h"

#include <fcntl.h>
#include <mqueue.h>
#include <sys/resource.h>

#include <cerrno>
#include <climits>
#include <csignal>

#include "sim/supervisor/kernel/ipc_table.h"
#include "sim/supervisor/kernel/posix_queue.h"
#include "sim/supervisor/spec/kernel_time.h"
#include "sim/supervisor/tasks/signals.h"

namespace verbatim::supervisor {

namespace {

// The queue's name, from which the C library has removed the slash; nullopt: -errno in `error`.
std::optional<std::string> load_name(CallContext& call, int* error) {
  const std::uint64_t address = call.address(0);
  auto name = call.process.memory().load_string(address, PATH_MAX - 1);
  *error = 0;
  if (!name) *error = call.process.memory().load<char>(address) ? -ENAMETOOLONG : -EFAULT;
  if (name && name->empty()) *error = -ENOENT;
  if (*error != 0) return std::nullopt;
  return name;
}

// 0, or -errno of a name that no queue can have.
int check_name(const std::string& name) {
  if (name == "." || name == ".." || name.find('/') != std::string::npos) return -EACCES;
  return name.size() > NAME_MAX ? -ENAMETOOLONG : 0;
}

// A new queue with a name, or nullptr: -errno in `error`.
std::shared_ptr<PosixQueue> make_queue(CallContext& call, const std::string& name,
                                       const std::optional<mq_attr>& wanted, int* error) {
  PosixQueues& queues = call.host.posix_queues;
  const Credentials& maker = call.thread.credentials;
  const bool is_privileged = maker.may(kCapSysResource);
  const std::int64_t most = wanted ? wanted->mq_maxmsg : PosixQueue::kMostMessages;
  const std::int64_t largest = wanted ? wanted->mq_msgsize : PosixQueue::kLargestMessage;
  *error = -ENOSPC;
  if (queues.account->queues >= PosixQueue::kMostQueues && !is_privileged) return nullptr;
  *error = -EINVAL;
  if (most <= 0 || most > (is_privileged ? PosixQueue::kHardMessages : PosixQueue::kMostMessages))
    return nullptr;
  if (largest <= 0 || largest > (is_privileged ? PosixQueue::kHardMessage : PosixQueue::kLargestMessage))
    return nullptr;
  *error = -EMFILE;
  const std::uint64_t bytes =
      queues.account->bytes[maker.users().real] + PosixQueue::counted_bytes(most, largest);
  if (bytes > call.process.limits.of(RLIMIT_MSGQUEUE).rlim_cur) return nullptr;
  *error = 0;
  const std::uint32_t mode = call.as_u32(2) & ~call.process.file_mask();
  return queues.by_name[name] =
             std::make_shared<PosixQueue>(name, mode, maker, most, largest, queues.account);
}

// The queue of the first argument, opened for `access`; nullptr: EBADF.
std::shared_ptr<QueueFile> queue_file(const CallContext& call, int access) {
  auto file = call.file_of_kind<QueueFile>(call.as_int(0));
  const bool is_open_for_it =
      file != nullptr && (file->access_mode() == O_RDWR || file->access_mode() == access);
  return is_open_for_it ? file : nullptr;
}

// Deadline of the fifth argument; nullopt: -errno in `error`.
std::optional<Instant> load_absolute_deadline(CallContext& call, int* error) {
  *error = 0;
  if (call.arguments[4] == 0) return kNever;
  const auto time = call.process.memory().load<timespec>(call.address(4));
  if (!time) *error = -EFAULT;
  if (time && !valid(*time)) *error = -EINVAL;
  if (*error != 0) return std::nullopt;
  return add_ns(call.now(), ns_until(CLOCK_REALTIME, *time, call.now(), call.epoch_ns()));
}

// A message has arrived in an empty queue: sends the signal of the registered process.
void notify_process(CallContext& call, PosixQueue& queue) {
  const auto registered = queue.take_registration();
  if (!registered || registered->kind != SIGEV_SIGNAL || registered->signal == 0) return;
  Process* const receiver = call.find_process(registered->pid);
  if (receiver == nullptr) return;
  send_signal(*receiver, registered->signal,
              {.code = SI_MESGQ,
               .sender = call.process.pid(),
               .value = registered->value,
               .user = call.thread.credentials.users().real});
}

// Blocks the call until its wait is finished, or ends it at the deadline.
CallOutcome wait_in_queue(CallContext& call, const std::shared_ptr<QueueWait>& wait, Instant deadline,
                          const char* name) {
  if (call.now() >= deadline) return Answer{-ETIMEDOUT};
  return call.wait_for({wait}, deadline, name);
}

}  // namespace

CallOutcome sys_mq_open(CallContext& call) {
  std::optional<mq_attr> wanted;
  if (call.arguments[3] != 0) {
    wanted = call.process.memory().load<mq_attr>(call.address(3));
    if (!wanted) return Answer{-EFAULT};
  }
  int error = 0;
  const auto name = load_name(call, &error);
  if (!name) return Answer{error};
  if (call.process.files().lowest_free_number() < 0) return Answer{-EMFILE};
  error = check_name(*name);
  if (error != 0) return Answer{error};
  const int flags = call.as_int(1), access = flags & O_ACCMODE;
  const auto& named = call.host.posix_queues.by_name;
  const auto found = named.find(*name);
  std::shared_ptr<PosixQueue> queue = found == named.end() ? nullptr : found->second;
  if (queue != nullptr) {
    if ((flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return Answer{-EEXIST};
    if (access == O_ACCMODE) return Answer{-EINVAL};
    const int use = access == O_RDWR ? R_OK | W_OK : access == O_WRONLY ? W_OK : R_OK;
    if (!call.thread.credentials.may_use(queue->owner, queue->group, S_IFREG | queue->mode, use))
      return Answer{-EACCES};
  } else {
    if ((flags & O_CREAT) == 0) return Answer{-ENOENT};
    queue = make_queue(call, *name, wanted, &error);
    if (queue == nullptr) return Answer{error};
  }
  return call.install(std::make_shared<QueueFile>(std::move(queue), access), (flags & O_NONBLOCK) != 0);
}

CallOutcome sys_mq_unlink(CallContext& call) {
  int error = 0;
  const auto name = load_name(call, &error);
  if (!name) return Answer{error};
  error = check_name(*name);
  if (error != 0) return Answer{error};
  auto& named = call.host.posix_queues.by_name;
  const auto found = named.find(*name);
  if (found == named.end()) return Answer{-ENOENT};
  const Credentials& who = call.thread.credentials;
  const UserId user = who.users().file_system;
  // The folder is root's and has the sticky bit.
  if (user != found->second->owner && user != kRoot && !who.may(kCapFowner)) return Answer{-EPERM};
  named.erase(found);
  return Answer{0};
}

CallOutcome sys_mq_send(CallContext& call) {
  auto& wait = call.thread.call().queue_wait;
  if (wait != nullptr) {
    if (wait->is_done()) return Answer{0};
    return wait_in_queue(call, wait, call.deadline(), "mq_timedsend");
  }
  int error = 0;
  const auto deadline = load_absolute_deadline(call, &error);
  if (!deadline) return Answer{error};
  if (call.as_u32(3) >= PosixQueue::kPriorities) return Answer{-EINVAL};
  const auto file = queue_file(call, O_WRONLY);
  if (file == nullptr) return Answer{-EBADF};
  PosixQueue& queue = file->queue();
  if (call.length(2) > static_cast<std::uint64_t>(queue.largest)) return Answer{-EMSGSIZE};
  QueuedMessage message{call.as_u32(3), std::vector<std::byte>(call.length(2))};
  if (!message.bytes.empty() && !call.process.memory().read(call.address(1), message.bytes))
    return Answer{-EFAULT};
  if (!queue.is_full()) {
    if (queue.put(std::move(message))) notify_process(call, queue);
    return Answer{0};
  }
  if (file->nonblocking()) return Answer{-EAGAIN};
  wait = std::make_shared<QueueWait>(call.thread, queue.describe(), std::move(message));
  queue.await_room(wait);
  return wait_in_queue(call, wait, *deadline, "mq_timedsend");
}

namespace {

Answer deliver(CallContext& call, const QueuedMessage& message) {
  ProcessMemory& memory = call.process.memory();
  const std::uint64_t priority = call.address(3);
  // A message that cannot be stored is lost, as in Linux.
  if (priority != 0 && !memory.store(priority, message.priority)) return {-EFAULT};
  if (!message.bytes.empty() && !memory.put(call.address(1), message.bytes)) return {-EFAULT};
  return {static_cast<std::int64_t>(message.bytes.size())};
}

}  // namespace

CallOutcome sys_mq_receive(CallContext& call) {
  auto& wait = call.thread.call().queue_wait;
  if (wait != nullptr) {
    if (wait->is_done()) return deliver(call, wait->message);
    return wait_in_queue(call, wait, call.deadline(), "mq_timedreceive");
  }
  int error = 0;
  const auto deadline = load_absolute_deadline(call, &error);
  if (!deadline) return Answer{error};
  const auto file = queue_file(call, O_RDONLY);
  if (file == nullptr) return Answer{-EBADF};
  PosixQueue& queue = file->queue();
  if (call.length(2) < static_cast<std::uint64_t>(queue.largest)) return Answer{-EMSGSIZE};
  if (queue.size() > 0) return deliver(call, queue.take());
  if (file->nonblocking()) return Answer{-EAGAIN};
  wait = std::make_shared<QueueWait>(call.thread, queue.describe());
  queue.await_message(wait);
  return wait_in_queue(call, wait, *deadline, "mq_timedreceive");
}

CallOutcome sys_mq_notify(CallContext& call) {
  struct Event {  // the kernel's struct sigevent
    std::uint64_t value;
    std::int32_t signal;
    std::int32_t notify;
  };
  PosixQueue::Registration registration{.pid = call.process.pid(), .kind = SIGEV_NONE};
  if (call.arguments[1] != 0) {
    const auto event = call.process.memory().load<Event>(call.address(1));
    if (!event) return Answer{-EFAULT};
    const int kind = event->notify;
    if (kind != SIGEV_NONE && kind != SIGEV_SIGNAL && kind != SIGEV_THREAD) return Answer{-EINVAL};
    if (kind == SIGEV_SIGNAL && (event->signal < 0 || event->signal > 64)) return Answer{-EINVAL};
    registration.kind = kind;
    registration.signal = event->signal;
    registration.value = event->value;
    if (kind == SIGEV_THREAD) {
      registration.cookie.resize(PosixQueue::kCookieBytes);
      if (!call.process.memory().read(event->value, registration.cookie)) return Answer{-EFAULT};
      const VirtualFilePtr socket = call.process.files().at(event->signal);
      registration.socket = std::dynamic_pointer_cast<NetlinkSocket>(socket);
      if (registration.socket == nullptr) {
        if (socket == nullptr)
          return Answer{call.process.files().natively_open(event->signal) ? -ENOTSOCK : -EBADF};
        return Answer{std::dynamic_pointer_cast<Socket>(socket) != nullptr ? -EINVAL : -ENOTSOCK};
      }
    }
  }
  const auto file = call.file_of_kind<QueueFile>(call.as_int(0));
  if (file == nullptr) return Answer{-EBADF};
  PosixQueue& queue = file->queue();
  if (call.arguments[1] == 0) {
    queue.unregister(call.process.pid());
    return Answer{0};
  }
  if (queue.registration()) return Answer{-EBUSY};
  queue.register_process(std::move(registration));
  return Answer{0};
}

CallOutcome sys_mq_attributes(CallContext& call) {
  std::optional<mq_attr> wanted;
  if (call.arguments[1] != 0) {
    wanted = call.process.memory().load<mq_attr>(call.address(1));
    if (!wanted) return Answer{-EFAULT};
    if ((wanted->mq_flags & ~std::int64_t{O_NONBLOCK}) != 0) return Answer{-EINVAL};
  }
  const auto file = call.file_of_kind<QueueFile>(call.as_int(0));
  if (file == nullptr) return Answer{-EBADF};
  mq_attr before{};
  before.mq_flags = file->nonblocking() ? O_NONBLOCK : 0;
  before.mq_maxmsg = file->queue().most;
  before.mq_msgsize = file->queue().largest;
  before.mq_curmsgs = static_cast<std::int64_t>(file->queue().size());
  if (wanted) file->set_nonblocking((wanted->mq_flags & O_NONBLOCK) != 0);
  return Answer{call.arguments[2] == 0 || call.process.memory().store(call.address(2), before) ? 0 : -EFAULT};
}

}  // namespace verbatim::supervisor
