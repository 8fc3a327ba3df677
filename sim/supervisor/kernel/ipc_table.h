// Common part of System V shared memory, semaphores and message queues of one host: keys, ids, owners and
// permissions, as in Linux' ipc/util.c.
#pragma once

#include <sys/ipc.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>

#include "sim/supervisor/spec/credentials.h"

namespace verbatim::supervisor {

inline constexpr int kCapIpcLock = 14, kCapIpcOwner = 15, kCapSysAdmin = 21, kCapSysResource = 24;

// Owner, creator and mode (nine bits) of one object.
struct IpcPermissions {
  IpcPermissions(key_t its_key, std::uint32_t its_mode, const Credentials& maker)
      : key(its_key),
        mode(its_mode & 0777),
        owner(maker.users().effective),
        group(maker.groups().effective),
        creator(owner),
        creating_group(group) {}

  key_t key;
  std::uint32_t mode;
  UserId owner, group, creator, creating_group;
  int id = -1;  // assigned by the table

  // True if `who` has the access that the bits 0444 (read) and 0222 (write) of `wanted` request.
  bool allow(const Credentials& who, std::uint32_t wanted) const;
  // True if `who` may change and remove the object.
  bool belong_to(const Credentials& who) const;
  // IPC_SET; 0 or -errno.
  int set(const Credentials& who, const ipc_perm& wanted);
  ipc_perm to_ipc_perm(std::uint32_t more_mode = 0) const;
};

// The objects of one kind. Bits 0-14 of an id are the slot, the bits above count how often slot numbering has
// wrapped. Slots are assigned cyclically, which keeps a removed id unused for long.
template <class Object>
class IpcTable {
 public:
  explicit IpcTable(std::size_t most) : most_(most) {}

  // nullptr: no such object, or removed.
  std::shared_ptr<Object> find(int id) const {
    const auto object = id < 0 ? nullptr : at(id & kSlotMask);
    return object != nullptr && object->permissions.id == id ? object : nullptr;
  }
  std::shared_ptr<Object> at(int slot) const {
    const auto it = slots_.find(slot);
    return it == slots_.end() ? nullptr : it->second;
  }
  std::shared_ptr<Object> find_key(key_t key) const {
    for (const auto& [slot, object] : slots_) {
      if (key != IPC_PRIVATE && object->permissions.key == key) return object;
    }
    return nullptr;
  }
  // The new id, or -ENOSPC.
  int add(std::shared_ptr<Object> object) {
    if (slots_.size() >= most_) return -ENOSPC;
    // Linux wraps after 1.5 times the number of slots in use, at least after 64.
    const int end = static_cast<int>(std::min(most_, std::max<std::size_t>(kLeastCycle, slots_.size() * 3 / 2)));
    int slot = last_ + 1 < end ? last_ + 1 : 0;
    while (slots_.contains(slot)) slot = slot + 1 < end ? slot + 1 : 0;
    if (slot <= last_) sequence_ = sequence_ + 1 < kMostSequences ? sequence_ + 1 : 0;
    last_ = slot;
    const int id = sequence_ << kSlotBits | slot;
    object->permissions.id = id;
    slots_[slot] = std::move(object);
    return id;
  }
  void remove(int id) { slots_.erase(id & kSlotMask); }

  const std::map<int, std::shared_ptr<Object>>& slots() const { return slots_; }
  int highest_slot() const { return slots_.empty() ? 0 : slots_.rbegin()->first; }

 private:
  static constexpr int kSlotBits = 15, kSlotMask = (1 << kSlotBits) - 1, kMostSequences = 1 << 16;
  static constexpr std::size_t kLeastCycle = 64;
  std::size_t most_;
  std::map<int, std::shared_ptr<Object>> slots_;
  int last_ = -1, sequence_ = 0;
};

}  // namespace verbatim::supervisor
