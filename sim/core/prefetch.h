// Cache prefetch hints (`Timer::with_prefetch`). They do not affect results, and any address is allowed.
#pragma once

#include <cstddef>

namespace verbatim {

inline constexpr std::size_t kCacheLineBytes = 64;

// `count` cache lines from number `first` on, counted from the line of the address, will be written.
inline void prefetch_lines(const void* address, std::size_t first, std::size_t count) {
  const char* const begin = static_cast<const char*>(address) + first * kCacheLineBytes;
  for (std::size_t i = 0; i < count; ++i) __builtin_prefetch(begin + i * kCacheLineBytes, 1);
}

}  // namespace verbatim
