// System V shared memory, semaphores and message queues of one host (svipc(7)), with the limits of a Linux that nobody has
// configured (kernel_tree.cc tells them). What waits, waits on the object: a `VirtualFile` without descriptors.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/supervisor/files/passage.h"
#include "sim/supervisor/files/virtual_file.h"
#include "sim/supervisor/kernel/ipc_table.h"

namespace verbatim::supervisor {

class Thread;

// A segment is a memory file, which the processes that attach it map.
struct SharedSegment {
  static constexpr std::size_t kMost = 4096;                             // SHMMNI
  static constexpr std::uint64_t kLargest = 18446744073692774399ull;     // SHMMAX
  IpcPermissions permissions;
  std::uint64_t size;                         // as asked for, bytes
  std::uint64_t page;                         // bytes of its pages
  std::shared_ptr<const RealFile> memory;
  std::uint32_t creator_pid, last_pid = 0;
  std::int64_t attached_at = 0, detached_at = 0, changed_at = 0;  // seconds since 1970, 0: never
  std::uint64_t attachments = 0;
  bool is_doomed = false;  // IPC_RMID: goes with its last attachment
  bool is_locked = false;  // SHM_LOCK
  std::shared_ptr<const void> pages{};  // that it holds of the host's pool

  std::uint64_t length() const { return (size + page - 1) / page * page; }
  std::uint32_t state_bits() const;  // SHM_DEST and SHM_LOCKED
};

class SemaphoreSet final : public VirtualFile {
 public:
  static constexpr std::size_t kMost = 32000;  // SEMMNI
  static constexpr std::int64_t kMostInSet = 32000, kMostInAll = 1'024'000'000, kMostOperations = 500;  // SEMMSL, SEMMNS, SEMOPM
  static constexpr int kHighest = 32767;       // SEMVMX, and the most that is undone

  SemaphoreSet(IpcPermissions its_permissions, std::size_t count, std::int64_t now)
      : permissions(its_permissions), values(count), pids(count), changed_at(now) {}

  std::uint32_t readiness() const override { return 0; }
  std::string describe() const override { return "semaphore set " + std::to_string(permissions.id); }

  struct Operation {
    unsigned short number;
    short change;
    short flags;
  };
  // All of them or none. 0, -errno, or nothing: the thread has to wait.
  std::optional<int> apply(std::uint32_t pid, std::span<const Operation> operations, std::int64_t now);
  // Who waits until the semaphore is zero, or has grown.
  void await(const Thread& thread, const Operation& first_that_fails);
  void stop_awaiting(const Thread& thread) { waiting_.erase(&thread); }
  int count_waiting(unsigned short number, bool for_zero) const;
  const Operation& obstacle() const { return obstacle_; }  // of the last apply() that found nothing

  // SETVAL, SETALL.
  void set(std::size_t number, std::uint16_t value, std::uint32_t pid);
  // The process has ended: what it wanted undone is undone, and nobody of it waits.
  void undo(std::uint32_t pid, std::int64_t now);
  void removed() { notify(); }

  IpcPermissions permissions;
  std::vector<std::uint16_t> values;
  std::vector<std::uint32_t> pids;  // who changed each last
  std::int64_t operated_at = 0, changed_at;

 private:
  struct Waiting {
    std::uint32_t pid;
    unsigned short number;
    bool for_zero;
  };
  std::map<std::uint32_t, std::vector<int>> undone_;  // by process: what its end adds to each
  std::map<const Thread*, Waiting> waiting_;          // counted, never walked for an effect
  Operation obstacle_{};
};

class MessageQueue final : public VirtualFile {
 public:
  static constexpr std::size_t kMost = 32000;               // MSGMNI
  static constexpr std::uint64_t kLargest = 8192, kRoom = 16384;  // MSGMAX, MSGMNB

  MessageQueue(IpcPermissions its_permissions, std::int64_t now) : permissions(its_permissions), changed_at(now) {}

  std::uint32_t readiness() const override { return 0; }
  std::string describe() const override { return "message queue " + std::to_string(permissions.id); }

  struct Message {
    std::int64_t type;
    std::vector<std::byte> bytes;
  };
  bool has_room(std::size_t size) const { return bytes + size <= room && messages.size() + 1 <= room; }
  void put(Message message);
  // What msgrcv(2) means by `type` and `flags`; the end: there is none.
  std::list<Message>::iterator find(std::int64_t type, std::int64_t flags);
  void take(std::list<Message>::iterator message);
  void changed() { notify(); }

  IpcPermissions permissions;
  std::list<Message> messages;
  std::uint64_t bytes = 0, room = kRoom;
  std::uint32_t sender = 0, receiver = 0;  // process ids
  std::int64_t sent_at = 0, received_at = 0, changed_at;
};

// Of one host.
class SysvIpc {
 public:
  IpcTable<SharedSegment> segments{SharedSegment::kMost};
  IpcTable<SemaphoreSet> semaphores{SemaphoreSet::kMost};
  IpcTable<MessageQueue> queues{MessageQueue::kMost};

  std::uint64_t pages_of_all_segments() const;
  std::int64_t semaphores_in_all() const;

  // What a process has attached, by address. `now` in seconds since 1970.
  void attach(std::uint32_t pid, std::uint64_t address, const std::shared_ptr<SharedSegment>& segment, std::int64_t now);
  // The segment that was attached at `address`; nullptr: none was.
  std::shared_ptr<SharedSegment> detach(std::uint32_t pid, std::uint64_t address, std::int64_t now);
  // A copy of the process has its memory, too.
  void copy_attachments(std::uint32_t from, std::uint32_t to, std::int64_t now);
  // The process has ended or become another program.
  void detach_all(std::uint32_t pid, std::int64_t now);
  void end(std::uint32_t pid, std::int64_t now);
  // Segments without attachments that are to go do so.
  void remove_if_unused(const std::shared_ptr<SharedSegment>& segment);

  // /proc/sysvipc/.
  std::vector<std::pair<const char*, std::function<std::string()>>> lines() const {
    return {{"shm", [this] { return segment_lines(); }},
            {"sem", [this] { return semaphore_lines(); }},
            {"msg", [this] { return queue_lines(); }}};
  }
  std::string segment_lines() const;
  std::string semaphore_lines() const;
  std::string queue_lines() const;

 private:
  std::map<std::uint32_t, std::map<std::uint64_t, std::shared_ptr<SharedSegment>>> attached_;
};

}  // namespace verbatim::supervisor
