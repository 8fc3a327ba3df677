#include "sim/observe/wide_hash.h"

namespace verbatim::observe {

XXH_errorcode update_with_avx2(void* state, const void* bytes, std::size_t length);

HashUpdate avx2_hash_update() {
  constexpr HashUpdate kUpdate = [](XXH3_state_t* state, const void* bytes, std::size_t length) {
    return update_with_avx2(state, bytes, length);
  };
  return __builtin_cpu_supports("avx2") != 0 ? kUpdate : nullptr;
}

HashUpdate widest_hash_update() {
  static const HashUpdate chosen = avx2_hash_update() != nullptr ? avx2_hash_update() : XXH3_128bits_update;
  return chosen;
}

}  // namespace verbatim::observe
