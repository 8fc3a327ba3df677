// Ephemeral ports (net.ipv4.ip_local_port_range) of sockets that connect or send unbound; they ascend on each
// host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace verbatim::supervisor {

class EphemeralPorts {
 public:
  // The host's next port for which `in_use(port)` is false; 0 if all are in use.
  template <typename InUse>
  std::uint16_t next(std::size_t host, InUse in_use) {
    auto [it, fresh] = next_.try_emplace(host, kFirst);
    for (int tries = 0; tries <= kLast - kFirst; ++tries) {
      const std::uint16_t port = it->second;
      it->second = port == kLast ? kFirst : static_cast<std::uint16_t>(port + 1);
      if (!in_use(port)) return port;
    }
    return 0;
  }

 private:
  static constexpr std::uint16_t kFirst = 32768, kLast = 60999;

  std::map<std::size_t, std::uint16_t> next_;
};

}  // namespace verbatim::supervisor
