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

// Interest of an epoll instance in a file (epoll_file.h).
class EpollMark {
 public:
  virtual ~EpollMark() = default;
  // The file has changed. True: a waiting thread takes the change.
  virtual bool note_change() = 0;
  // EPOLLEXCLUSIVE.
  virtual bool is_exclusive() const = 0;
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
    mark();
    for (Waiter* waiter : waiters_) waiter->wake(by_adapter_event);
  }
  bool has_waiters() const { return !waiters_.empty(); }
  // Counts the changes; edge-triggered epoll compares it.
  std::uint64_t generation() const { return generation_; }

  // Marks of epoll instances that watch the file, which learn the order of changes before any waiter runs. Exclusive ones
  // follow all others, and only as many of them learn of a change as are needed for one to wake a thread.
  void add_mark(std::shared_ptr<EpollMark> mark);
  void remove_mark(const EpollMark& mark);
  void mark();

  // An optional waiter that lives as long as the file is open. It is added and removed as any other.
  const std::shared_ptr<Waiter>& follower() const { return follower_; }
  void set_follower(std::shared_ptr<Waiter> follower) { follower_ = std::move(follower); }

 private:
  std::vector<Waiter*> waiters_;
  std::vector<std::shared_ptr<EpollMark>> marks_;
  std::shared_ptr<Waiter> follower_;
  std::uint64_t generation_ = 0;
};

inline void WaitQueue::add_mark(std::shared_ptr<EpollMark> mark) {
  const auto first_exclusive = std::ranges::find_if(marks_, [](const auto& one) { return one->is_exclusive(); });
  marks_.insert(mark->is_exclusive() ? marks_.end() : first_exclusive, std::move(mark));
}

inline void WaitQueue::remove_mark(const EpollMark& mark) {
  std::erase_if(marks_, [&](const auto& one) { return one.get() == &mark; });
}

inline void WaitQueue::mark() {
  for (const auto& one : marks_) {
    if (one->note_change() && one->is_exclusive()) return;
  }
}

}  // namespace verbatim::supervisor
