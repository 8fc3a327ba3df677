#include "sim/supervisor/kernel/futex.h"

#include <algorithm>
#include <iterator>

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
    const auto found = std::ranges::find(queue, &thread, &Sleeper::thread);
    if (found != queue.end()) return &*found;
  }
  return nullptr;
}

template <class Predicate>
void FutexTable::erase(Predicate is_erased) {
  for (auto& [key, queue] : queues_) std::erase_if(queue, is_erased);
  std::erase_if(queues_, [](const auto& entry) { return entry.second.empty(); });
}

void FutexTable::forget(const Thread& thread) {
  erase([&](const Sleeper& sleeper) { return sleeper.thread == &thread; });
}

void FutexTable::forget(const Process& process) {
  erase([&](const Sleeper& sleeper) { return &sleeper.thread->process() == &process; });
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

int FutexTable::requeue(const FutexKey& from, const FutexKey& to, int limit) {
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
  const auto it = queues_.find(key);
  *more = false;
  if (it == queues_.end()) return nullptr;
  const auto is_asleep = [](const Sleeper& sleeper) { return !sleeper.woken; };
  const auto first = std::ranges::find_if(it->second, is_asleep);
  if (first == it->second.end()) return nullptr;
  *more = std::any_of(std::next(first), it->second.end(), is_asleep);
  return first->thread;
}

}  // namespace verbatim::supervisor
