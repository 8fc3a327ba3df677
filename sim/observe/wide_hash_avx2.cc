// Compiled for processors with AVX2, so it contains the hash only: the linker could use this file's copy of
// any inline function for the whole program.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace verbatim::observe {

void hash_with_avx2(const void* bytes, std::size_t length, void* hash) {
  *static_cast<XXH128_hash_t*>(hash) = XXH3_128bits(bytes, length);
}

}  // namespace verbatim::observe
