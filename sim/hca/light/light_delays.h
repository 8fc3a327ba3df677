// Duration of each step of a message in an idle adapter, from the PCI Express connection and the stages of
// its profile. In a light endpoint the steps always have these durations: none waits for a stage, read tag or
// cache.
#pragma once

#include <cstdint>

#include "sim/core/time.h"
#include "sim/hca/hca_profile.h"

namespace verbatim::hca {

struct LightDelays {
  // Each step begins at an edge of the core clock: waits for the next edge are not included.
  explicit LightDelays(const HcaProfile& profile);

  Duration request;      // doorbell rung to work request decoded
  Duration receive;      // last byte arrived to checks done
  Duration acknowledge;  // checks done to acknowledgement handed to the port
  Duration complete;     // acknowledged, or received, to the completion visible in memory
  // From the start of the gather of a packet's payload until its hand-over to the port.
  Duration send(std::uint32_t payload_bytes) const {
    return payload_bytes == 0 ? packetize_ : packetize_ + first_byte_ + more_ * std::int64_t{payload_bytes} / most_;
  }

 private:
  Duration packetize_;
  Duration first_byte_;  // of a gather
  Duration more_;        // time of most_ further bytes
  std::int64_t most_;    // maximum payload of a packet, bytes
};

}  // namespace verbatim::hca
