// Time that an idle adapter takes for each step of a message, with the PCI Express connection and stages of
// its profile. A light endpoint always takes these times: no step waits for a stage, a read tag or a cache.
#pragma once

#include <cstdint>

#include "sim/core/time.h"
#include "sim/hca/hca_profile.h"

namespace verbatim::hca {

struct LightDelays {
  // Waits for the next edge of the core clock are left out: each step begins at an edge.
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
  Duration first_byte_;  // until a gather's first byte
  Duration more_;        // for most_ bytes
  std::int64_t most_;    // greatest payload of a packet, bytes
};

}  // namespace verbatim::hca
