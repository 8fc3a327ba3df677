// End-to-end flow control as the requester of a reliable connection obeys it (IBA 9.7.7.2.5): every
// acknowledgement says how many messages the responder has executed (MSN) and how many receives are posted
// beyond. Their sum is the number of the last message that surely finds a receive (LSN). One message beyond
// it may be begun, a limited one: it finds a receive posted meanwhile, or is answered by an RNR NAK.
// Either lets the requester continue.
//
// Messages that need no receive are not held back. Each raises the limit of those behind it by one, because
// the MSN counts it although it takes no receive.
#pragma once

#include <cstdint>

#include "sim/ib/aeth.h"
#include "sim/ib/packet.h"
#include "sim/ib/psn.h"

namespace verbatim::hca {

class EndToEndCredits {
 public:
  // A new connection, without messages or grants. With `obeys` false no message is held back.
  void start(bool obeys) {
    begun_ = limit_ = 0;
    is_unlimited_ = !obeys;
  }

  // Whether the next message may begin.
  bool may_begin(bool needs_receive) const {
    return is_unlimited_ || !needs_receive || ib::serial_distance(limit_, begun_) <= 0;
  }
  void on_begin(bool needs_receive) {
    begun_ = (begun_ + 1) & ib::kSerialMask;
    if (!needs_receive) limit_ = (limit_ + 1) & ib::kSerialMask;
  }
  // The AETH of an acknowledgement or response. Grants are rounded down and may be old: none lowers the
  // limit. True when this one raises it.
  bool on_grant(const ib::Aeth& aeth) {
    if (is_unlimited_) return false;
    const auto credits = ib::credits_of(ib::ack_value(aeth.syndrome));
    if (!credits) return is_unlimited_ = true;
    const std::uint32_t limit = (aeth.msn + *credits) & ib::kSerialMask;
    if (ib::serial_distance(limit_, limit) <= 0) return false;
    limit_ = limit;
    return true;
  }

 private:
  std::uint32_t begun_ = 0;  // number of the newest message begun (SSN), 24 bits
  std::uint32_t limit_ = 0;  // LSN, 24 bits
  bool is_unlimited_ = true;
};

}  // namespace verbatim::hca
