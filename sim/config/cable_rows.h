// Table rows shared by links and by generators, where they apply to all generated cables.
#pragma once

#include "sim/config/fields.h"
#include "sim/config/spec.h"
#include "sim/config/tables.h"

namespace verbatim::config {

template <auto Member>
Field flow_control_row() {
  return without_default(bind<Member>(
      {.key = "flow_control",
       .kind = Kind::kText,
       .doc =
           "credits: no packet is lost for want of space; pfc, on Ethernet: priorities are paused (IEEE 802.1Qbb); none, on "
           "Ethernet: a packet that finds the input buffer of its port full is dropped; left out: pfc at a switch whose ports "
           "share memory, else credits",
       .choices = {"credits", "pfc", "none"}}));
}
template <auto Member>
Field pfc_row() {
  using P = PauseSpec;
  static const Object table = make_object<P>(
      "priority-based flow control",
      "when a port asks the other end to pause a priority, and what that costs (IEEE 802.1Qbb)",
      {for_people("description", "for people"),
       bind<&P::ends>(
           {.key = "ends",
            .kind = Kind::kText,
            .doc =
                "ends that pause and are paused: both, or \"a\" or \"b\" of the link alone (of a generated one \"a\" is the host, or the "
                "lower switch); the other one knows no pauses and drops what finds no space. Needs allow_mismatch",
            .choices = {"both", "a", "b"}}),
       bind<&P::lossless_priorities>(
           {.key = "lossless_priorities",
            .kind = Kind::kText,
            .doc = "those that are paused, such as \"3\", \"3,4\" or \"0-7\"; packets of others are dropped that "
                   "find no space"}),
       bind<&P::quanta>({.key = "quanta",
                         .kind = Kind::kInteger,
                         .doc = "pause that a frame asks for, in units of 512 bit times; it is repeated after half of them",
                         .min = 1,
                         .max = 65535}),
       bind<&P::response>(
           {.key = "response",
            .kind = Kind::kText,
            .doc = "time from a frame's last byte to its effect: ideal: none; ieee: what IEEE 802.3 31B.3.7 allows at "
                   "the cable's rate; or a duration"}),
       bind<&P::headroom>(
           {.key = "headroom",
            .kind = Kind::kText,
            .doc = "room of each lossless priority of a port for bytes that arrive after the decision to pause: bound: no traffic "
                   "can need more; sonic: the formula of SONiC for Mellanox switches, for 4200-byte packets; or a size"})});
  return bind_object<Member>({.key = "pfc", .kind = Kind::kObject, .doc = "with flow_control pfc"}, table);
}

}  // namespace verbatim::config
