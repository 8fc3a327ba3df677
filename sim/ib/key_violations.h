// Packets and datagrams with wrong keys: PortInfo counts them (IBA 14.2.5.6), and traps 257 and 258 report
// each to a subnet manager (IBA 14.2.5.1). Subnet management datagrams with a wrong M_Key are counted by the
// agent.
#pragma once

#include <cstdint>

#include "sim/ib/packet.h"
#include "sim/ib/types.h"

namespace verbatim::ib {

// A 16-bit counter that saturates until an agent sets it.
class ViolationCounter {
 public:
  void count() {
    if (value_ < 0xffff) ++value_;
  }
  std::uint16_t value() const { return value_; }
  void set(std::uint16_t value) { value_ = value; }

 private:
  std::uint16_t value_ = 0;
};

struct KeyViolations {
  ViolationCounter pkey, qkey, mkey;
};

// Identification of the packet. Without a DETH the source queue pair is unknown, without a GRH the GIDs: 0.
struct KeyViolation {
  std::uint32_t key = 0;  // its P_Key or Q_Key
  ServiceLevel service_level;
  Lid source_lid, destination_lid;
  Qpn source_qp, destination_qp;
  Gid source_gid, destination_gid;
};

// Notified of the violations at one port when they are detected. It may send datagrams at once.
class KeyViolationListener {
 public:
  virtual void on_bad_pkey(const KeyViolation& violation) = 0;
  virtual void on_bad_qkey(const KeyViolation& violation) = 0;

 protected:
  ~KeyViolationListener() = default;
};

}  // namespace verbatim::ib
