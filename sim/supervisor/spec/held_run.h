// A run while a debugger holds the program that has the token: nothing else proceeds. Queries change nothing.
#pragma once

#include <string>
#include <vector>

#include "sim/core/time.h"
#include "sim/hca/inspection.h"

namespace verbatim::supervisor {

class HeldRun {
 public:
  // Queues of one open device.
  struct Queues {
    std::string program;  // "server: app (pid 1001)"
    hca::Inspection state;
  };

  virtual ~HeldRun() = default;
  // The held thread: "server: app (pid 1001), thread 1001".
  virtual std::string holder() const = 0;
  // Virtual time of the held thread. The fabric stays at fabric_now() until the program
  // makes its next request.
  virtual Instant now() const = 0;
  virtual Instant fabric_now() const = 0;
  // One sentence for each waiting thread.
  virtual std::vector<std::string> waits() = 0;
  virtual std::vector<Queues> queues() = 0;
};

}  // namespace verbatim::supervisor
