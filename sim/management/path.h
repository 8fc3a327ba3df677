// A path between two ports, as in a path record (IBA 15.2.5.16).
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "sim/ib/management.h"
#include "sim/ib/packet.h"

namespace verbatim::management {

struct Path {
  ib::Gid sgid, dgid;
  ib::Lid slid, dlid;  // 0 on Ethernet
  std::uint32_t flow_label = 0;
  std::uint16_t pkey = 0xffff;
  std::uint8_t hop_limit = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t service_level = 0;
  std::uint8_t mtu = 0;               // code of ibv_mtu
  std::uint8_t rate = 0;              // code of ibv_rate
  std::uint8_t packet_life_time = 0;  // 4.096 us << value

  // Whether packets have a GRH: all on Ethernet, otherwise those that leave the subnet.
  bool is_global() const { return hop_limit > 1 || dlid.value == 0; }
  Path reversed() const {
    Path path = *this;
    std::swap(path.sgid, path.dgid);
    std::swap(path.slid, path.dlid);
    return path;
  }
  // A management datagram for this path.
  ib::ManagementDatagram datagram() const {
    ib::ManagementDatagram datagram;
    datagram.lid = dlid;
    datagram.service_level = ib::ServiceLevel{service_level};
    datagram.pkey = pkey;
    if (is_global()) datagram.grh = ib::Grh{sgid, dgid, flow_label, traffic_class, hop_limit};
    return datagram;
  }
};

// 4.096 us << code, in milliseconds, at least one, as computed by Linux' connection manager
// (cm_convert_to_ms).
constexpr std::int64_t milliseconds_of(std::uint8_t code) {
  constexpr int kMost = 31, kOne = 8;
  return std::int64_t{1} << (std::clamp<int>(code, kOne, kMost) - kOne);
}

}  // namespace verbatim::management
