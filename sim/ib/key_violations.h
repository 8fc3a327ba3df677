// Packets and datagrams with keys that are not the port's: PortInfo counts them (IBA 14.2.5.6), and traps 257 and 258 tell a
// subnet manager of each (IBA 14.2.5.1). Subnet management datagrams with a wrong M_Key are an agent's to count.
#pragma once

#include <cstdint>

#include "sim/ib/packet.h"
#include "sim/ib/types.h"

namespace verbatim::ib {

// 16 bits that stay at their greatest value until an agent sets them.
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

// What such a packet says of itself. A packet without a DETH does not name the queue pair that it comes from, one without a
// GRH has no GIDs: 0.
struct KeyViolation {
  std::uint32_t key = 0;  // its P_Key or Q_Key
  ServiceLevel service_level;
  Lid source_lid, destination_lid;
  Qpn source_qp, destination_qp;
  Gid source_gid, destination_gid;
};

// Who is told of the violations at one port, when they are found. It may send datagrams at once.
class KeyViolationListener {
 public:
  virtual void on_bad_pkey(const KeyViolation& violation) = 0;
  virtual void on_bad_qkey(const KeyViolation& violation) = 0;

 protected:
  ~KeyViolationListener() = default;
};

}  // namespace verbatim::ib
