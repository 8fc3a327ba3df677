#include "sim/supervisor/kernel/futex.h"

#include <algorithm>

#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

FutexKey FutexTable::key_of(Process& process, std::uint64_t address, bool shared) {
  const FutexKey own{0, process.pid(), address};
  if (!shared) return own;
  const auto mapping = process.memory().mapping_at(address);
  if (!mapping || !mapping->is_shared) return own;
  return {mapping->device + 1, mapping->inode, mapping->offset + (address - mapping->begin)};
}

FutexTable::Sleeper* FutexTable::find(const Thread& thread) {
  for (auto& [key, queue] : queues_) {
    for (Sleeper& sleeper : queue) {
      if (sleeper.thread == &thread) return &sleeper;
    }
  }
  return nullptr;
}

void FutexTable::forget(const Thread& thread) {
  for (auto& [key, queue] : queues_)
    std::erase_if(queue, [&](const Sleeper& s) { return s.thread == &thread; });
  std::erase_if(queues_, [](const auto& entry) { return entry.second.empty(); });
}

void FutexTable::forget(const Process& process) {
  for (auto& [key, queue] : queues_) {
    std::erase_if(queue, [&](const Sleeper& s) { return &s.thread->process() == &process; });
  }
  std::erase_if(queues_, [](const auto& entry) { return entry.second.empty(); });
}

int FutexTable::wake(const FutexKey& key, int limit, std::uint32_t mask) {
  const auto it = queues_.find(key);
  if (it == queues_.end()) return 0;
  int n = 0;
  for (Sleeper& sleeper : it->second) {
    if (n >= limit) break;
    if (sleeper.woken || (sleeper.mask & mask) == 0) continue;
    sleeper.woken = true;
    sleeper.thread->wake();
    ++n;
  }
  return n;
}

int FutexTable::move(const FutexKey& from, const FutexKey& to, int limit) {
  const auto it = queues_.find(from);
  if (it == queues_.end() || from == to) return 0;
  auto& target = queues_[to];
  int n = 0;
  std::erase_if(it->second, [&](const Sleeper& sleeper) {
    if (n >= limit || sleeper.woken) return false;
    target.push_back(sleeper);
    ++n;
    return true;
  });
  std::erase_if(queues_, [](const auto& entry) { return entry.second.empty(); });
  return n;
}

Thread* FutexTable::first(const FutexKey& key, bool* more) {
  Thread* found = nullptr;
  *more = false;
  const auto it = queues_.find(key);
  if (it == queues_.end()) return nullptr;
  for (const Sleeper& sleeper : it->second) {
    if (sleeper.woken) continue;
    *more = found != nullptr;
    if (found != nullptr) break;
    found = sleeper.thread;
  }
  return found;
}

}  // namespace verbatim::supervisor
