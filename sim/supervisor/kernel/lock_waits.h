// Threads that wait for record locks (F_SETLKW), to detect deadlocks as Linux does: a request that closes a cycle of waiting
// processes fails with EDEADLK. The locks are those of the machine's kernel, and a waiting thread tries from time to time
// (verbs_shim/runtime/dispatch.cc). The latest request of a cycle therefore fails after all others have tried again since it
// began: nothing that one of them waits for can have been released meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

namespace verbatim::supervisor {

class LockWaits {
 public:
  // Thread `tid` of process `owner` has found the lock taken by process `holder`. True: the request must fail.
  bool note(std::uint32_t owner, std::uint32_t tid, std::uint32_t holder);
  void forget(std::uint32_t owner, std::uint32_t tid) { waits_.erase({owner, tid}); }

 private:
  struct Wait {
    std::uint32_t holder = 0;
    std::uint64_t began = 0, tried = 0;  // numbers of tries
  };
  const Wait* wait_of(std::uint32_t owner) const;

  std::map<std::pair<std::uint32_t, std::uint32_t>, Wait> waits_;  // by process and thread
  std::uint64_t tries_ = 0;
};

}  // namespace verbatim::supervisor
