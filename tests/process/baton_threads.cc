// The protocol of verbs_shim/protocol/baton.h between real threads, for ThreadSanitizer: one acts as the simulator, others
// act as programs. The data that they hand over, besides the words, is plain memory.
//
//   baton_threads ordered    the protocol
//   baton_threads relaxed    with relaxed words: ThreadSanitizer must find a race
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "verbs_shim/protocol/baton.h"

namespace {

using verbatim::protocol::Baton;

template <bool is_ordered>
class Word {
 public:
  Baton load(std::memory_order order) const { return word_.load(chosen(order)); }
  void store(Baton value, std::memory_order order) { word_.store(value, chosen(order)); }
  Baton exchange(Baton value, std::memory_order order) { return word_.exchange(value, chosen(order)); }
  bool compare_exchange_strong(Baton& expected, Baton value, std::memory_order order) {
    return word_.compare_exchange_strong(expected, value, chosen(order));
  }
  void wake() { syscall(SYS_futex, &word_, FUTEX_WAKE, 1, nullptr, nullptr, 0); }
  void sleep() {
    const timespec while_asleep = {0, 20'000'000};
    syscall(SYS_futex, &word_, FUTEX_WAIT, static_cast<int>(Baton::kAsleep), &while_asleep, nullptr, 0);
  }

 private:
  static std::memory_order chosen(std::memory_order order) { return is_ordered ? order : std::memory_order_relaxed; }
  std::atomic<Baton> word_{Baton::kNothing};
};

constexpr int kPrograms = 3, kHandOvers = 60'000;

template <bool is_ordered>
struct Slot {
  Word<is_ordered> go;
  std::uint32_t looks = 0, yields = 0;  // that the next wait is worth; written by the simulator
  std::uint64_t answer = 0, request = 0;
};

template <bool is_ordered>
void wait_for(Word<is_ordered>& word, std::uint32_t looks, std::uint32_t yields) {
  if (verbatim::protocol::look_for(word, looks, [] { std::this_thread::yield(); })) return;
  if (verbatim::protocol::look_between_yields(word, yields, [] { std::this_thread::yield(); })) return;
  verbatim::protocol::take(word, [&word] {
    word.sleep();
    return true;
  });
}

// Returns 0 if every answer and every request arrived unchanged.
template <bool is_ordered>
int run() {
  std::array<Slot<is_ordered>, kPrograms> slots;
  Word<is_ordered> message;
  std::atomic<int> mistakes{0};
  std::vector<std::thread> programs;
  for (Slot<is_ordered>& slot : slots) {
    programs.emplace_back([&slot, &message, &mistakes] {
      std::uint32_t looks = 0, yields = 0;
      for (std::uint64_t turn = 1;; ++turn) {
        wait_for(slot.go, looks, yields);
        if (slot.answer == ~0ull) return;
        if (slot.answer != turn) ++mistakes;
        slot.request = 2 * slot.answer;
        looks = slot.looks, yields = slot.yields;  // once it has handed over, the slot is the simulator's
        if (verbatim::protocol::hand_over(message)) message.wake();
      }
    });
  }
  std::mt19937 random(1);
  std::array<std::uint64_t, kPrograms> turns = {};
  Slot<is_ordered>* before = nullptr;
  for (int i = 0; i < kHandOvers; ++i) {
    const std::size_t which = random() % kPrograms;
    Slot<is_ordered>& slot = slots[which];
    slot.answer = ++turns[which];
    slot.looks = random() % 4 == 0 ? 0 : random() % 200;
    slot.yields = random() % 2 == 0 ? 0 : random() % 9;
    if (verbatim::protocol::hand_over(slot.go)) slot.go.wake();
    if (before != nullptr && before != &slot && random() % 2 == 0) verbatim::protocol::send_to_sleep(before->go);
    before = &slot;
    wait_for(message, random() % 3 == 0 ? 0 : 200, 0);
    if (slot.request != 2 * turns[which]) ++mistakes;
  }
  for (Slot<is_ordered>& slot : slots) {
    slot.answer = ~0ull;
    if (verbatim::protocol::hand_over(slot.go)) slot.go.wake();
  }
  for (std::thread& program : programs) program.join();
  std::printf("%d hand-overs, %d mistakes\n", kHandOvers, mistakes.load());
  return mistakes.load() == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  return std::strcmp(arguments[1], "relaxed") == 0 ? run<false>() : run<true>();
}
