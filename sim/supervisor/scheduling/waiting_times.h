// How threads wait by running: what of their virtual time they were parked (sim/supervisor/tasks/parking.h), and what of the
// run's real time they went round in empty poll loops all the same, with the reason. Figures for people: real time decides
// nothing and is in no digest.
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
  // `tid` is the virtual one, which no two threads of a run share. `name` is asked for when the thread is new.
  template <class Name>
  WaitingTime& of(std::uint32_t tid, Name&& name) {
    const auto [it, is_new] = times_.try_emplace(tid);
    if (is_new) it->second.thread = name();
    return it->second;
  }
  // In the order of their ids.
  std::vector<WaitingTime> all() const {
    std::vector<WaitingTime> list;
    for (const auto& [tid, time] : times_) list.push_back(time);
    return list;
  }

 private:
  std::map<std::uint32_t, WaitingTime> times_;
};

}  // namespace verbatim::supervisor
