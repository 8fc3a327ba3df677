// A second processor for the simulator. With one processor for all every hand-over is two context switches. With one of its own
// the simulator looks at the word that a program will write (protocol/baton.h) instead of sleeping, and the program, on the
// other, looks for its token in turn.
//
// Whether and when this is done costs real time or saves it; it decides nothing.
#pragma once

#include <sched.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "sim/supervisor/spec/options.h"

namespace verbatim::supervisor {

class SecondCore {
 public:
  // The caller's programs run on `program_core`; of the others it may use those in `allowed`.
  SecondCore(SecondCoreUse use, int program_core, const cpu_set_t& allowed);

  // The simulator's thread runs on a processor of its own.
  bool is_used() const { return used_; }
  // How often a side looks at a word before it sleeps: for about kLook of real time; 0 while no second processor is used.
  std::uint32_t looks() const { return used_ ? looks_ : 0; }

  // The token was handed over. Now and then it is decided anew where the simulator runs.
  void count_hand_over() {
    if (use_ != SecondCoreUse::kNever && ++hand_overs_ % kReviewed == 0) review();
  }
  // The simulator has looked for an answer. In vain: it had to sleep for it.
  void count_wait(bool in_vain) {
    ++waits_;
    waits_in_vain_ += in_vain ? 1 : 0;
  }
  std::uint64_t hand_overs_on_it() const { return hand_overs_on_it_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kFirstReview = 16;  // hand-overs to the first decision, and
  static constexpr std::uint64_t kReviewed = 256;    // from one to the next
  static constexpr std::chrono::microseconds kLook{50};
  static constexpr std::chrono::milliseconds kWatched{100};  // how long a processor has to have been free
  static constexpr std::chrono::milliseconds kJudged{20};    // how long it is tried before it is judged
  static constexpr std::chrono::milliseconds kLeastPause{500}, kLongestPause{8000};

  // Ticks of a processor since the machine was started.
  struct Ticks {
    std::uint64_t idle = 0, all = 0;
  };

  void review();
  void review_free(Clock::time_point now);
  void move_to(bool second);
  Ticks ticks() const;

  const SecondCoreUse use_;
  const int program_core_;
  int core_ = -1;  // the second one; -1: there is none
  bool used_ = false;
  std::uint32_t looks_ = 0;
  std::uint64_t hand_overs_ = kReviewed - kFirstReview;
  std::uint64_t hand_overs_on_it_ = 0, waits_ = 0, waits_in_vain_ = 0;
  std::int64_t interruptions_ = 0;  // when it was judged last
  Ticks ticks_;                     // when it was watched last
  Clock::time_point watched_{}, judged_{}, not_before_{};
  std::chrono::milliseconds pause_ = kLeastPause;
};

}  // namespace verbatim::supervisor
