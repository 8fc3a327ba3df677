// With inlining, the compiler removes the function's branches on the length; the result is the library's.
#define XXH_INLINE_ALL
#include "sim/observe/record_hash.h"

#include <xxhash.h>

#include <type_traits>

namespace verbatim::observe {

static_assert(std::has_unique_object_representations_v<TraceRecord>);

RecordHash hash_of(const TraceRecord& record) {
  const XXH128_hash_t hash = XXH3_128bits(&record, sizeof record);
  return {hash.low64, hash.high64};
}

}  // namespace verbatim::observe
