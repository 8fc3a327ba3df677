// XXH3-128 with the widest vectors that this processor has: what a package has of it is made for the oldest of its kind. The
// result is the same.
#pragma once

#include <xxhash.h>

#include <cstddef>

namespace verbatim::observe {

// As XXH3_128bits().
using WideHash = XXH128_hash_t (*)(const void* bytes, std::size_t length);

WideHash widest_hash();
// nullptr: this processor has none of 32 bytes (AVX2).
WideHash avx2_hash();

}  // namespace verbatim::observe
