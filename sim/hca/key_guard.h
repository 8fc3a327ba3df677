// Counts packets with a wrong P_Key or Q_Key, which the port drops (IBA 10.9.4), and notifies a listener of
// each, such as an agent that sends traps.
#pragma once

#include "sim/ib/key_violations.h"
#include "sim/ib/packet.h"

namespace verbatim::hca {

class KeyGuard {
 public:
  void set_listener(ib::KeyViolationListener& listener) { listener_ = &listener; }
  ib::KeyViolations& violations() { return violations_; }
  const ib::KeyViolations& violations() const { return violations_; }

  void on_bad_pkey(const ib::Packet& packet);
  void on_bad_qkey(const ib::Packet& packet);

 private:
  ib::KeyViolations violations_;
  ib::KeyViolationListener* listener_ = nullptr;
};

}  // namespace verbatim::hca
