// Network for TCP, UDP and ICMP between hosts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "sim/core/time.h"

namespace verbatim::supervisor {

enum class NetworkProtocol : std::uint8_t { kTcp, kUdp, kIcmp };

// Fate of one TCP segment, UDP datagram or ICMP echo message.
struct NetworkFate {
  bool is_lost = false;
  Duration delay{0};
};

// Every pair of hosts is connected, with one rate for each direction
// of a connection or pair.
struct ManagementNetworkSpec {
  Duration latency{20'000'000};                // one way
  std::uint64_t bits_per_second = 10'000'000'000;
  // Called for everything that leaves a host for another one, retransmissions included, at its virtual time
  // `when`. Empty: nothing is lost.
  std::function<NetworkFate(NetworkProtocol, std::size_t from, std::size_t to, Instant when)> faults;
};

}  // namespace verbatim::supervisor
