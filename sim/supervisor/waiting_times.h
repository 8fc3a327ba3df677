// How threads wait by running: what of their virtual time they were parked (sim/supervisor/parking.h), and what of the
// run's real time they went round in empty poll loops all the same, with the reason. Figures for people: real time decides
// nothing and is in no digest.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/core/time.h"

namespace verbatim::supervisor {

struct WaitingTime {
  std::string thread;          // "client: poller (pid 1001), thread 1003"
  Duration parked{};           // virtual time
  std::uint64_t parks = 0;     // how often
  double polling_seconds = 0;  // real time in empty polls that were executed
  std::string place;           // of the poll in the last loop that was not proven: "poller+0x11a6"; "" when there is none
  std::string refusal;         // why, completes "it …"
};

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

// The file that is mapped at `address` of a process and the offset of the address from where its first part lies:
// "poller+0x11a6". The number itself where nothing is mapped from a file.
std::string place_in_files(int native_pid, std::uint64_t address);

}  // namespace verbatim::supervisor
