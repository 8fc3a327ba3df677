// The network that TCP and UDP between hosts ride on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "sim/core/time.h"

namespace verbatim::supervisor {

enum class NetworkProtocol : std::uint8_t { kTcp, kUdp };

// What becomes of one TCP segment or UDP datagram on its way.
struct NetworkFate {
  bool is_lost = false;
  Duration delay{0};
};

// The network that TCP and UDP between hosts ride on: every pair of hosts is connected, with one rate for each
// connection's or pair's direction.
struct ManagementNetworkSpec {
  Duration latency{20'000'000};                // one way
  std::uint64_t bits_per_second = 10'000'000'000;
  // Asked about everything that leaves a host for another one, at the virtual time `when` at which it does, its
  // repetitions included. Empty: nothing is lost.
  std::function<NetworkFate(NetworkProtocol, std::size_t from, std::size_t to, Instant when)> faults;
};

}  // namespace verbatim::supervisor
