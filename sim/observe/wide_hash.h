// XXH3-128 with the widest vectors of this processor; a distribution's package is compiled for the oldest
// one. The result is the same.
#pragma once

#include <xxhash.h>

#include <cstddef>

namespace verbatim::observe {

// Like XXH3_128bits().
using WideHash = XXH128_hash_t (*)(const void* bytes, std::size_t length);

WideHash widest_hash();
// nullptr if this processor lacks AVX2 (vectors of 32 bytes).
WideHash avx2_hash();

}  // namespace verbatim::observe
