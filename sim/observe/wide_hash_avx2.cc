// Compiled for processors with AVX2, and so nothing but the hash: an inline function of another header would be taken from here,
// too, for the rest of the program.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace verbatim::observe {

// The state is that of the library: the same header declares it.
XXH_errorcode update_with_avx2(void* state, const void* bytes, std::size_t length) {
  return XXH3_128bits_update(static_cast<XXH3_state_t*>(state), bytes, length);
}

}  // namespace verbatim::observe
