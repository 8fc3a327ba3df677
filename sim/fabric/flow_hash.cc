#include "sim/fabric/flow_hash.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "sim/ib/frame.h"

namespace verbatim::fabric {

namespace {

// A hash of words without collisions between inputs that differ in one word: each step is invertible.
class WordHash {
 public:
  void add(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x9fb21c651e98df25ull;  // the multiplier of XXH3's rrmxmx
    state_ ^= state_ >> 32;
  }
  // The last word is padded with zeros.
  void add(std::span<const std::byte> bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, std::min(sizeof(word), bytes.size() - at));
      add(word);
    }
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

std::uint64_t flow_hash_of_frame(const ib::Packet& packet) {
  const ib::FrameLayer headers = ib::parse_frame(packet.payload.bytes()).outer;
  constexpr std::size_t kIpv4Addresses = 12, kIpv6Addresses = 8;
  WordHash hash;
  if (!headers.ipv4.empty()) hash.add(headers.ipv4.subspan(kIpv4Addresses));
  if (!headers.ipv6.empty()) hash.add(headers.ipv6.subspan(kIpv6Addresses));
  if (headers.ipv4.empty() && headers.ipv6.empty()) hash.add(headers.ethernet);
  hash.add(headers.ports);
  return hash.value();
}

}  // namespace

std::uint64_t flow_hash(const ib::Packet& packet) {
  if (packet.is_frame) return flow_hash_of_frame(packet);
  WordHash hash;
  hash.add(std::as_bytes(std::span(packet.grh->source.raw)));
  hash.add(std::as_bytes(std::span(packet.grh->destination.raw)));
  hash.add(packet.ethernet->udp_source_port);
  return hash.value();
}

}  // namespace verbatim::fabric
