// How long an adapter with nothing else to do takes for each step of a message, by the same PCI Express connection and stages
// that its profile gives a whole adapter. A light endpoint takes these times always: nothing in it waits for a stage, a read
// tag or a cache that others use.
#pragma once

#include <cstdint>

#include "sim/core/time.h"
#include "sim/hca/hca_profile.h"

namespace verbatim::hca {

struct LightDelays {
  // Waiting for the next edge of the core clock is left out: each step is as long as one that comes at an edge.
  explicit LightDelays(const HcaProfile& profile);

  Duration request;      // doorbell rung to work request decoded
  Duration receive;      // last byte arrived to checks done
  Duration acknowledge;  // checks done to acknowledgement handed to the port
  Duration complete;     // acknowledged, or received, to the completion visible in memory
  // Gather of a packet's payload begun to packet handed to the port.
  Duration send(std::uint32_t payload_bytes) const {
    return payload_bytes == 0 ? packetize_ : packetize_ + first_byte_ + more_ * std::int64_t{payload_bytes} / most_;
  }

 private:
  Duration packetize_;
  Duration first_byte_;  // of a gather
  Duration more_;        // of one of most_ bytes
  std::int64_t most_;    // bytes of the greatest packet
};

}  // namespace verbatim::hca
