#include "sim/supervisor/kernel/sysv_ipc.h"

#include <fmt/format.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include <algorithm>

#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

bool IpcPermissions::allow(const Credentials& who, std::uint32_t wanted) const {
  const std::uint32_t asked = (wanted >> 6 | wanted >> 3 | wanted) & 7;
  const UserId user = who.users().effective;
  std::uint32_t granted = mode;
  if (user == creator || user == owner) {
    granted >>= 6;
  } else if (who.is_in_group(creating_group) || who.is_in_group(group)) {
    granted >>= 3;
  }
  return (asked & ~granted) == 0 || who.may(kCapIpcOwner);
}

bool IpcPermissions::belong_to(const Credentials& who) const {
  const UserId user = who.users().effective;
  return user == creator || user == owner || who.may(kCapSysAdmin);
}

int IpcPermissions::set(const Credentials& who, const ipc_perm& wanted) {
  if (!belong_to(who)) return -EPERM;
  if (wanted.uid == kNoUser || wanted.gid == kNoUser) return -EINVAL;
  owner = wanted.uid;
  group = wanted.gid;
  mode = wanted.mode & 0777u;
  return 0;
}

ipc_perm IpcPermissions::to_ipc_perm(std::uint32_t more_mode) const {
  ipc_perm permissions{};
  permissions.__key = key;
  permissions.uid = owner;
  permissions.gid = group;
  permissions.cuid = creator;
  permissions.cgid = creating_group;
  permissions.mode = static_cast<decltype(permissions.mode)>(mode | more_mode);
  permissions.__seq = static_cast<decltype(permissions.__seq)>(id >> 15);
  return permissions;
}

std::uint32_t SharedSegment::state_bits() const {
  constexpr std::uint32_t kDestroyed = 01000, kLocked = 02000;  // SHM_DEST, SHM_LOCKED
  return (is_doomed ? kDestroyed : 0) | (is_locked ? kLocked : 0);
}

std::optional<int> SemaphoreSet::apply(std::uint32_t pid, std::span<const Operation> operations, std::int64_t now) {
  std::vector<std::uint16_t> after = values;
  const auto known = undone_.find(pid);
  std::vector<int> undone = known != undone_.end() ? known->second : std::vector<int>(values.size());
  for (const Operation& operation : operations) {
    const int before = after[operation.number], result = before + operation.change;
    if ((operation.change == 0 && before != 0) || result < 0) {
      obstacle_ = operation;
      if ((operation.flags & IPC_NOWAIT) != 0) return -EAGAIN;
      return std::nullopt;
    }
    if (result > kHighest) return -ERANGE;
    if ((operation.flags & SEM_UNDO) != 0) {
      int& undo = undone[operation.number];
      undo -= operation.change;
      if (undo < -kHighest - 1 || undo > kHighest) return -ERANGE;
    }
    after[operation.number] = static_cast<std::uint16_t>(result);
  }
  const bool changes = after != values;
  values = std::move(after);
  for (const Operation& operation : operations) pids[operation.number] = pid;
  const bool undoes = std::ranges::any_of(operations, [](const Operation& one) { return (one.flags & SEM_UNDO) != 0; });
  if (undoes) undone_[pid] = std::move(undone);
  operated_at = now;
  if (changes) notify();
  return 0;
}

void SemaphoreSet::await(const Thread& thread, const Operation& first_that_fails) {
  const std::uint32_t pid = const_cast<Thread&>(thread).process().pid();
  waiting_[&thread] = {pid, first_that_fails.number, first_that_fails.change == 0};
}

int SemaphoreSet::count_waiting(unsigned short number, bool for_zero) const {
  return static_cast<int>(std::ranges::count_if(waiting_, [&](const auto& entry) {
    return entry.second.number == number && entry.second.for_zero == for_zero;
  }));
}

void SemaphoreSet::set(std::size_t number, std::uint16_t value, std::uint32_t pid) {
  values[number] = value;
  pids[number] = pid;
  for (auto& [process, undone] : undone_) undone[number] = 0;
  notify();
}

void SemaphoreSet::undo(std::uint32_t pid, std::int64_t now) {
  std::erase_if(waiting_, [&](const auto& entry) { return entry.second.pid == pid; });
  const auto it = undone_.find(pid);
  if (it == undone_.end()) return;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (it->second[i] == 0) continue;
    values[i] = static_cast<std::uint16_t>(std::clamp(values[i] + it->second[i], 0, kHighest));
    pids[i] = pid;
  }
  undone_.erase(it);
  operated_at = now;
  notify();
}

void MessageQueue::put(Message message) {
  bytes += message.bytes.size();
  messages.push_back(std::move(message));
  notify();
}

std::list<MessageQueue::Message>::iterator MessageQueue::find(std::int64_t type, std::int64_t flags) {
  if ((flags & MSG_COPY) != 0) {  // `type` is an index
    if (type < 0 || static_cast<std::uint64_t>(type) >= messages.size()) return messages.end();
    return std::next(messages.begin(), type);
  }
  if (type == 0) return messages.begin();
  if (type > 0) {
    const bool others = (flags & MSG_EXCEPT) != 0;
    return std::ranges::find_if(messages, [&](const Message& one) { return (one.type == type) != others; });
  }
  // The first message of the lowest type that is not above -type.
  const std::int64_t highest = type == INT64_MIN ? INT64_MAX : -type;
  auto found = messages.end();
  for (auto it = messages.begin(); it != messages.end(); ++it) {
    if (it->type <= highest && (found == messages.end() || it->type < found->type)) found = it;
  }
  return found;
}

void MessageQueue::take(std::list<Message>::iterator message) {
  bytes -= message->bytes.size();
  messages.erase(message);
  notify();
}

std::uint64_t SysvIpc::pages_of_all_segments() const {
  std::uint64_t pages = 0;
  for (const auto& [slot, segment] : segments.slots()) pages += (segment->size + 4095) / 4096;
  return pages;
}

std::int64_t SysvIpc::semaphores_in_all() const {
  std::int64_t count = 0;
  for (const auto& [slot, set] : semaphores.slots()) count += static_cast<std::int64_t>(set->values.size());
  return count;
}

void SysvIpc::attach(std::uint32_t pid, std::uint64_t address, const std::shared_ptr<SharedSegment>& segment,
                     std::int64_t now) {
  // SHM_REMAP has replaced the segment attached there.
  if (attached_.contains(pid) && attached_[pid].contains(address)) detach(pid, address, now);
  attached_[pid][address] = segment;
  ++segment->attachments;
  segment->attached_at = now;
  segment->last_pid = pid;
}

std::shared_ptr<SharedSegment> SysvIpc::detach(std::uint32_t pid, std::uint64_t address, std::int64_t now) {
  const auto process = attached_.find(pid);
  if (process == attached_.end()) return nullptr;
  const auto it = process->second.find(address);
  if (it == process->second.end()) return nullptr;
  const auto segment = it->second;
  process->second.erase(it);
  --segment->attachments;
  segment->detached_at = now;
  segment->last_pid = pid;
  remove_if_unused(segment);
  return segment;
}

void SysvIpc::copy_attachments(std::uint32_t from, std::uint32_t to, std::int64_t now) {
  const auto it = attached_.find(from);
  if (it == attached_.end()) return;
  const auto attached = it->second;
  for (const auto& [address, segment] : attached) {
    attach(to, address, segment, now);
    segment->last_pid = from;
  }
}

void SysvIpc::detach_all(std::uint32_t pid, std::int64_t now) {
  const auto it = attached_.find(pid);
  if (it == attached_.end()) return;
  while (!it->second.empty()) detach(pid, it->second.begin()->first, now);
  attached_.erase(it);
}

void SysvIpc::end(std::uint32_t pid, std::int64_t now) {
  detach_all(pid, now);
  for (const auto& [slot, set] : semaphores.slots()) set->undo(pid, now);
}

void SysvIpc::remove_if_unused(const std::shared_ptr<SharedSegment>& segment) {
  if (segment->is_doomed && segment->attachments == 0) segments.remove(segment->permissions.id);
}

std::string SysvIpc::segment_lines() const {
  std::string text =
      "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime"
      "      ctime                   rss                  swap\n";
  for (const auto& [slot, one] : segments.slots()) {
    const IpcPermissions& its = one->permissions;
    text += fmt::format("{:10} {:10}  {:4o} {:21} {:5} {:5}  {:5} {:5} {:5} {:5} {:5} {:10} {:10} {:10} {:21} {:21}\n", its.key,
                        its.id, its.mode | one->state_bits(), one->size, one->creator_pid, one->last_pid, one->attachments,
                        its.owner, its.group, its.creator, its.creating_group, one->attached_at, one->detached_at,
                        one->changed_at, one->length(), 0);
  }
  return text;
}

std::string SysvIpc::semaphore_lines() const {
  std::string text = "       key      semid perms      nsems   uid   gid  cuid  cgid      otime      ctime\n";
  for (const auto& [slot, one] : semaphores.slots()) {
    const IpcPermissions& its = one->permissions;
    text += fmt::format("{:10} {:10}  {:4o} {:10} {:5} {:5} {:5} {:5} {:10} {:10}\n", its.key, its.id, its.mode,
                        one->values.size(), its.owner, its.group, its.creator, its.creating_group, one->operated_at,
                        one->changed_at);
  }
  return text;
}

std::string SysvIpc::queue_lines() const {
  std::string text =
      "       key      msqid perms      cbytes       qnum lspid lrpid   uid   gid  cuid  cgid      stime      rtime"
      "      ctime\n";
  for (const auto& [slot, one] : queues.slots()) {
    const IpcPermissions& its = one->permissions;
    text += fmt::format("{:10} {:10}  {:4o}  {:10} {:10} {:5} {:5} {:5} {:5} {:5} {:5} {:10} {:10} {:10}\n", its.key, its.id,
                        its.mode, one->bytes, one->messages.size(), one->sender, one->receiver, its.owner, its.group,
                        its.creator, its.creating_group, one->sent_at, one->received_at, one->changed_at);
  }
  return text;
}

}  // namespace verbatim::supervisor
