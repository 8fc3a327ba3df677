// Clocks that a poll loop reads between its polls. Each read takes virtual time, and every turn the same, so what a clock
// shows grows by a constant from turn to turn where that time is a whole number of its units. A loop that gives its processor
// away takes time as well, and reads nothing; so does one that asks the kernel in vain, or sleeps.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace verbatim::spin {

// A call of the kernel that finds nothing whenever it is made, and changes nothing: what the program passed, by register and in
// memory, and what it gets.
struct KnownCall {
  std::uint64_t number = 0;
  unsigned arguments = 0;  // so many count
  std::array<std::uint64_t, 6> passed{};
  std::uint64_t address = 0;  // of what it reads in memory, and what is there
  std::vector<std::uint8_t> bytes;
  std::uint64_t result = 0;
  std::int64_t cost_ps = 0;  // sleep included
};

// What reading a clock gives and costs; times in picoseconds of virtual time.
struct ClockModel {
  std::int64_t look_ps = 0;   // when the poll looks that the thread is at
  std::int64_t poll_ps = 0;   // what a poll costs that finds nothing: the time before it looks
  std::uint64_t gettime = 0;  // entry of clock_gettime(2)
  std::uint64_t time = 0;       // of time(2)
  std::uint64_t timeofday = 0;  // of gettimeofday(2)
  std::int64_t gettime_ps = 0;
  std::uint64_t yield = 0;  // of sched_yield(2)
  std::int64_t yield_ps = 0;
  std::int64_t counter_ps = 0;  // what RDTSC and RDTSCP cost
  std::uint64_t counter_hz = 0;
  // What a read costs that follows others, when the first of them began so long ago.
  std::int64_t (*cost_in_row)(std::int64_t since_row_began_ps) = nullptr;
  std::vector<KnownCall> calls;
  // What the clock of that number shows at virtual time 0, in nanoseconds; nullopt: it is not followed.
  std::function<std::optional<std::int64_t>(std::int64_t clock)> base_ns;
};

// Virtual time within one turn, from the look that it begins with.
class TurnClock {
 public:
  static constexpr unsigned kMostReads = 128;  // from one poll to the next

  void begin(const ClockModel* model) {
    model_ = model;
    now_ps_ = row_began_ps_ = model == nullptr ? 0 : model->look_ps;
    reads_ = in_row_ = reads_of_poll_ = 0;
    is_paid_ = false;
  }
  // Within a row of reads that began then, in one that has taken its time until the model's look.
  void begin_in_row(const ClockModel* model, std::int64_t row_began_ps) {
    begin(model);
    row_began_ps_ = row_began_ps;
    is_paid_ = true;
  }
  // What the next read of the row takes.
  std::int64_t next_cost_ps() const { return model_->cost_in_row(now_ps_ - row_began_ps_); }
  // A clock is read at `first_cost_ps`, or as one of a row.
  std::int64_t read(std::int64_t first_cost_ps) {
    if (is_paid_) {
      is_paid_ = false;
      return now_ps_;
    }
    ++reads_;
    ++reads_of_poll_;
    now_ps_ += in_row_++ == 0 ? first_cost_ps : model_->cost_in_row(now_ps_ - row_began_ps_);
    return now_ps_;
  }
  // Something else takes so long; a row of reads is over.
  void pass(std::int64_t cost_ps) {
    ++reads_;
    ++reads_of_poll_;
    in_row_ = 0;
    row_began_ps_ = now_ps_ += cost_ps;
  }
  // The next poll of the turn looks: so long after the first.
  std::int64_t poll() {
    if (model_ == nullptr) return 0;
    in_row_ = reads_of_poll_ = 0;
    row_began_ps_ = now_ps_ += model_->poll_ps;
    return now_ps_ - model_->look_ps;
  }
  const ClockModel* model() const { return model_; }
  unsigned reads() const { return reads_; }  // and passes
  bool may_read() const { return reads_of_poll_ < kMostReads; }
  // From the look that the turn began with to the next, if the next poll comes now.
  std::int64_t period_ps() const { return now_ps_ + model_->poll_ps - model_->look_ps; }

 private:
  const ClockModel* model_ = nullptr;
  std::int64_t now_ps_ = 0, row_began_ps_ = 0;
  unsigned reads_ = 0, in_row_ = 0, reads_of_poll_ = 0;
  bool is_paid_ = false;  // the next read takes no more time
};

}  // namespace verbatim::spin
