// Stalls of whole hosts: from the beginning of a stall to its end no thread of the host runs, as while a
// hypervisor or a garbage collector stops it. What is due meanwhile happens at the end; adapters and other
// hosts continue.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sim/core/time.h"

namespace verbatim::supervisor {

class HostStalls {
 public:
  explicit HostStalls(std::size_t hosts) : of_host_(hosts) {}

  // `now`: the engine's time; `from` is not earlier, or the part before it has no effect.
  void add(std::size_t host, Instant from, Instant until, Instant now) {
    std::erase_if(of_host_[host], [now](const Stall& stall) { return stall.until <= now; });
    of_host_[host].push_back({from, until});
  }
  // End of the stall at `now`; `now` if the host runs.
  Instant end_of(std::size_t host, Instant now) const {
    Instant end = now;
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (const Stall& stall : of_host_[host]) {
        if (stall.from > end || stall.until <= end) continue;
        end = stall.until;
        has_changed = true;
      }
    }
    return end;
  }
  // Beginning of the first stall after `now`; kNever: there is none.
  Instant next(std::size_t host, Instant now) const {
    Instant first = kNever;
    for (const Stall& stall : of_host_[host]) {
      if (stall.from > now) first = std::min(first, stall.from);
    }
    return first;
  }

 private:
  struct Stall {
    Instant from, until;
  };
  std::vector<std::vector<Stall>> of_host_;
};

}  // namespace verbatim::supervisor
