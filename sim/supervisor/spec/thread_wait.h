// An interval in which a thread was waiting; for people.
#pragma once

#include <cstdint>
#include <string>

#include "sim/core/ids.h"

namespace verbatim::supervisor {

struct ThreadWait {
  ComponentId host;
  std::uint32_t pid = 0, tid = 0;
  std::int64_t from_ps = 0, to_ps = 0;
  std::string what;  // "polling CQ 128", "futex", "read on completion channel"
};

}  // namespace verbatim::supervisor
