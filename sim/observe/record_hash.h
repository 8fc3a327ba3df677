// XXH3-128 of a record. The length is known at compile time, which matters because every packet on every link
// is hashed.
#pragma once

#include <cstdint>

#include "sim/core/trace.h"

namespace verbatim::observe {

struct RecordHash {
  std::uint64_t low = 0, high = 0;
};

// Hash of the record's memory.
RecordHash hash_of(const TraceRecord& record);

}  // namespace verbatim::observe
