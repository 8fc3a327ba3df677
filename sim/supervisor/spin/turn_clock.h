// Clocks that a poll loop reads between its polls. Each read takes virtual time, the same in every turn. A
// clock reading grows by a constant from turn to turn if the time of a turn is a whole number of the clock's
// units. sched_yield(), system calls that find nothing, and sleeps take time as well.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace verbatim::spin {

// A system call that finds and changes nothing at any time: its arguments in registers and memory, and its
// result.
struct KnownCall {
  std::uint64_t number = 0;
  unsigned arguments = 0;  // number of arguments
  std::array<std::uint64_t, 6> passed{};
  std::uint64_t address = 0;  // memory that the call reads, with its contents
  std::vector<std::uint8_t> bytes;
  std::uint64_t result = 0;
  std::int64_t cost_ps = 0;  // including a sleep
};

// Results and costs of clock reads, in picoseconds of virtual time.
struct ClockModel {
  std::int64_t look_ps = 0;   // time of the look of the thread's current poll
  std::int64_t poll_ps = 0;   // time that an empty poll takes before it looks
  std::uint64_t gettime = 0;  // entry of clock_gettime(2)
  std::uint64_t time = 0;       // entry of time(2)
  std::uint64_t timeofday = 0;  // entry of gettimeofday(2)
  std::int64_t gettime_ps = 0;
  std::uint64_t yield = 0;  // entry of sched_yield(2)
  std::int64_t yield_ps = 0;
  std::int64_t counter_ps = 0;  // cost of RDTSC and RDTSCP
  std::uint64_t counter_hz = 0;
  // Cost of a read that directly follows others, of which the first was `since_row_began_ps` ago.
  std::int64_t (*cost_in_row)(std::int64_t since_row_began_ps) = nullptr;
  std::vector<KnownCall> calls;
  // Nanoseconds that the clock with this id shows at virtual time 0; nullopt: not supported.
  std::function<std::optional<std::int64_t>(std::int64_t clock)> base_ns;
};

// Virtual time within one turn, from the look at its beginning.
class TurnClock {
 public:
  static constexpr unsigned kMostReads = 128;  // between two polls

  void begin(const ClockModel* model) {
    model_ = model;
    now_ps_ = row_began_ps_ = model == nullptr ? 0 : model->look_ps;
    reads_ = in_row_ = reads_of_poll_ = 0;
    is_paid_ = false;
  }
  // Begins in a series of reads that started at `row_began_ps`, with a read that is due at the model's look
  // and takes no more time.
  void begin_in_row(const ClockModel* model, std::int64_t row_began_ps) {
    begin(model);
    row_began_ps_ = row_began_ps;
    is_paid_ = true;
  }
  // Time that the next read of the series takes.
  std::int64_t next_cost_ps() const { return model_->cost_in_row(now_ps_ - row_began_ps_); }
  // Reads a clock: the first of a series costs `first_cost_ps`. Returns the time.
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
  // Another operation takes `cost_ps`, and ends a series of reads.
  void pass(std::int64_t cost_ps) {
    ++reads_;
    ++reads_of_poll_;
    in_row_ = 0;
    row_began_ps_ = now_ps_ += cost_ps;
  }
  // The next poll of the turn looks. Returns the time since the first look.
  std::int64_t poll() {
    if (model_ == nullptr) return 0;
    in_row_ = reads_of_poll_ = 0;
    row_began_ps_ = now_ps_ += model_->poll_ps;
    return now_ps_ - model_->look_ps;
  }
  const ClockModel* model() const { return model_; }
  unsigned reads() const { return reads_; }  // and other operations
  bool may_read() const { return reads_of_poll_ < kMostReads; }
  // Time from the turn's first look to that of the next turn, if the next poll follows at once.
  std::int64_t period_ps() const { return now_ps_ + model_->poll_ps - model_->look_ps; }

 private:
  const ClockModel* model_ = nullptr;
  std::int64_t now_ps_ = 0, row_began_ps_ = 0;
  unsigned reads_ = 0, in_row_ = 0, reads_of_poll_ = 0;
  bool is_paid_ = false;  // the next read takes no more time
};

}  // namespace verbatim::spin
