// The word by which one side hands something to the other: the simulator the token to a thread, or a thread its request to the
// simulator. Who waits looks at the word for a while, if it has a processor to itself, and then sleeps; who hands over makes
// a system call only if the other side sleeps.
//
// Each word has one side that hands over and one that takes. All orders of their steps are tried in tests/process/baton_test.cc,
// and ThreadSanitizer watches it between threads in baton_race_test.cc.
#pragma once

#include <atomic>
#include <cstdint>

namespace verbatim::protocol {

enum class Baton : std::uint32_t {
  kNothing = 0,  // nothing is handed over; who takes is busy elsewhere, or looks
  kHandedOver,   // and not taken yet
  kAsleep,       // nothing is handed over, and who takes sleeps (futex) until that changes
  kGoToSleep,    // nothing is handed over, and will not be soon: who takes should look no longer
};

// Hands over. True: the other side sleeps, or has written nonsense into the word: it has to be woken.
template <typename Word>
bool hand_over(Word& word) {
  const Baton before = word.exchange(Baton::kHandedOver, std::memory_order_acq_rel);
  return before != Baton::kNothing && before != Baton::kGoToSleep;
}

// By the side that hands over, while nothing is: the other side stops looking.
template <typename Word>
void send_to_sleep(Word& word) {
  Baton nothing = Baton::kNothing;
  word.compare_exchange_strong(nothing, Baton::kGoToSleep, std::memory_order_relaxed);
}

// Takes what is handed over within `looks` looks, with `pause` between them. False: nothing was, or it is better to sleep.
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

// Takes what is handed over within `yields` looks, before each of which others on this processor may run, such as the one
// that has the token and will wait in turn. False: nothing was.
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

// Takes what is handed over, asleep until then: `sleep` sleeps while the word is kAsleep, may return early, and returns false
// to give up. False: it has given up; the word may say kAsleep from then on, and the next to wait looks at it first.
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
