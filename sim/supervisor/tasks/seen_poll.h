// A poll that found nothing, as handed over to the supervisor.
#pragma once

#include <cstdint>

#include "sim/core/time.h"

namespace verbatim::supervisor {

// A completion queue: the program's device handle and the queue's number.
struct PolledQueue {
  std::uint32_t context = 0;
  std::uint32_t number = 0;
};

struct SeenPoll {
  std::uint64_t handle = 0;  // ibv_cq* in the program
  PolledQueue queue;
  std::uint64_t entry = 0;     // offset in the arena of the entry that it looks at
  std::uint32_t sequence = 0;  // sequence number of the entry once it is written
  Duration cost{};
  Instant at{};                     // time of the look
  bool yields = false;              // a sched_yield(), which looks at no queue
  bool starts = false;              // an ibv_start_poll()
  std::uint64_t clock_gettime = 0;  // address of the function, which the loop may call
  std::uint32_t polls_before = 0;   // polls passed since the thread got the token, as reported by the thread
};

}  // namespace verbatim::supervisor
