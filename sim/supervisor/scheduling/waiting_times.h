// Statistics of polling per thread: the virtual time for which it was parked
// (sim/supervisor/tasks/parking.h), the real time spent in empty poll loops that were executed, and the
// reason. Real time is for information only: it influences nothing and is in no digest.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/supervisor/spec/waiting_time.h"

namespace verbatim::supervisor {

class WaitingTimes {
 public:
  // Statistics of the thread with virtual id `tid`, unique in a run. `name` is called for a new thread only.
  template <class Name>
  WaitingTime& of(std::uint32_t tid, Name&& name) {
    const auto [it, is_new] = times_.try_emplace(tid);
    if (is_new) it->second.thread = name();
    return it->second;
  }
  // By thread id.
  std::vector<WaitingTime> all() const {
    std::vector<WaitingTime> list;
    for (const auto& [tid, time] : times_) list.push_back(time);
    return list;
  }

 private:
  std::map<std::uint32_t, WaitingTime> times_;
};

}  // namespace verbatim::supervisor
