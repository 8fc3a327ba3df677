// Interrupts this process, as Ctrl-C does, when a wall time is over (sim/core/interruption.h).
#pragma once

#include "sim/core/time.h"

namespace verbatim::cli {

class WallLimit {
 public:
  // `limit` of 0: none. One exists at a time. Uses SIGALRM.
  explicit WallLimit(Duration limit);
  ~WallLimit();
  WallLimit(const WallLimit&) = delete;
  WallLimit& operator=(const WallLimit&) = delete;

  // Whether an object exists whose limit was reached. May be called in a signal handler.
  static bool is_reached();

  // The run has ended: neither the limit nor the forced end that it has begun applies to what follows. The
  // forced end of a user's interruption stays.
  void stop();

 private:
  const bool is_set_;
};

}  // namespace verbatim::cli
