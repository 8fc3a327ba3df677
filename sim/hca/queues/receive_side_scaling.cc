#include "sim/hca/queues/receive_side_scaling.h"

#include <vector>

#include "sim/core/check.h"

namespace verbatim::hca {

std::uint32_t toeplitz_hash(const HashKey& key, std::span<const std::byte> bytes) {
  CHECK(bytes.size() + sizeof(std::uint32_t) <= key.size());
  std::uint32_t hash = 0;
  std::uint32_t window = 0;  // the 32 bits of the key that begin at the input's bit
  for (std::size_t i = 0; i < sizeof(window); ++i) window = window << 8 | key[i];
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint8_t next = key[i + sizeof(window)];
    for (int bit = 7; bit >= 0; --bit) {
      if ((std::to_integer<int>(bytes[i]) >> bit & 1) != 0) hash ^= window;
      window = window << 1 | (next >> bit & 1);
    }
  }
  return hash;
}

std::uint32_t hash_of(const ib::Frame& frame, const HashKey& key, std::uint64_t fields) {
  const ib::FrameLayer& headers = (fields & kHashInner) != 0 ? frame.inner : frame.outer;
  std::vector<std::byte> input;
  const auto add = [&](std::uint64_t field, std::span<const std::byte> from, std::size_t at, std::size_t bytes) {
    if ((fields & field) == 0 || from.empty()) return;
    input.insert(input.end(), from.begin() + static_cast<std::ptrdiff_t>(at),
                 from.begin() + static_cast<std::ptrdiff_t>(at + bytes));
  };
  constexpr std::size_t kIpv4At = 12, kIpv4Bytes = 4, kIpv6At = 8, kIpv6Bytes = 16, kPortBytes = 2;
  add(kHashSourceIpv4, headers.ipv4, kIpv4At, kIpv4Bytes);
  add(kHashDestinationIpv4, headers.ipv4, kIpv4At + kIpv4Bytes, kIpv4Bytes);
  add(kHashSourceIpv6, headers.ipv6, kIpv6At, kIpv6Bytes);
  add(kHashDestinationIpv6, headers.ipv6, kIpv6At + kIpv6Bytes, kIpv6Bytes);
  const bool is_tcp = headers.protocol == ib::kProtocolTcp;
  add(is_tcp ? kHashSourcePortTcp : kHashSourcePortUdp, headers.ports, 0, kPortBytes);
  add(is_tcp ? kHashDestinationPortTcp : kHashDestinationPortUdp, headers.ports, kPortBytes, kPortBytes);
  return toeplitz_hash(key, input);
}

}  // namespace verbatim::hca
