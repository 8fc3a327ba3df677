// Short for tests: the instant `ps` picoseconds after the beginning.
#pragma once

#include <cstdint>

#include "sim/core/time.h"

namespace verbatim {

inline Instant at(std::int64_t ps) { return instant_from_ps(ps); }

}  // namespace verbatim
