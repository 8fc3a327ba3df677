// Addresses of the management network: each host has an IPv4 address of its own and an IPv6 address made from it, and so has
// each of its adapters beyond the first; it reaches itself by the loopback addresses. IPv4 addresses are kept as IPv6 keeps
// them, mapped into ::ffff:0:0/96.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/supervisor/spec/host_spec.h"

namespace verbatim::supervisor {

// The interfaces of every host: lo and eth0. Those of further adapters follow (interfaces.h).
inline constexpr int kLoopbackIndex = 1, kEthernetIndex = 2;

class IpAddress {
 public:
  IpAddress() = default;  // ::
  static IpAddress v4(std::uint32_t address);
  static IpAddress v6(std::span<const std::uint8_t, 16> bytes);
  static IpAddress v6_loopback();

  bool is_v4() const;
  std::uint32_t as_v4() const;  // host byte order; of an IPv4 address only
  const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }
  bool any() const;        // 0.0.0.0 or ::
  bool loopback() const;   // 127.0.0.0/8 or ::1
  bool multicast() const;  // 224.0.0.0/4, the limited broadcast address, or ff00::/8
  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};
};

struct Endpoint {
  IpAddress address;
  std::uint16_t port = 0;
  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};
std::string to_string(const IpAddress& address);
std::string to_string(const Endpoint& endpoint);

// Of `count` sockets that share a port (SO_REUSEPORT), the one that what comes from `source` goes to: always the same, and
// neighbouring ports to each in turn.
std::size_t share_of(const Endpoint& source, std::size_t count);

// What a socket is bound to: an endpoint, and whether an unspecified IPv6 address stands for IPv4 as well.
struct Binding {
  Endpoint local;
  bool v6_only = true;

  bool accepts(const IpAddress& destination) const;
  bool overlaps(const Binding& other) const;
};

// The endpoint that a program names to a socket of `family`; -errno in `error` when it is none.
std::optional<Endpoint> parse_endpoint(int family, std::span<const std::byte> name, int* error);
// The name by which a socket of `family` shows it: sockaddr_in or sockaddr_in6.
std::vector<std::byte> name_of(int family, const Endpoint& endpoint);
// 0.0.0.0 or ::.
IpAddress any_address(int family);

}  // namespace verbatim::supervisor
