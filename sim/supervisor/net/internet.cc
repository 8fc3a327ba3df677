#include "sim/supervisor/net/internet.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace verbatim::supervisor {

IpAddress IpAddress::v4(std::uint32_t address) {
  IpAddress result;
  result.bytes_[10] = result.bytes_[11] = 0xff;
  for (int i = 0; i < 4; ++i) result.bytes_[12 + i] = static_cast<std::uint8_t>(address >> (24 - 8 * i));
  return result;
}

IpAddress IpAddress::v6(std::span<const std::uint8_t, 16> bytes) {
  IpAddress result;
  std::copy(bytes.begin(), bytes.end(), result.bytes_.begin());
  return result;
}

IpAddress IpAddress::v6_loopback() {
  IpAddress result;
  result.bytes_[15] = 1;
  return result;
}

bool IpAddress::is_v4() const {
  return std::all_of(bytes_.begin(), bytes_.begin() + 10, [](std::uint8_t b) { return b == 0; }) &&
         bytes_[10] == 0xff && bytes_[11] == 0xff;
}

std::uint32_t IpAddress::as_v4() const {
  return static_cast<std::uint32_t>(bytes_[12]) << 24 | static_cast<std::uint32_t>(bytes_[13]) << 16 |
         static_cast<std::uint32_t>(bytes_[14]) << 8 | bytes_[15];
}

bool IpAddress::any() const { return *this == IpAddress() || *this == v4(0); }
bool IpAddress::loopback() const { return *this == v6_loopback() || (is_v4() && bytes_[12] == 127); }
bool IpAddress::multicast() const {
  return is_v4() ? bytes_[12] >> 4 == 14 || as_v4() == INADDR_BROADCAST : bytes_[0] == 0xff;
}

std::string to_string(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN];
  if (address.is_v4()) {
    inet_ntop(AF_INET, address.bytes().data() + 12, text, sizeof text);
  } else {
    inet_ntop(AF_INET6, address.bytes().data(), text, sizeof text);
  }
  return text;
}

std::string to_string(const Endpoint& e) {
  const std::string address = to_string(e.address);
  return e.address.is_v4() ? fmt::format("{}:{}", address, e.port) : fmt::format("[{}]:{}", address, e.port);
}

std::size_t share_of(const Endpoint& source, std::size_t count) {
  std::size_t sum = source.port;
  for (const std::uint8_t byte : source.address.bytes()) sum += byte;
  return sum % count;
}

bool Binding::accepts(const IpAddress& destination) const {
  if (local.address == destination) return true;
  if (!local.address.any()) return false;
  if (local.address.is_v4()) return destination.is_v4();
  return !v6_only || !destination.is_v4();
}

bool Binding::overlaps(const Binding& other) const {
  if (local.port != other.local.port) return false;
  if (accepts(other.local.address) || other.accepts(local.address)) return true;
  // Both unspecified, of different families: :: also accepts IPv4 unless IPV6_V6ONLY is set.
  const Binding& six = local.address.is_v4() ? other : *this;
  return local.address.any() && other.local.address.any() && !six.v6_only;
}

std::optional<Endpoint> parse_endpoint(int family, std::span<const std::byte> name, int* error) {
  *error = -EINVAL;
  sa_family_t given;
  if (name.size() < sizeof given) return std::nullopt;
  std::memcpy(&given, name.data(), sizeof given);
  if (family == AF_INET) {
    sockaddr_in in;
    if (name.size() < sizeof in) return std::nullopt;
    std::memcpy(&in, name.data(), sizeof in);
    *error = -EAFNOSUPPORT;
    if (given != AF_INET && !(given == AF_UNSPEC && in.sin_addr.s_addr == 0)) return std::nullopt;
    return Endpoint{IpAddress::v4(ntohl(in.sin_addr.s_addr)), ntohs(in.sin_port)};
  }
  constexpr std::size_t kWithoutScope = offsetof(sockaddr_in6, sin6_scope_id);
  if (name.size() < kWithoutScope) return std::nullopt;
  sockaddr_in6 in6{};
  std::memcpy(&in6, name.data(), std::min(name.size(), sizeof in6));
  *error = -EAFNOSUPPORT;
  if (given != AF_INET6) return std::nullopt;
  return Endpoint{IpAddress::v6(std::span<const std::uint8_t, 16>(in6.sin6_addr.s6_addr, 16)),
                  ntohs(in6.sin6_port)};
}

std::vector<std::byte> name_of(int family, const Endpoint& endpoint) {
  const auto bytes_of = [](const auto& name) {
    const auto bytes = std::as_bytes(std::span(&name, 1));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  if (family == AF_INET) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_addr.s_addr = htonl(endpoint.address.as_v4());
    in.sin_port = htons(endpoint.port);
    return bytes_of(in);
  }
  sockaddr_in6 in6{};
  in6.sin6_family = AF_INET6;
  std::memcpy(in6.sin6_addr.s6_addr, endpoint.address.bytes().data(), 16);
  in6.sin6_port = htons(endpoint.port);
  return bytes_of(in6);
}

IpAddress any_address(int family) { return family == AF_INET ? IpAddress::v4(0) : IpAddress(); }

}  // namespace verbatim::supervisor
