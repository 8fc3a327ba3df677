// Receive side scaling: the Toeplitz hash of a frame's addresses and ports chooses a queue of an indirection table, so that
// frames of one flow keep to one queue and their order (Microsoft, "RSS hashing types" and "Verifying the RSS hash
// calculation").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/hca/slot.h"
#include "sim/ib/frame.h"
#include "verbs_shim/protocol/commands.h"

namespace verbatim::hca {

class QueuePair;

// ibv_rx_hash_fields
enum HashField : std::uint64_t {
  kHashSourceIpv4 = 1 << 0,
  kHashDestinationIpv4 = 1 << 1,
  kHashSourceIpv6 = 1 << 2,
  kHashDestinationIpv6 = 1 << 3,
  kHashSourcePortTcp = 1 << 4,
  kHashDestinationPortTcp = 1 << 5,
  kHashSourcePortUdp = 1 << 6,
  kHashDestinationPortUdp = 1 << 7,
  kHashInner = 1ull << 31,  // fields of the frame in a tunnel
};
inline constexpr std::uint64_t kHashFields = 0xff | kHashInner;
inline constexpr std::uint8_t kToeplitz = 1;  // ibv_rx_hash_function_flags

using HashKey = std::array<std::uint8_t, protocol::ReceiveHash::kKeyBytes>;

// At most 36 bytes.
std::uint32_t toeplitz_hash(const HashKey& key, std::span<const std::byte> bytes);
// Hash of those `fields` that a frame has, addresses before ports and sources before destinations; 0 when it
// has none.
std::uint32_t hash_of(const ib::Frame& frame, const HashKey& key, std::uint64_t fields);

// The work queues and the hash by which a queue pair distributes received frames.
struct ReceiveScaling {
  std::uint32_t table = 0;  // handle
  HashKey key{};
  std::uint64_t fields = 0;
  std::vector<Ref<QueuePair>> queues;  // a power of two

  const Ref<QueuePair>& queue_for(const ib::Frame& frame) const {
    return queues[hash_of(frame, key, fields) & (queues.size() - 1)];
  }
};

}  // namespace verbatim::hca
