// Loops that read a clock until a time: their reads are interpreted instead of executed.
#pragma once

#include "sim/supervisor/run_context.h"
#include "sim/supervisor/tasks/request.h"

namespace verbatim::supervisor {

class ParkingLot;
class SliceHorizon;
class Thread;

class ClockFollower {
 public:
  ClockFollower(const RunContext& run, const SliceHorizon& horizon, ParkingLot& lot)
      : run_(run), horizon_(horizon), lot_(lot) {}

  // The thread's read of a clock is due. True: its next action is to read the clock again from the same
  // place; this is interpreted, and the thread is pending until the next read has taken its time. False: its
  // registers and memory are set to the state of this read, and it runs.
  bool follow(Thread& thread, const request::Spend& read);

 private:
  const RunContext& run_;
  const SliceHorizon& horizon_;
  ParkingLot& lot_;
};

}  // namespace verbatim::supervisor
