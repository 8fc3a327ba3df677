// An rdma_cm_id's membership of a multicast group. On InfiniBand the subnet administrator is asked. On
// Ethernet no request is needed, because switches flood multicast frames.
#pragma once

#include <cstdint>

#include "sim/cm/rdma_cm.h"

namespace verbatim::cm {

// The GID of the group of `address`, as in Linux (cma_set_mgid, cma_iboe_set_mgid). Zero for an address of
// zeros.
ib::Gid group_gid(const Address& address, PortSpace space, std::uint16_t pkey, bool roce);

class MulticastMember final : public management::SubnetQueryClient {
 public:
  // Joins the group, and leaves it at destruction. `id`, which outlives the member, gets an event with the
  // result.
  MulticastMember(RdmaId& id, std::uint32_t number, const Address& address);
  ~MulticastMember();

 private:
  void on_answer(const ib::Mad* answer) override;
  void on_timer();

  RdmaId& id_;
  const std::uint32_t number_;
  ib::Gid group_;
  bool is_member_ = false;  // the join has been confirmed
  Timer timer_;
};

}  // namespace verbatim::cm
