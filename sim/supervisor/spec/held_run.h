// A run as it stands while a debugger holds the program whose turn it is: nothing else goes on meanwhile. To ask changes nothing.
#pragma once

#include <string>
#include <vector>

#include "sim/core/time.h"
#include "sim/hca/inspection.h"

namespace verbatim::supervisor {

class HeldRun {
 public:
  // Of one device that a program has opened.
  struct Queues {
    std::string program;  // "server: app (pid 1001)"
    hca::Inspection state;
  };

  virtual ~HeldRun() = default;
  // Who is held: "server: app (pid 1001), thread 1001".
  virtual std::string holder() const = 0;
  // Its virtual time. Until the program says what it does next, the fabric has come no further than fabric_now().
  virtual Instant now() const = 0;
  virtual Instant fabric_now() const = 0;
  // What each other thread waits for, a sentence each.
  virtual std::vector<std::string> waits() = 0;
  virtual std::vector<Queues> queues() = 0;
};

}  // namespace verbatim::supervisor
