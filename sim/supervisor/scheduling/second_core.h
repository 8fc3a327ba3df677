// A second processor for the simulator. When programs and simulator share one processor, each token transfer
// costs two context switches. With a processor of its own the simulator polls the word that a program will
// write (protocol/baton.h) instead of sleeping; the program polls for its token in the same manner.
//
// The choice affects real time only, never the result of a run.
#pragma once

#include <sched.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/supervisor/scheduling/processors.h"
#include "sim/supervisor/spec/options.h"

namespace verbatim::supervisor {

// Compares real time with and without the second processor. The gain depends on the machine (the cost of
// waking a thread on another processor) and on the program (there is usually none if each token transfer is
// to another thread). Windows with the same number of token transfers alternate between the two
// configurations because a program's behaviour changes over time.
class SecondCoreTrial {
 public:
  void begin() { windows_[0].clear(), windows_[1].clear(); }
  // Adds the duration of a window with or without the second processor. False: the trial is complete.
  bool add(bool second, std::chrono::nanoseconds time);
  // True if the median window with the second processor is at least a quarter shorter, which justifies the
  // additional processor.
  bool is_second_quicker() const;

 private:
  static constexpr std::size_t kWindows = 8;  // for each configuration
  std::vector<std::chrono::nanoseconds> windows_[2];
};

// Detects contention on the programs' processor. A thread that is woken there from the second processor waits
// until the scheduler runs it: for milliseconds if another program of the machine occupies the processor. One
// shared processor is faster then, because the thread that is woken runs at once.
class SlowAnswers {
 public:
  // Adds the time from a token transfer to the answer. True: slow answers are too frequent. A thread that
  // computes for long counts too; it loses nothing without a second processor.
  bool add(std::chrono::nanoseconds took) { return took >= kSlow && ++slow_ >= kMost; }
  void begin() { slow_ = 0; }

 private:
  static constexpr std::chrono::milliseconds kSlow{2};
  static constexpr int kMost = 8;
  int slow_ = 0;
};

// True if one of the control groups in `groups` (text of /proc/self/cgroup, cgroups(7)) or an ancestor of one
// may use less than the time of two processors. `mounted` is the mount point of their files. Polling on a
// second processor would consume time that the programs need.
bool is_limited_to_less_than_two(const std::string& groups, const std::filesystem::path& mounted);

class SecondCore {
 public:
  // Programs run on `program_core`; the second processor is chosen from `allowed`. With
  // SecondCoreUse::kWhenFree it is used from the start if the machine is otherwise idle. `machine` must outlive *this.
  SecondCore(SecondCoreUse use, int program_core, const cpu_set_t& allowed, Processors& machine = Processors::of_machine());

  // True while the simulator's thread runs on the second processor.
  bool is_used() const { return used_; }
  // Number of polls of a word before a side sleeps, for about kLook of real time; 0 while no second processor
  // is used.
  std::uint32_t looks() const { return used_ ? looks_ : 0; }

  // Counts a token transfer. Every kReviewed transfers the use of the second processor is reviewed.
  void count_hand_over() {
    if (use_ != SecondCoreUse::kNever && ++hand_overs_ % kReviewed == 0) review();
  }
  // A program has answered `took` after it received the token.
  void note_answer(std::chrono::nanoseconds took) {
    if (used_ && use_ == SecondCoreUse::kWhenFree && slow_.add(took)) end_trial(false, machine_.now());
  }
  std::uint64_t hand_overs_on_it() const { return hand_overs_on_it_; }

 private:
  using Clock = Processors::Clock;
  static constexpr std::uint64_t kFirstReview = 16;  // token transfers before the first review, and
  static constexpr std::uint64_t kReviewed = 256;    // between later reviews
  static constexpr std::chrono::microseconds kLook{50};
  // A processor must be idle for this long before a trial.
  static constexpr std::chrono::milliseconds kWatched{100};
  static constexpr std::chrono::milliseconds kJudged{20};    // interval between checks for contention
  static constexpr std::chrono::milliseconds kLeastPause{500}, kLongestPause{8000};  // between trials

  void review();
  // A window has ended: leaves a contended second processor, continues a trial, or begins one.
  void review_free(Clock::time_point now);
  bool is_second_free(Clock::time_point now);
  bool is_second_wanted(Clock::time_point now);
  void end_trial(bool second, Clock::time_point now);
  void move_to(bool second);

  Processors& machine_;
  const SecondCoreUse use_;
  const int program_core_;
  int core_ = -1;  // the second processor; -1: there is none
  bool used_ = false;
  std::uint32_t looks_ = 0;
  std::uint64_t hand_overs_ = kReviewed - kFirstReview;
  std::uint64_t hand_overs_on_it_ = 0;
  std::int64_t interruptions_ = 0;  // involuntary context switches at the last check for contention
  ProcessorTicks ticks_;            // at the last check of idleness
  Clock::time_point watched_{}, judged_{}, window_began_{}, next_trial_{};
  std::chrono::milliseconds pause_ = kLeastPause;
  SlowAnswers slow_;  // since the last review
  SecondCoreTrial trial_;
  bool tries_ = false;          // a trial is in progress
  bool second_before_ = false;  // configuration before the trial
};

}  // namespace verbatim::supervisor
