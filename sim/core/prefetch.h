// Fetches memory into the processor's caches ahead of its use. Decides nothing: only real time depends on it.
#pragma once

#include <cstddef>

namespace verbatim {

inline constexpr std::size_t kCacheLineBytes = 64;

// The lines of so many bytes from `at` on, which need not be readable.
inline void prefetch(const void* at, std::size_t bytes = 1) {
  const char* const first = static_cast<const char*>(at);
  for (std::size_t line = 0; line < bytes; line += kCacheLineBytes) __builtin_prefetch(first + line);
  if (bytes > 1) __builtin_prefetch(first + bytes - 1);
}

}  // namespace verbatim
