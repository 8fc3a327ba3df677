// A second processor for the simulator. With one processor for all every hand-over is two context switches. With one of its own
// the simulator looks at the word that a program will write (protocol/baton.h) instead of sleeping, and the program, on the
// other, looks for its token in turn.
//
// Whether and when this is done costs real time or saves it; it decides nothing.
#pragma once

#include <sched.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/supervisor/spec/options.h"

namespace verbatim::supervisor {

// Whether a second processor is worth its while differs from machine to machine, as much as what it costs to wake a thread
// there, and from program to program: where the token goes to another one each time, it mostly is not. So both ways are tried, in
// windows of as many hand-overs each, in turns, since programs do not do the same thing for long.
class SecondCoreTrial {
 public:
  void begin() { windows_[0].clear(), windows_[1].clear(); }
  // A window with or without the second processor has taken so long. False: there is nothing more to try.
  bool add(bool second, std::chrono::nanoseconds time);
  // By a quarter at least: it is a processor more.
  bool is_second_quicker() const;

 private:
  static constexpr std::size_t kWindows = 8;  // of each kind
  std::vector<std::chrono::nanoseconds> windows_[2];
};

// Beside a second processor a thread that is woken waits until whoever else runs on its own lets it: for milliseconds if that
// is another program of the machine. Then one processor for all is better, where a thread that is woken runs at once.
class SlowAnswers {
 public:
  // A thread has answered after so long. True: that comes too often. One that computes for long is no worse off without a
  // second processor.
  bool add(std::chrono::nanoseconds took) { return took >= kSlow && ++slow_ >= kMost; }
  void begin() { slow_ = 0; }

 private:
  static constexpr std::chrono::milliseconds kSlow{2};
  static constexpr int kMost = 8;
  int slow_ = 0;
};

// Whether one of these control groups (text of /proc/self/cgroup, cgroups(7)) or of those above them, whose files lie in
// `mounted`, may use less than the time of two processors: who looks for something on a second one would use up what programs
// need.
bool is_limited_to_less_than_two(const std::string& groups, const std::filesystem::path& mounted);

class SecondCore {
 public:
  // The caller's programs run on `program_core`; of the others it may use those in `allowed`. Where nothing else wants to run
  // on this machine it begins at once.
  SecondCore(SecondCoreUse use, int program_core, const cpu_set_t& allowed);

  // The simulator's thread runs on a processor of its own.
  bool is_used() const { return used_; }
  // How often a side looks at a word before it sleeps: for about kLook of real time; 0 while no second processor is used.
  std::uint32_t looks() const { return used_ ? looks_ : 0; }

  // The token was handed over. Now and then it is decided anew where the simulator runs.
  void count_hand_over() {
    if (use_ != SecondCoreUse::kNever && ++hand_overs_ % kReviewed == 0) review();
  }
  // The token came back after so long.
  void note_answer(std::chrono::nanoseconds took) {
    if (used_ && use_ == SecondCoreUse::kWhenFree && slow_.add(took)) end_trial(false, Clock::now());
  }
  std::uint64_t hand_overs_on_it() const { return hand_overs_on_it_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kFirstReview = 16;  // hand-overs to the first decision, and
  static constexpr std::uint64_t kReviewed = 256;    // from one to the next
  static constexpr std::chrono::microseconds kLook{50};
  static constexpr std::chrono::milliseconds kWatched{100};  // how long a processor has to have been free
  static constexpr std::chrono::milliseconds kJudged{20};    // how often it is asked whether others want it
  static constexpr std::chrono::milliseconds kLeastPause{500}, kLongestPause{8000};  // from trial to trial

  // Ticks of a processor since the machine was started.
  struct Ticks {
    std::uint64_t idle = 0, all = 0;
  };

  void review();
  void review_free(Clock::time_point now);
  bool is_second_free(Clock::time_point now);
  bool is_second_wanted(Clock::time_point now);
  void end_trial(bool second, Clock::time_point now);
  void move_to(bool second);
  Ticks ticks() const;

  const SecondCoreUse use_;
  const int program_core_;
  int core_ = -1;  // the second one; -1: there is none
  bool used_ = false;
  std::uint32_t looks_ = 0;
  std::uint64_t hand_overs_ = kReviewed - kFirstReview;
  std::uint64_t hand_overs_on_it_ = 0;
  std::int64_t interruptions_ = 0;  // when it was judged last
  Ticks ticks_;                     // when it was watched last
  Clock::time_point watched_{}, judged_{}, window_began_{}, next_trial_{};
  std::chrono::milliseconds pause_ = kLeastPause;
  SlowAnswers slow_;  // since the last review
  SecondCoreTrial trial_;
  bool tries_ = false;          // a trial is under way
  bool second_before_ = false;  // and what was used before it
};

}  // namespace verbatim::supervisor
