// Destination of a packet as text: "LID 3, QP 72"; the same for a packet and for its path.
#pragma once

#include <arpa/inet.h>

#include <string>

#include "sim/core/words.h"
#include "sim/ib/packet.h"

namespace verbatim::ib {

inline std::string text_of(const Gid& gid) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(AF_INET6, gid.raw, text, sizeof text);
  return text;
}

inline std::string addressee(Lid lid, Qpn qpn) { return join("LID ", lid.value, ", QP ", qpn.value); }
inline std::string addressee(const Gid& gid, Qpn qpn) { return join("GID ", text_of(gid), ", QP ", qpn.value); }

inline std::string addressee(const Packet& packet) {
  const Qpn qpn = packet.bth.destination;
  return packet.grh ? addressee(packet.grh->destination, qpn) : addressee(packet.lrh.destination, qpn);
}

}  // namespace verbatim::ib
