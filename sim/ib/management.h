// Management datagrams at adapters (IBA 13.4): 256 bytes between queue pairs 1, the general services
// interface, or queue pairs 0, the subnet management interface (IBA 14.1), whose packets use VL15.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "sim/ib/packet.h"

namespace verbatim::ib {

inline constexpr std::size_t kMadBytes = 256;
using Mad = std::array<std::byte, kMadBytes>;

inline constexpr Qpn kSubnetManagementQp{0};
inline constexpr Qpn kGeneralServicesQp{1};
inline constexpr std::uint32_t kGeneralServicesQkey = 0x8001'0000;

struct ManagementDatagram {
  // The far end: destination or source. On Ethernet the GRH alone identifies it.
  Lid lid;
  ServiceLevel service_level;
  std::uint16_t pkey = 0xffff;
  std::optional<Grh> grh;  // as on the wire
  Mad mad{};
  // Interface by which it is sent or received, and the far end's queue pair.
  Qpn queue = kGeneralServicesQp;
  Qpn remote_queue = kGeneralServicesQp;
  std::uint32_t qkey = kGeneralServicesQkey;  // sent with it; unused by queue pair 0

  bool is_subnet_management() const { return queue == kSubnetManagementQp; }
};

// Receiver of the datagrams of one port.
class ManagementAgent {
 public:
  virtual void on_datagram(const ManagementDatagram& datagram) = 0;
  // The port's link has gone down or come up.
  virtual void on_link(bool up) = 0;
  // The adapter has failed permanently: no more calls follow.
  virtual void on_failure() {}

 protected:
  ~ManagementAgent() = default;
};

// Sends them.
class ManagementPort {
 public:
  virtual void send(const ManagementDatagram& datagram) = 0;

 protected:
  ~ManagementPort() = default;
};

}  // namespace verbatim::ib
