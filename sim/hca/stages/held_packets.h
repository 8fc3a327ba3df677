// Waiting packets of one direction of a queue pair, in order of arrival: the first waits for a resource, the
// others for the first. Packets of other queue pairs and of the other direction are not affected.
#pragma once

#include <cstdint>
#include <utility>

#include "sim/core/ring.h"
#include "sim/hca/stages/input_buffer.h"

namespace verbatim::hca {

class HeldPackets {
 public:
  enum class Wait : std::uint8_t {
    kNothing,  // no packet waits
    kReceive,  // a receive work request that is still being fetched
    kAtomics,  // earlier atomics, which change memory first
    kLookUp,   // protection entries or translations that the adapter lacks
  };

  Wait wait() const { return wait_; }
  bool empty() const { return wait_ == Wait::kNothing; }
  // Whether the first packet waits for the lookup with this number; false if it has been dropped.
  bool awaits(std::uint64_t lookup) const { return wait_ == Wait::kLookUp && lookup == lookup_; }
  const Incoming& first() const { return first_; }

  void hold(Incoming&& incoming, Wait wait, std::uint64_t lookup = 0) {
    first_ = std::move(incoming);
    wait_ = wait;
    lookup_ = lookup;
  }
  void hold_behind(Incoming&& incoming) { behind_.push_back(std::move(incoming)); }

  // The first packet's resource is available: calls deal(packet, true) for it, then deal(packet, false) for
  // the others until one is held again.
  template <class Deal>
  void resume(Deal deal) {
    wait_ = Wait::kNothing;
    deal(std::move(first_), true);
    while (empty() && !behind_.empty()) deal(behind_.pop_front(), false);
  }

  // Drops all packets.
  void drop_all() {
    if (!empty()) first_.drop(DropReason::kWrongState);
    wait_ = Wait::kNothing;
    while (!behind_.empty()) {
      behind_.pop_front().drop(DropReason::kWrongState);
    }
  }

 private:
  Wait wait_ = Wait::kNothing;
  std::uint64_t lookup_ = 0;
  Incoming first_;
  Ring<Incoming> behind_;
};

}  // namespace verbatim::hca
