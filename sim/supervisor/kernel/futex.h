// Threads asleep on futex words, in the order in which they came. A word is known by the memory behind it:
// the process and the address, or, in memory that processes share, the file and the offset.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>

namespace verbatim::supervisor {

class Process;
class Thread;

struct FutexKey {
  std::uint64_t device = 0;  // 0: memory of one process
  std::uint64_t object = 0;  // inode, or process id
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

  // `shared`: the word may lie in memory that other processes map too; otherwise the program says it does
  // not.
  static FutexKey key_of(Process& process, std::uint64_t address, bool shared);

  void sleep(const FutexKey& key, Thread& thread, std::uint32_t mask) {
    queues_[key].push_back({&thread, mask, false});
  }
  Sleeper* find(const Thread& thread);
  void forget(const Thread& thread);
  void forget(const Process& process);
  // How many were woken; each is still in the table until it has noticed.
  int wake(const FutexKey& key, int limit, std::uint32_t mask);
  // At most `limit` of those still asleep sleep on another word from now on; how many.
  int move(const FutexKey& from, const FutexKey& to, int limit);
  // The first that is still asleep, or nullptr; whether there is one more.
  Thread* first(const FutexKey& key, bool* more);

 private:
  std::map<FutexKey, std::deque<Sleeper>> queues_;
};

}  // namespace verbatim::supervisor
