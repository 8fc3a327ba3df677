#include "sim/host/pcie_profile.h"

#include <numeric>

#include "sim/core/check.h"

namespace verbatim::host {

ByteTime pcie_byte_time(std::uint32_t generation, std::uint32_t lanes) {
  CHECK(generation >= 2 && generation <= 5);
  CHECK(lanes == 1 || lanes == 2 || lanes == 4 || lanes == 8 || lanes == 16);
  // Bit time on one lane, times the bits of a coded byte: 8b/10b has 8 data bits in 10, 128b/130b 128 in 130.
  std::uint64_t numerator = 0;
  std::uint64_t denominator = 0;
  if (generation == 2) {
    numerator = 200ull * 10;  // 5 GT/s: 200 ps per bit
    denominator = lanes;
  } else {
    const std::uint64_t giga_transfers = 8ull << (generation - 3);
    numerator = 1000ull * 8 * 130;
    denominator = giga_transfers * 128 * lanes;
  }
  const std::uint64_t common = std::gcd(numerator, denominator);
  return ByteTime{numerator / common, denominator / common};
}

ByteTime tlp_byte_time(const PcieProfile& profile) {
  const ByteTime line = pcie_byte_time(profile.generation, profile.lanes);
  if (profile.dllp_interval_bytes == 0) return line;
  constexpr std::uint64_t kDllpPair = 2 * 8, kSkip = 4, kSkipInterval = 1538;
  CHECK(profile.dllp_interval_bytes > 2 * kDllpPair);
  // 1 / (1 - pair / interval - skip / skip interval)
  const std::uint64_t all = profile.dllp_interval_bytes * kSkipInterval;
  const std::uint64_t left = all - kDllpPair * kSkipInterval - kSkip * profile.dllp_interval_bytes;
  const std::uint64_t numerator = line.ps_numerator * all, denominator = line.denominator * left;
  const std::uint64_t common = std::gcd(numerator, denominator);
  return ByteTime{numerator / common, denominator / common};
}

}  // namespace verbatim::host
