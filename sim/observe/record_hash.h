// XXH3-128 of a few bytes whose number is known when it is compiled: a record of every packet on every link is hashed.
#pragma once

#include <cstdint>

#include "sim/core/trace.h"

namespace verbatim::observe {

struct RecordHash {
  std::uint64_t low = 0, high = 0;
};

// The hash of the record's memory.
RecordHash hash_of(const TraceRecord& record);

}  // namespace verbatim::observe
