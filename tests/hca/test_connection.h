// A connection with values set by a test, for transport machines without a queue pair.
#pragma once

#include <cstdint>

#include "sim/hca/transport/connection.h"

namespace verbatim::hca {

inline constexpr std::uint32_t kTestMtu = 1024;

class TestConnection : public Connection {
 public:
  TestConnection(const HcaProfile& profile, const PortAddress& address, ib::QpType type)
      : Connection(ComponentId{0}, profile, address, 7, type, false) {
    state_ = ib::QpState::kRts;
    path_mtu_ = kTestMtu;
    attributes.timeout = 14;
    attributes.retry_cnt = 2;
    attributes.rnr_retry = 1;
    attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 2;
    attributes.min_rnr_timer = 12;
    attributes.qkey = 0x11;
    attributes.qp_access_flags = ib::kRemoteRights;
  }
  void enter(ib::QpState state) { state_ = state; }
};

inline PortAddress test_address() {
  PortAddress address;
  address.gids.resize(1);
  return address;
}

}  // namespace verbatim::hca
