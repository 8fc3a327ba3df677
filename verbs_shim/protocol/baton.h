// The word by which one side hands something over to the other: the supervisor the token to a thread, or a
// thread its request to the supervisor. The waiting side first spins on the word, if it has a CPU to itself,
// and then sleeps. The other side makes a system call only if the waiting side sleeps.
//
// For each word one side hands over and the other takes. tests/process/baton_test.cc tries all interleavings
// of their steps; baton_race_test.cc runs them in threads under ThreadSanitizer.
#pragma once

#include <atomic>
#include <cstdint>

namespace verbatim::protocol {

enum class Baton : std::uint32_t {
  kNothing = 0,  // nothing is handed over; the taking side is busy or spins
  kHandedOver,   // handed over, and not taken yet
  kAsleep,       // nothing is handed over, and the taking side sleeps (futex)
  kGoToSleep,    // nothing is handed over, nor will be soon: the taking side should stop spinning
};

// Hands over. True: the other side has to be woken, because it sleeps or has written an invalid value into
// the word.
template <typename Word>
bool hand_over(Word& word) {
  const Baton before = word.exchange(Baton::kHandedOver, std::memory_order_acq_rel);
  return before != Baton::kNothing && before != Baton::kGoToSleep;
}

// Called by the handing side while nothing is handed over: makes the other side stop spinning.
template <typename Word>
void send_to_sleep(Word& word) {
  Baton nothing = Baton::kNothing;
  word.compare_exchange_strong(nothing, Baton::kGoToSleep, std::memory_order_relaxed);
}

// Takes what is handed over within `looks` loads of the word, with `pause` between them. False: nothing was
// handed over, or the thread should sleep.
template <typename Word, typename Pause>
bool look_for(Word& word, std::uint32_t looks, Pause pause) {
  for (; looks != 0; --looks) {
    const Baton now = word.load(std::memory_order_acquire);
    if (now == Baton::kHandedOver) {
      word.store(Baton::kNothing, std::memory_order_relaxed);
      return true;
    }
    if (now == Baton::kGoToSleep) return false;
    pause();
  }
  return false;
}

// Takes what is handed over within `yields` loads of the word. Each follows a `yield`, which lets another
// thread run on this CPU, such as the token holder. False: nothing was handed over.
template <typename Word, typename Yield>
bool look_between_yields(Word& word, std::uint32_t yields, Yield yield) {
  for (; yields != 0; --yields) {
    yield();
    if (word.load(std::memory_order_acquire) != Baton::kHandedOver) continue;
    word.store(Baton::kNothing, std::memory_order_relaxed);
    return true;
  }
  return false;
}

// Takes what is handed over, and sleeps until then. `sleep` sleeps while the word is kAsleep, may return
// early, and returns false to give up. False: it has given up; the word may remain kAsleep, and the next
// waiter reads the word first.
template <typename Word, typename Sleep>
bool take(Word& word, Sleep sleep) {
  while (true) {
    Baton now = word.load(std::memory_order_acquire);
    if (now == Baton::kHandedOver) {
      word.store(Baton::kNothing, std::memory_order_relaxed);
      return true;
    }
    if (now != Baton::kAsleep && !word.compare_exchange_strong(now, Baton::kAsleep, std::memory_order_relaxed)) continue;
    if (!sleep()) return false;
  }
}

}  // namespace verbatim::protocol
