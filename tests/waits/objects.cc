// Loops of C++ programs: reactors, progress engines, coroutines.
#include <atomic>
#include <chrono>
#ifndef WAITS_WITHOUT_COROUTINES
#include <coroutine>
#endif
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <unordered_map>
#include <vector>

#include "tests/waits/waits.h"

namespace {

using Clock = std::chrono::steady_clock;

int chrono_deadline() {
  const auto end = Clock::now() + std::chrono::seconds(100);
  while (POLL(w.cq) == 0) {
    if (Clock::now() > end) return -1;
  }
  return 0;
}

int chrono_milliseconds() {
  const auto start = std::chrono::high_resolution_clock::now();
  while (POLL(w.cq) == 0) {
    const auto passed = std::chrono::high_resolution_clock::now() - start;
    if (std::chrono::duration_cast<std::chrono::milliseconds>(passed).count() > 100'000) return -1;
  }
  return 0;
}

int chrono_floating() {
  const auto start = std::chrono::system_clock::now();
  while (POLL(w.cq) == 0) {
    if (std::chrono::duration<double>(std::chrono::system_clock::now() - start).count() > 100.0) return -1;
  }
  return 0;
}

int lock_guard() {
  std::mutex mutex;
  for (;;) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (POLL(w.cq) != 0) return 0;
  }
}

int atomic_flag() {
  std::atomic_flag flag = ATOMIC_FLAG_INIT;
  for (;;) {
    while (flag.test_and_set(std::memory_order_acquire)) continue;
    const int n = POLL(w.cq);
    flag.clear(std::memory_order_release);
    if (n != 0) return n;
  }
}

struct Poller {
  virtual ~Poller() = default;
  virtual bool poll() = 0;
};
struct QueuePoller : Poller {
  explicit QueuePoller(ibv_cq* queue) : cq(queue) {}
  bool poll() override { return POLL(cq) != 0; }
  ibv_cq* cq;
};

int virtual_functions() {
  std::vector<std::unique_ptr<Poller>> pollers;
  pollers.push_back(std::make_unique<QueuePoller>(w.idle[0]));
  pollers.push_back(std::make_unique<QueuePoller>(w.cq));
  for (;;) {
    for (const auto& poller : pollers) {
      if (poller->poll()) return 0;
    }
  }
}

// TensorPipe's loop: deferred functions of the reactor's thread, then pollers until one makes progress.
struct Reactor {
  std::mutex mutex;
  std::deque<std::function<void()>> deferred;
  std::atomic<std::int64_t> deferred_count{0};
  std::list<std::function<bool()>> pollers;
  std::atomic<bool> closed{false};

  bool run_deferred() {
    std::unique_lock<std::mutex> lock(mutex);
    std::deque<std::function<void()>> functions;
    std::swap(functions, deferred);
    lock.unlock();
    for (auto& function : functions) function();
    deferred_count -= static_cast<std::int64_t>(functions.size());
    return !functions.empty();
  }
  bool poll_once() {
    for (auto& poller : pollers) {
      if (poller()) return true;
    }
    return deferred_count > 0 && run_deferred();
  }
};

int reactor() {
  Reactor reactor;
  reactor.pollers.push_back([&] {
    ibv_wc completions[32];
    const int n = ibv_poll_cq(w.cq, 32, completions);
    if (n > 0) reactor.closed = true;
    return n > 0;
  });
  reactor.pollers.push_back([&] { return POLL(w.idle[0]) > 0; });
  while (!reactor.closed) reactor.poll_once();
  return 0;
}

// The same with a new deque each turn, which is allocated.
int reactor_that_allocates() {
  Reactor reactor;
  reactor.pollers.push_back([&] {
    const int n = POLL(w.cq);
    if (n > 0) reactor.closed = true;
    return n > 0;
  });
  while (!reactor.closed) {
    reactor.run_deferred();
    reactor.poll_once();
  }
  return 0;
}

// Gloo's: pairs in busy-poll mode, each with a time-out.
struct Pair {
  std::mutex mutex;
  ibv_cq* cq;
  std::chrono::milliseconds timeout{100'000};
  bool done = false;
  explicit Pair(ibv_cq* queue) : cq(queue) {}
  void poll_completions() {
    const std::lock_guard<std::mutex> lock(mutex);
    ibv_wc completions[16];
    const int n = ibv_poll_cq(cq, 16, completions);
    if (n > 0) done = true;
  }
};

int gloo() {
  Pair pair(w.cq);
  const auto start = std::chrono::steady_clock::now();
  while (!pair.done) {
    pair.poll_completions();
    if (std::chrono::steady_clock::now() - start > pair.timeout) return -1;
  }
  return 0;
}

// A progress engine that walks the queues of all peers, under a lock, and counts.
struct Progress {
  std::map<int, ibv_cq*> queues;
  std::uint64_t turns = 0, polls = 0;
  bool turn() {
    ++turns;
    for (const auto& [rank, cq] : queues) {
      ++polls;
      if (POLL(cq) != 0) return true;
    }
    return false;
  }
};

int progress_of_peers() {
  Progress progress{{{3, w.idle[0]}, {1, w.idle[1]}, {2, w.cq}}};
  while (!progress.turn()) continue;
  return static_cast<int>(progress.turns * 3 + progress.polls);
}

int hashed_queues() {
  std::unordered_map<std::uint32_t, ibv_cq*> queues;
  queues[17] = w.cq;
  queues[40] = w.idle[0];
  for (;;) {
    for (const auto& [number, cq] : queues) {
      if (POLL(cq) != 0) return static_cast<int>(number);
    }
  }
}

// Timers by their time, as event loops have them; none is due.
int timer_queue() {
  using Entry = std::pair<Clock::time_point, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> timers;
  timers.push({Clock::now() + std::chrono::seconds(100), 1});
  timers.push({Clock::now() + std::chrono::seconds(200), 2});
  while (POLL(w.cq) == 0) {
    const auto now = Clock::now();
    if (timers.top().first <= now) timers.pop();
  }
  return static_cast<int>(timers.size());
}

#ifndef WAITS_WITHOUT_COROUTINES
struct Task {
  struct promise_type {
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> handle;
};

Task poller_of(ibv_cq* cq) {
  while (POLL(cq) == 0) co_await std::suspend_always{};
}

int coroutine() {
  Task task = poller_of(w.cq);
  while (!task.handle.done()) task.handle.resume();
  task.handle.destroy();
  return 0;
}

int coroutines_in_a_ring() {
  std::vector<Task> tasks{poller_of(w.idle[0]), poller_of(w.cq), poller_of(w.idle[1])};
  for (std::size_t i = 0;; i = (i + 1) % tasks.size()) {
    tasks[i].handle.resume();
    if (tasks[i].handle.done()) break;
  }
  for (Task& task : tasks) task.handle.destroy();
  return 0;
}

// A coroutine that has polled moves to the end of the queue.
int coroutines_in_a_deque() {
  std::deque<std::coroutine_handle<>> ready;
  std::vector<Task> tasks{poller_of(w.idle[0]), poller_of(w.cq)};
  for (Task& task : tasks) ready.push_back(task.handle);
  for (;;) {
    const auto next = ready.front();
    ready.pop_front();
    next.resume();
    if (next.done()) break;
    ready.push_back(next);
  }
  for (Task& task : tasks) task.handle.destroy();
  return 0;
}

#endif

int shared_state() {
  const auto done = std::make_shared<std::atomic<bool>>(false);
  const std::function<void()> look = [done] {
    if (POLL(w.cq) != 0) done->store(true);
  };
  while (!done->load()) {
    const auto copy = done;
    look();
  }
  return 0;
}

}  // namespace

extern "C" const wait_case kObjectCases[] = {{"chrono_deadline", chrono_deadline},
                                             {"chrono_milliseconds", chrono_milliseconds},
                                             {"chrono_floating", chrono_floating},
                                             {"lock_guard", lock_guard},
                                             {"atomic_flag", atomic_flag},
                                             {"virtual_functions", virtual_functions},
                                             {"reactor", reactor},
                                             {"reactor_that_allocates", reactor_that_allocates},
                                             {"gloo", gloo},
                                             {"progress_of_peers", progress_of_peers},
                                             {"hashed_queues", hashed_queues},
                                             {"timer_queue", timer_queue},
                                             {"shared_state", shared_state},
#ifndef WAITS_WITHOUT_COROUTINES
                                             {"coroutine", coroutine},
                                             {"coroutines_in_a_ring", coroutines_in_a_ring},
                                             {"coroutines_in_a_deque", coroutines_in_a_deque},
#endif
                                             {nullptr, nullptr}};
