// An identifier's membership of a multicast group: asked of the subnet administrator on InfiniBand; on Ethernet nobody is asked,
// as switches flood what goes to groups.
#pragma once

#include <cstdint>

#include "sim/cm/rdma_cm.h"

namespace verbatim::cm {

// The GID of an address' group, as Linux makes it (cma_set_mgid, cma_iboe_set_mgid). Of an address of all zeros it is zero.
ib::Gid group_gid(const Address& address, PortSpace space, std::uint16_t pkey, bool roce);

class MulticastMember final : public management::SubnetQueryClient {
 public:
  // Tells `id`, which outlives it, how joining went. Leaves when it ends.
  MulticastMember(RdmaId& id, std::uint32_t number, const Address& address);
  ~MulticastMember();

 private:
  void on_answer(const ib::Mad* answer) override;
  void on_timer();

  RdmaId& id_;
  const std::uint32_t number_;
  ib::Gid group_;
  bool is_member_ = false;  // as the administrator knows
  Timer timer_;
};

}  // namespace verbatim::cm
