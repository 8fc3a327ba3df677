// With inlining, the compiler removes the function's branches on the length; the result is the library's.
#define XXH_INLINE_ALL
#include "sim/observe/record_hash.h"

#include <xxhash.h>

#include <bit>
#include <cstdint>
#include <type_traits>

namespace verbatim::observe {

static_assert(std::has_unique_object_representations_v<TraceRecord>);

RecordHash hash_of(const TraceRecord& record) {
  // The members as they lie in memory, in registers: a load of two members at once would wait for their stores.
  const std::uint64_t words[] = {static_cast<std::uint64_t>(record.time_ps),
                                 record.component | static_cast<std::uint64_t>(record.event) << 32,
                                 record.values[0], record.values[1], record.values[2], record.values[3], record.number};
  static_assert(sizeof words == sizeof record && std::endian::native == std::endian::little);
  const XXH128_hash_t hash = XXH3_128bits(words, sizeof words);
  return {hash.low64, hash.high64};
}

}  // namespace verbatim::observe
