// Management datagrams as adapters carry them (IBA 13.4): 256 bytes between queue pairs 1, the general services interface, or
// queue pairs 0, the subnet management interface (IBA 14.1), whose packets go on VL15.
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
  // The other end: where it goes to, or comes from. On Ethernet the GRH alone says so.
  Lid lid;
  ServiceLevel service_level;
  std::uint16_t pkey = 0xffff;
  std::optional<Grh> grh;  // as on the wire
  Mad mad{};
  // Which of the two interfaces it leaves or has come by, and the far end's queue pair.
  Qpn queue = kGeneralServicesQp;
  Qpn remote_queue = kGeneralServicesQp;
  std::uint32_t qkey = kGeneralServicesQkey;  // that it is sent with; of queue pair 0: none

  bool is_subnet_management() const { return queue == kSubnetManagementQp; }
};

// Who gets the datagrams of one port.
class ManagementAgent {
 public:
  virtual void on_datagram(const ManagementDatagram& datagram) = 0;
  // The port's cable has stopped carrying anything, or does again.
  virtual void on_link(bool up) = 0;
  // The adapter has failed for good: nothing comes any more.
  virtual void on_failure() {}

 protected:
  ~ManagementAgent() = default;
};

// Through which they are sent.
class ManagementPort {
 public:
  virtual void send(const ManagementDatagram& datagram) = 0;

 protected:
  ~ManagementPort() = default;
};

}  // namespace verbatim::ib
