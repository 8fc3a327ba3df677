// The C++ library: threads, futures, conditions with deadlines, exceptions across threads, atomics that wait,
// clocks.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <latch>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

int main() {
  std::vector<std::jthread> threads;
  std::mutex mutex;
  std::latch all(8);
  int sum = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      all.arrive_and_wait();
      const std::scoped_lock lock(mutex);
      sum += i;
    });
  }
  threads.clear();
  std::printf("sum: %d\n", sum);
  auto failing = std::async(std::launch::async, []() -> int { throw std::runtime_error("from a thread"); });
  try {
    failing.get();
  } catch (const std::exception& error) {
    std::printf("caught: %s\n", error.what());
  }
  std::promise<std::string> promise;
  auto future = promise.get_future();
  std::printf("not yet: %d\n", future.wait_for(20ms) == std::future_status::timeout);
  std::jthread teller([&] { promise.set_value("told"); });
  std::printf("future: %s\n", future.get().c_str());
  std::condition_variable condition;
  std::unique_lock lock(mutex);
  const auto start = std::chrono::steady_clock::now();
  const bool came = condition.wait_for(lock, 30ms, [] { return false; });
  const auto took = std::chrono::steady_clock::now() - start;
  std::printf("condition: %d, waited %d\n", came, took >= 30ms && took < 3s);
  std::atomic<int> word{0};
  std::jthread waker([&] {
    std::this_thread::sleep_for(10ms);
    word = 1;
    word.notify_all();
  });
  word.wait(0);
  std::printf("atomic: %d\n", word.load());
  std::shared_timed_mutex shared;
  shared.lock_shared();
  std::jthread writer([&] { std::printf("writer: %d\n", shared.try_lock_for(20ms)); });
  writer.join();
  shared.unlock_shared();
  std::stop_source source;
  std::jthread stopped([&](std::stop_token token) {
    while (!token.stop_requested()) std::this_thread::sleep_for(1ms);
    std::printf("stopped\n");
  });
  stopped.request_stop();
  return 0;
}
