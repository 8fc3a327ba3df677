// XXH3-128 with the widest vectors that this processor has: what a package has of it is made for the oldest of its kind. The
// result is the same.
#pragma once

#include <xxhash.h>

#include <cstddef>

namespace verbatim::observe {

// As XXH3_128bits_update().
using HashUpdate = XXH_errorcode (*)(XXH3_state_t* state, const void* bytes, std::size_t length);

HashUpdate widest_hash_update();
// nullptr: this processor has none of 32 bytes (AVX2).
HashUpdate avx2_hash_update();

}  // namespace verbatim::observe
