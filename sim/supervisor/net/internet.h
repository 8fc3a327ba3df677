// Addresses of the management network. Each host, and each of its adapters beyond the first, has an IPv4
// address and an IPv6 address derived from it; a host reaches itself by the loopback addresses. IPv4
// addresses are stored as IPv4-mapped IPv6 addresses (::ffff:0:0/96).
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

// Indices of lo and eth0, which every host has; those of further adapters follow (interfaces.h).
inline constexpr int kLoopbackIndex = 1, kEthernetIndex = 2;

class IpAddress {
 public:
  IpAddress() = default;  // ::
  static IpAddress v4(std::uint32_t address);
  static IpAddress v6(std::span<const std::uint8_t, 16> bytes);
  static IpAddress v6_loopback();

  bool is_v4() const;
  std::uint32_t as_v4() const;  // host byte order; for IPv4 addresses only
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

// Index of the socket, among `count` that share a port (SO_REUSEPORT), that receives traffic from `source`: a
// fixed function of `source` that spreads neighbouring ports evenly.
std::size_t share_of(const Endpoint& source, std::size_t count);

// A socket's local endpoint, and whether an unspecified IPv6 address also accepts IPv4.
struct Binding {
  Endpoint local;
  bool v6_only = true;

  bool accepts(const IpAddress& destination) const;
  bool overlaps(const Binding& other) const;
};

// The endpoint in a program's socket address for a socket of `family`; nullopt and -errno in `error`.
std::optional<Endpoint> parse_endpoint(int family, std::span<const std::byte> name, int* error);
// The endpoint as sockaddr_in or sockaddr_in6, according to `family`.
std::vector<std::byte> name_of(int family, const Endpoint& endpoint);
// 0.0.0.0 or ::.
IpAddress any_address(int family);

}  // namespace verbatim::supervisor
