// The waiters of one file, woken by each of its changes in the order in which they were added.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sim/core/check.h"

namespace verbatim::supervisor {

// A thread that waits for files, or another object that follows their changes.
class Waiter {
 public:
  // A file may have become ready. `by_adapter_event`: through an event of an adapter.
  virtual void wake(bool by_adapter_event = false) = 0;

 protected:
  ~Waiter() = default;
};

class WaitQueue {
 public:
  ~WaitQueue() {
    if (follower_ != nullptr) remove(*follower_);
    CHECK(waiters_.empty());
  }

  void add(Waiter& waiter) {
    if (std::find(waiters_.begin(), waiters_.end(), &waiter) == waiters_.end()) waiters_.push_back(&waiter);
  }
  void remove(Waiter& waiter) { std::erase(waiters_, &waiter); }
  // The file has changed and may be more ready. `by_adapter_event`: see Waiter::wake().
  void wake(bool by_adapter_event) {
    ++generation_;
    for (Waiter* waiter : waiters_) waiter->wake(by_adapter_event);
  }
  // Counts the changes; edge-triggered epoll compares it.
  std::uint64_t generation() const { return generation_; }

  // An optional waiter that lives as long as the file is open. It is added and removed as any other.
  const std::shared_ptr<Waiter>& follower() const { return follower_; }
  void set_follower(std::shared_ptr<Waiter> follower) { follower_ = std::move(follower); }

 private:
  std::vector<Waiter*> waiters_;
  std::shared_ptr<Waiter> follower_;
  std::uint64_t generation_ = 0;
};

}  // namespace verbatim::supervisor
