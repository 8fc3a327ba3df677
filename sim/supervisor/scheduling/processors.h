// The machine's processors as SecondCore sees them. Tests replace the functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>

namespace verbatim::supervisor {

// CPU time of a processor since the machine started, in the ticks of /proc/stat.
struct ProcessorTicks {
  std::uint64_t idle = 0, all = 0;  // `idle` includes waiting for disks
};

// Parses a list of processors as in /sys, for example "0,4-6".
std::set<int> processors_in(const std::string& text);

// Number of runnable threads, the caller included, in the text of /proc/loadavg (proc(5)); 0: unknown.
int running_threads_in(const std::string& text);

// The ticks of a processor in the text of /proc/stat (proc(5)); zero: unknown.
ProcessorTicks ticks_in(const std::string& text, int processor);

class Processors {
 public:
  using Clock = std::chrono::steady_clock;

  virtual ~Processors() = default;
  virtual Clock::time_point now() const { return Clock::now(); }
  // Moves the calling thread; false: refused.
  virtual bool run_on(int processor);
  // Hardware threads of the processor's core. Polling on one of them slows the others down.
  virtual std::set<int> siblings_of(int processor) const;
  // As running_threads_in().
  virtual int running_threads() const;
  virtual ProcessorTicks ticks(int processor) const;
  // Involuntary context switches of the calling thread.
  virtual std::int64_t interruptions() const;
  // Text of /proc/self/cgroup (cgroups(7)).
  virtual std::string control_groups() const;

  // Those of this machine.
  static Processors& of_machine();
};

}  // namespace verbatim::supervisor
