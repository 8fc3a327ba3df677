// Compiled for processors with AVX2, and so nothing but the hash: an inline function of another header would be taken from here,
// too, for the rest of the program.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace verbatim::observe {

void hash_with_avx2(const void* bytes, std::size_t length, void* hash) {
  *static_cast<XXH128_hash_t*>(hash) = XXH3_128bits(bytes, length);
}

}  // namespace verbatim::observe
