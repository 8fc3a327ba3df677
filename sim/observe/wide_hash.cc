#include "sim/observe/wide_hash.h"

namespace verbatim::observe {

void hash_with_avx2(const void* bytes, std::size_t length, void* hash);

WideHash avx2_hash() {
  constexpr WideHash kHash = [](const void* bytes, std::size_t length) {
    XXH128_hash_t hash;
    hash_with_avx2(bytes, length, &hash);
    return hash;
  };
  return __builtin_cpu_supports("avx2") != 0 ? kHash : nullptr;
}

WideHash widest_hash() {
  static const WideHash chosen = avx2_hash() != nullptr ? avx2_hash() : XXH3_128bits;
  return chosen;
}

}  // namespace verbatim::observe
