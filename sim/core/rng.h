// Random numbers by stream: splitmix64 seeded by (root seed, stream name). Integers and ratios only; the
// distributions of the standard library differ between implementations and are not used.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/core/check.h"

namespace verbatim {

constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = 14695981039346656037ull) {
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ull;
  }
  return hash;
}

class Rng {
 public:
  // `stream` names the purpose, for example "link/leaf0-h3/loss"; two purposes never share a stream.
  Rng(std::uint64_t root_seed, std::string_view stream)
      : state_(mix(root_seed ^ 0x9e3779b97f4a7c15ull) ^ fnv1a(stream)) {}

  std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15ull); }

  // Uniform in [0, bound); bound > 0. Lemire's multiplication with rejection, without bias.
  std::uint64_t below(std::uint64_t bound) {
    CHECK(bound > 0);
    while (true) {
      const unsigned __int128 product = static_cast<unsigned __int128>(next()) * bound;
      const auto low = static_cast<std::uint64_t>(product);
      if (low >= bound || low >= (0 - bound) % bound) return static_cast<std::uint64_t>(product >> 64);
    }
  }

  bool chance(std::uint64_t numerator, std::uint64_t denominator) {
    CHECK(denominator != 0 && numerator <= denominator);
    return below(denominator) < numerator;
  }

 private:
  static constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

}  // namespace verbatim
