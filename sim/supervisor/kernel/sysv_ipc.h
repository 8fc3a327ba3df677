// System V shared memory, semaphores and message queues of one host (svipc(7)), with the default limits of
// Linux (trees/kernel_tree.cc shows them). A thread that waits, waits on the object, a `VirtualFile` without
// descriptors.
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

// A segment is a memfd that attached processes map.
struct SharedSegment {
  static constexpr std::size_t kMost = 4096;                             // SHMMNI
  static constexpr std::uint64_t kLargest = 18446744073692774399ull;     // SHMMAX
  IpcPermissions permissions;
  std::uint64_t size;                         // as requested, bytes
  std::uint64_t page;                         // page size, bytes
  std::shared_ptr<const RealFile> memory;
  std::uint32_t creator_pid, last_pid = 0;
  std::int64_t attached_at = 0, detached_at = 0, changed_at = 0;  // seconds since 1970, 0: never
  std::uint64_t attachments = 0;
  bool is_doomed = false;  // IPC_RMID: removed with its last attachment
  bool is_locked = false;  // SHM_LOCK
  std::shared_ptr<const void> pages{};  // pages of the host's pool that it holds

  std::uint64_t length() const { return (size + page - 1) / page * page; }
  std::uint32_t state_bits() const;  // SHM_DEST and SHM_LOCKED
};

class SemaphoreSet final : public VirtualFile {
 public:
  static constexpr std::size_t kMost = 32000;  // SEMMNI
  static constexpr std::int64_t kMostInSet = 32000, kMostInAll = 1'024'000'000, kMostOperations = 500;  // SEMMSL, SEMMNS, SEMOPM
  static constexpr int kHighest = 32767;       // SEMVMX; limit of undo values, too

  SemaphoreSet(IpcPermissions its_permissions, std::size_t count, std::int64_t now)
      : permissions(its_permissions), values(count), pids(count), changed_at(now) {}

  std::uint32_t readiness() const override { return 0; }
  std::string describe() const override { return "semaphore set " + std::to_string(permissions.id); }

  struct Operation {
    unsigned short number;
    short change;
    short flags;
  };
  // Applies all operations or none. 0, -errno, or nullopt: the thread must wait.
  std::optional<int> apply(std::uint32_t pid, std::span<const Operation> operations, std::int64_t now);
  // The thread waits until the semaphore is zero, or has grown (GETZCNT, GETNCNT).
  void await(const Thread& thread, const Operation& first_that_fails);
  void stop_awaiting(const Thread& thread) { waiting_.erase(&thread); }
  int count_waiting(unsigned short number, bool for_zero) const;
  const Operation& obstacle() const { return obstacle_; }  // operation at which the last apply() failed

  // SETVAL, SETALL: also clears undo values.
  void set(std::size_t number, std::uint16_t value, std::uint32_t pid);
  // The process has ended: applies its SEM_UNDO values and forgets its waiting threads.
  void undo(std::uint32_t pid, std::int64_t now);
  void removed() { notify(); }

  IpcPermissions permissions;
  std::vector<std::uint16_t> values;
  std::vector<std::uint32_t> pids;  // last process to operate on each
  std::int64_t operated_at = 0, changed_at;

 private:
  struct Waiting {
    std::uint32_t pid;
    unsigned short number;
    bool for_zero;
  };
  std::map<std::uint32_t, std::vector<int>> undone_;  // by process: values that its end adds to each semaphore
  std::map<const Thread*, Waiting> waiting_;          // only counted: the order has no effect
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
  // The message that msgrcv(2) selects by `type` and `flags`; end(): none.
  std::list<Message>::iterator find(std::int64_t type, std::int64_t flags);
  void take(std::list<Message>::iterator message);
  void changed() { notify(); }

  IpcPermissions permissions;
  std::list<Message> messages;
  std::uint64_t bytes = 0, room = kRoom;
  std::uint32_t sender = 0, receiver = 0;  // process ids
  std::int64_t sent_at = 0, received_at = 0, changed_at;
};

// All objects of one host.
class SysvIpc {
 public:
  IpcTable<SharedSegment> segments{SharedSegment::kMost};
  IpcTable<SemaphoreSet> semaphores{SemaphoreSet::kMost};
  IpcTable<MessageQueue> queues{MessageQueue::kMost};

  std::uint64_t pages_of_all_segments() const;
  std::int64_t semaphores_in_all() const;

  // Attachments of a process, by address. `now`: seconds since 1970.
  void attach(std::uint32_t pid, std::uint64_t address, const std::shared_ptr<SharedSegment>& segment, std::int64_t now);
  // Returns the segment that was attached at `address`, or nullptr.
  std::shared_ptr<SharedSegment> detach(std::uint32_t pid, std::uint64_t address, std::int64_t now);
  // fork: the copy has the same attachments.
  void copy_attachments(std::uint32_t from, std::uint32_t to, std::int64_t now);
  // exec: drops all attachments.
  void detach_all(std::uint32_t pid, std::int64_t now);
  void end(std::uint32_t pid, std::int64_t now);
  // Removes a segment that is marked for removal and has no attachment.
  void remove_if_unused(const std::shared_ptr<SharedSegment>& segment);

  // Content of /proc/sysvipc/.
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
