// Interruption of this process: SIGINT, SIGTERM and, unless the process ignores it as under nohup(1), SIGHUP. Part of real time:
// it ends a run or a verb, and changes nothing else.
#pragma once

#include <array>

namespace verbatim {

inline constexpr std::array<int, 3> kInterruptingSignals{2, 15, 1};  // SIGINT, SIGTERM, SIGHUP

class Interruption {
 public:
  // Does not return; it is called in a signal handler. `was_slow`: the process had kForcedEndMs to end by itself and did not.
  using End = void (*)(bool was_slow);
  static constexpr int kForcedEndMs = 1500;

  // From now on, and until the process ends, an interrupting signal calls `end`: at once where no Watch lives, else after
  // kForcedEndMs.
  static void end_by(End end);

  // Interrupting signals since the first of the present Watches was made. Costs nothing: long computations ask in every step.
  static int count();
  static bool came() { return count() != 0; }

  // Whether it is one of kInterruptingSignals that this process takes.
  static bool takes(int signal);

  // In a process that was forked: earlier signals and Watches are its parent's.
  static void forget();

  // Replaces the handler of `signal` that a library has set (Boost.Asio's signal_set), and calls it from its own; calls it no
  // longer, and replaces what the library has set at its end. While a Watch lives.
  static void call_also(int signal);
  static void call_no_longer(int signal);

  // While one lives, interrupting signals are counted, and interrupt system calls; whoever made it ends what goes on.
  class Watch {
   public:
    Watch();
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
  };
};

}  // namespace verbatim
