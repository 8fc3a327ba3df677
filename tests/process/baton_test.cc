// The word by which token and requests are handed over: all interleavings of the steps of two sides.
#include <gtest/gtest.h>
#include <ucontext.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "verbs_shim/protocol/baton.h"

namespace verbatim::protocol {
namespace {

// Two sides, each with a stack of its own. Before each step a choice decides which side continues; all
// sequences of choices with a limited number of preemptions are tried.
class Sides {
 public:
  using Side = std::function<void(Sides&)>;

  // Returns false if a side sleeps for ever.
  bool run(const std::vector<Side>& sides, const std::vector<bool>& interruptions) {
    interruptions_ = &interruptions;
    steps_ = 0;
    fibers_.clear();
    fibers_.resize(sides.size());
    for (std::size_t i = 0; i < sides.size(); ++i) {
      Fiber& fiber = fibers_[i];
      fiber.side = &sides[i];
      fiber.stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.get();
      fiber.context.uc_stack.ss_size = kStackBytes;
      fiber.context.uc_link = &main_;
      const auto self = reinterpret_cast<std::uintptr_t>(this);
      makecontext(&fiber.context, reinterpret_cast<void (*)()>(&Sides::start), 2, static_cast<unsigned>(self >> 32),
                  static_cast<unsigned>(self));
    }
    now_ = 0;
    while (true) {
      if (fibers_[now_].ended || fibers_[now_].sleeps_on != nullptr) {
        std::optional<std::size_t> ready;
        for (std::size_t i = 0; i < fibers_.size(); ++i) {
          if (!fibers_[i].ended && fibers_[i].sleeps_on == nullptr) ready = i;
        }
        if (!ready) break;
        now_ = *ready;
      }
      swapcontext(&main_, &fibers_[now_].context);
    }
    for (const Fiber& fiber : fibers_) {
      if (!fiber.ended) return false;
    }
    return true;
  }

  // Between two steps another side may continue.
  void step() {
    if (steps_++ < interruptions_->size() && (*interruptions_)[steps_ - 1]) change();
  }
  // Lets the others continue first, as a processor would sooner or later.
  void give_way() {
    step();
    change();
  }
  void sleep(const std::atomic<Baton>* word) {
    fibers_[now_].sleeps_on = word;
    leave();
  }
  void wake(const std::atomic<Baton>* word) {
    for (Fiber& fiber : fibers_) {
      if (fiber.sleeps_on == word) fiber.sleeps_on = nullptr;
    }
  }
  std::size_t steps() const { return steps_; }

 private:
  static constexpr std::size_t kStackBytes = 64 << 10;
  struct Fiber {
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    const Side* side = nullptr;
    const std::atomic<Baton>* sleeps_on = nullptr;
    bool ended = false;
  };

  static void start(unsigned high, unsigned low) {
    auto* self = reinterpret_cast<Sides*>(std::uintptr_t{high} << 32 | low);
    Fiber& own = self->fibers_[self->now_];
    (*own.side)(*self);
    own.ended = true;
  }
  void change() {
    for (std::size_t i = 1; i < fibers_.size(); ++i) {
      const std::size_t other = (now_ + i) % fibers_.size();
      if (fibers_[other].ended || fibers_[other].sleeps_on != nullptr) continue;
      Fiber& own = fibers_[now_];
      now_ = other;
      swapcontext(&own.context, &main_);
      return;
    }
  }
  void leave() { swapcontext(&fibers_[now_].context, &main_); }

  ucontext_t main_{};
  std::vector<Fiber> fibers_;
  std::size_t now_ = 0, steps_ = 0;
  const std::vector<bool>* interruptions_ = nullptr;
};

// A word each of whose operations is a step.
class Word {
 public:
  explicit Word(Sides& sides) : sides_(sides) {}
  Baton load(std::memory_order) { return sides_.step(), word_.load(); }
  void store(Baton value, std::memory_order) { sides_.step(), word_.store(value); }
  Baton exchange(Baton value, std::memory_order) { return sides_.step(), word_.exchange(value); }
  bool compare_exchange_strong(Baton& expected, Baton value, std::memory_order) {
    sides_.step();
    return word_.compare_exchange_strong(expected, value);
  }
  // Like the futex calls.
  void futex_wait() {
    sides_.step();
    if (word_.load() == Baton::kAsleep) sides_.sleep(&word_);
  }
  void futex_wake() {
    sides_.step();
    sides_.wake(&word_);
  }

 private:
  Sides& sides_;
  std::atomic<Baton> word_{Baton::kNothing};
};

void give(Word& word) {
  if (hand_over(word)) word.futex_wake();
}

void await(Sides& sides, Word& word, std::uint32_t looks, std::uint32_t yields = 0) {
  if (look_for(word, looks, [&] { sides.give_way(); })) return;
  if (look_between_yields(word, yields, [&] { sides.give_way(); })) return;
  take(word, [&] {
    word.futex_wait();
    return true;
  });
}

// Like await(), but the futex call sometimes times out.
void await_in_turns(Sides& sides, Word& word, std::uint32_t looks) {
  if (look_for(word, looks, [&] { sides.give_way(); })) return;
  bool sleeps = false;
  while (!take(word, [&] {
    sleeps = !sleeps;
    if (sleeps) return sides.give_way(), false;
    word.futex_wait();
    return true;
  })) {
  }
}

// Tries all orders with at most two preemptions; the result of `make` reports the error at the end.
struct Trial {
  std::vector<Sides::Side> sides;
  std::function<std::string()> fault;
};

void try_all(const std::function<Trial(Sides&)>& make) {
  const auto run = [&](const std::vector<bool>& interruptions, std::size_t* steps) {
    Sides sides;
    const Trial trial = make(sides);
    const bool ended = sides.run(trial.sides, interruptions);
    if (steps != nullptr) *steps = sides.steps();
    return ended ? trial.fault() : "a side sleeps for ever";
  };
  std::size_t steps = 0;
  ASSERT_EQ(run({}, &steps), "");
  ASSERT_GT(steps, 10u);
  const std::size_t most = steps + 24;  // interruptions make some orders longer
  for (std::size_t first = 0; first < most; ++first) {
    for (std::size_t second = first; second < most; ++second) {
      std::vector<bool> interruptions(most);
      interruptions[first] = interruptions[second] = true;
      ASSERT_EQ(run(interruptions, nullptr), "") << "interrupted before steps " << first << " and " << second;
    }
  }
}

// Tries every order of the first kSteps steps.
void try_every_order(const std::function<Trial(Sides&)>& make) {
  constexpr unsigned kSteps = 13;
  std::size_t tried = 0;
  for (std::uint32_t order = 0; order < 1u << kSteps; ++order, ++tried) {
    std::vector<bool> interruptions(kSteps);
    for (unsigned i = 0; i < kSteps; ++i) interruptions[i] = (order >> i & 1) != 0;
    Sides sides;
    const Trial trial = make(sides);
    ASSERT_TRUE(sides.run(trial.sides, interruptions)) << "a side sleeps for ever, order " << order;
    ASSERT_EQ(trial.fault(), "") << "order " << order;
  }
}

// The simulator and one thread exchange the token `turns` times: each sees what the other has written.
Trial to_and_fro(Sides& sides, std::uint32_t simulator_looks, std::uint32_t thread_looks, bool gives_up, int turns = 4) {
  struct State {
    explicit State(Sides& sides) : go(sides), message(sides) {}
    Word go, message;
    int shared = 0;
    std::string fault;
  };
  auto state = std::make_shared<State>(sides);
  const auto expect = [state](int value) {
    if (state->shared != value) state->fault = "what was handed over is not there";
    ++state->shared;
  };
  return {{[=](Sides& all) {
             for (int turn = 0; turn < turns; ++turn) {
               expect(2 * turn);
               give(state->go);
               gives_up ? await_in_turns(all, state->message, simulator_looks) : await(all, state->message, simulator_looks);
             }
           },
           [=](Sides& all) {
             for (int turn = 0; turn < turns; ++turn) {
               await(all, state->go, thread_looks);
               expect(2 * turn + 1);
               give(state->message);
             }
           }},
          [=] { return state->fault; }};
}

TEST(Baton, is_never_lost_between_two_that_sleep) {
  try_all([](Sides& sides) { return to_and_fro(sides, 0, 0, false); });
}

TEST(Baton, is_never_lost_between_two_that_look) {
  for (const std::uint32_t looks : {1u, 2u, 5u}) {
    try_all([&](Sides& sides) { return to_and_fro(sides, looks, looks, false); });
    try_all([&](Sides& sides) { return to_and_fro(sides, looks, 0, false); });
    try_all([&](Sides& sides) { return to_and_fro(sides, 0, looks, false); });
  }
}

TEST(Baton, is_never_lost_to_one_who_gives_up) {
  for (const std::uint32_t looks : {0u, 2u}) {
    try_all([&](Sides& sides) { return to_and_fro(sides, looks, looks, true); });
  }
}

TEST(Baton, is_never_lost_whatever_the_order) {
  for (const std::uint32_t looks : {0u, 1u, 3u}) {
    for (const bool gives_up : {false, true}) {
      try_every_order([&](Sides& sides) { return to_and_fro(sides, looks, looks, gives_up, 1); });
    }
  }
}

// A second processor is used at times: before each hand-over the simulator sets how often the thread polls
// the next time. The thread reads the value before its own hand-over.
Trial with_changing_looks(Sides& sides, unsigned simulator_pattern, unsigned thread_pattern) {
  struct State {
    explicit State(Sides& sides) : go(sides), message(sides) {}
    Word go, message;
    std::uint32_t looks = 0;  // of the thread's slot
    int shared = 0;
    std::string fault;
  };
  constexpr int kTurns = 4;
  constexpr std::uint32_t kLooks = 3;
  const auto looks_at = [](unsigned pattern, int turn) { return (pattern >> turn & 1) != 0 ? kLooks : 0; };
  auto state = std::make_shared<State>(sides);
  return {{[=](Sides& all) {
             for (int turn = 0; turn < kTurns; ++turn) {
               if (state->shared++ != 2 * turn) state->fault = "the request was not there";
               state->looks = looks_at(thread_pattern, turn);
               give(state->go);
               await(all, state->message, looks_at(simulator_pattern, turn));
             }
           },
           [=](Sides& all) {
             std::uint32_t looks = 0;
             for (int turn = 0; turn < kTurns; ++turn) {
               await(all, state->go, looks);
               if (state->shared++ != 2 * turn + 1) state->fault = "the answer was not there";
               looks = state->looks;
               give(state->message);
             }
           }},
          [=] { return state->fault; }};
}

TEST(Baton, is_never_lost_while_the_second_processor_comes_and_goes) {
  for (const unsigned simulator : {0b0101u, 0b1010u, 0b0011u, 0b1111u}) {
    for (const unsigned thread : {0b0101u, 0b1010u, 0b0110u}) {
      try_all([&](Sides& sides) { return with_changing_looks(sides, simulator, thread); });
    }
  }
}

// The program overwrites the word of a sleeping thread. The simulator, which sleeps for limited times,
// notices that the token has not been taken, and wakes the thread again.
Trial with_overwritten_word(Sides& sides, std::uint32_t looks, Baton nonsense) {
  struct State {
    explicit State(Sides& sides) : go(sides), message(sides) {}
    Word go, message;
    bool is_over = false;
  };
  constexpr int kTurns = 2, kLongEnough = 50;
  auto state = std::make_shared<State>(sides);
  return {{[=](Sides& all) {
             for (int turn = 0; turn < kTurns; ++turn) {
               give(state->go);
               if (look_for(state->message, looks, [&] { all.give_way(); })) continue;
               for (int looked = 0; !take(state->message, [&] { return all.give_way(), false; }); ++looked) {
                 if (looked == kLongEnough) return;
                 if (state->go.load(std::memory_order_relaxed) == Baton::kHandedOver) state->go.futex_wake();
               }
             }
             state->is_over = true;
           },
           [=](Sides& all) {
             for (int turn = 0; turn < kTurns; ++turn) {
               await(all, state->go, looks);
               give(state->message);
             }
           },
           [=](Sides&) {
             Baton asleep = Baton::kAsleep;
             state->go.compare_exchange_strong(asleep, nonsense, std::memory_order_relaxed);
           }},
          [=] { return state->is_over ? "" : "the simulator waits for ever"; }};
}

TEST(Baton, wakes_again_whose_word_was_overwritten) {
  for (const std::uint32_t looks : {0u, 2u}) {
    for (const Baton nonsense : {Baton::kNothing, Baton::kGoToSleep, static_cast<Baton>(77)}) {
      try_all([&](Sides& sides) { return with_overwritten_word(sides, looks, nonsense); });
    }
  }
}

// Two threads alternate: each gets kGoToSleep when the other gets the token, and later the token itself.
Trial in_turn(Sides& sides, std::uint32_t looks, std::uint32_t yields) {
  struct State {
    explicit State(Sides& sides) : go{Word(sides), Word(sides)}, message(sides) {}
    Word go[2], message;
    int shared = 0;
    std::string fault;
  };
  constexpr int kTurns = 4;
  auto state = std::make_shared<State>(sides);
  const auto thread = [=](int index) {
    return [=](Sides& all) {
      for (int turn = index; turn < kTurns; turn += 2) {
        await(all, state->go[index], looks, yields);
        if (state->shared++ != turn) state->fault = "a thread ran before its turn";
        give(state->message);
      }
    };
  };
  return {{[=](Sides& all) {
             for (int turn = 0; turn < kTurns; ++turn) {
               give(state->go[turn % 2]);
               if (turn > 0) send_to_sleep(state->go[1 - turn % 2]);
               await(all, state->message, looks);
             }
           },
           thread(0), thread(1)},
          [=] { return state->fault; }};
}

TEST(Baton, goes_from_one_that_looks_to_another) {
  for (const std::uint32_t looks : {0u, 1u, 4u}) {
    for (const std::uint32_t yields : {0u, 1u, 3u}) try_all([&](Sides& sides) { return in_turn(sides, looks, yields); });
  }
}

// The side that overwrites the word learns whether it must wake the other; there are no needless wake-ups.
TEST(Baton, wakes_whoever_does_not_look) {
  for (const auto& [before, wakes] : {std::pair{Baton::kNothing, false}, {Baton::kGoToSleep, false}, {Baton::kAsleep, true},
                                      {Baton::kHandedOver, true}, {static_cast<Baton>(77), true}}) {
    std::atomic<Baton> word{before};
    EXPECT_EQ(hand_over(word), wakes) << static_cast<std::uint32_t>(before);
    EXPECT_EQ(word.load(), Baton::kHandedOver);
  }
}

}  // namespace
}  // namespace verbatim::protocol
