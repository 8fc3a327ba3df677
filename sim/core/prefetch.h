// Hints to the processor's caches (`Timer::with_prefetch`). They have no effect on results, and any address may be given.
#pragma once

#include <cstddef>

namespace verbatim {

inline constexpr std::size_t kCacheLineBytes = 64;

// Cache lines `first`, `first` + 1, … of so many, counted from that of the address, will be written.
inline void prefetch_lines(const void* address, std::size_t first, std::size_t count) {
  const char* const begin = static_cast<const char*>(address) + first * kCacheLineBytes;
  for (std::size_t i = 0; i < count; ++i) __builtin_prefetch(begin + i * kCacheLineBytes, 1);
}

}  // namespace verbatim
