// Interruption of this process: SIGINT, SIGTERM and, unless the process ignores it as under nohup(1),
// SIGHUP. It belongs to real time: it ends a run or a verb and has no other effect.
#pragma once

#include <array>

namespace verbatim {

inline constexpr std::array<int, 3> kInterruptingSignals{2, 15, 1};  // SIGINT, SIGTERM, SIGHUP

class Interruption {
 public:
  // Called in a signal handler; does not return. `was_slow`: the process had kForcedEndMs to end by itself
  // and did not.
  using End = void (*)(bool was_slow);
  static constexpr int kForcedEndMs = 4000;

  // Until the process ends, an interrupting signal calls `end`: at once if no Watch exists, else after
  // kForcedEndMs.
  static void end_by(End end);

  // Interrupting signals since the first of the existing Watches was made. Cheap: long computations check
  // it in every step.
  static int count();
  static bool came() { return count() != 0; }

  // Whether `signal` is one of kInterruptingSignals that this process handles.
  static bool takes(int signal);

  // For a forked process: forgets its parent's signals and Watches.
  static void forget();

  // call_also() replaces the handler of `signal` that a library has set (Boost.Asio's signal_set) and calls
  // it from its own. stop_calling() stops calling it and replaces the handler that the library restored.
  // Both need a Watch.
  static void call_also(int signal);
  static void stop_calling(int signal);

  // While a Watch exists, interrupting signals are counted and interrupt system calls; its owner ends the
  // work in progress.
  class Watch {
   public:
    Watch();
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
  };
};

}  // namespace verbatim
