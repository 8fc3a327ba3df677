// Finds runs that would never end because timers keep virtual time moving: programs that wait for something that has
// failed, and look at it again and again.
//
// Progress is a record of the fabric, an adapter, the management network or a program's start, end or output, and a call
// of a program that changes something (kernel/progress.h). A run hangs if for the time of Limits::without_progress there
// was none, some thread has waited repeatedly meanwhile, each time for at most a tenth of that time or until a timer that
// it has set, and no thread is in a longer sleep.
#pragma once

#include "sim/supervisor/run_context.h"

namespace verbatim::supervisor {

class Kernel;
class ProcessList;

class IdleWatch {
 public:
  IdleWatch(const RunContext& run, const Kernel& kernel, const ProcessList& processes);

  // Time of the next look at the run: threads make no calls after it before then. kNever: none.
  const Instant& next_look() const { return next_look_; }
  // Called when no event before or at next_look() is left; the next one is at `next_event`. True: the run hangs. False:
  // next_look() is later than before.
  bool finds_hang(Instant next_event);
  // Time of the last progress.
  Instant last_progress() const;

 private:
  const RunContext& run_;
  const Kernel& kernel_;
  const ProcessList& processes_;
  Instant next_look_ = kNever;
};

}  // namespace verbatim::supervisor
