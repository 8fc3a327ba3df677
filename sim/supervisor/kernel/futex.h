// Threads that sleep on futex words, in order of arrival. A key names the memory behind the word: process and
// address, or file and offset if processes share the memory.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>

namespace verbatim::supervisor {

class Process;
class Thread;

struct FutexKey {
  std::uint64_t device = 0;  // 0: private memory of one process
  std::uint64_t object = 0;  // inode or process id
  std::uint64_t offset = 0;
  friend auto operator<=>(const FutexKey&, const FutexKey&) = default;
};

class FutexTable {
 public:
  struct Sleeper {
    Thread* thread;
    std::uint32_t mask;
    bool woken;
  };

  // `shared`: false for FUTEX_PRIVATE_FLAG; otherwise other processes may map the word, too.
  static FutexKey key_of(Process& process, std::uint64_t address, bool shared);

  void sleep(const FutexKey& key, Thread& thread, std::uint32_t mask) {
    queues_[key].push_back({&thread, mask, false});
  }
  Sleeper* find(const Thread& thread);
  void forget(const Thread& thread);
  void forget(const Process& process);
  // Returns the number of threads woken. A woken thread stays in the table until its call is tried again.
  int wake(const FutexKey& key, int limit, std::uint32_t mask);
  // Moves at most `limit` sleeping threads to another word; returns their number.
  int requeue(const FutexKey& from, const FutexKey& to, int limit);
  // The first thread that still sleeps, or nullptr; `more`: another one follows.
  Thread* first(const FutexKey& key, bool* more);

 private:
  template <class Predicate>
  void erase(Predicate is_erased);

  std::map<FutexKey, std::deque<Sleeper>> queues_;
};

}  // namespace verbatim::supervisor
