// Conservation of bytes in debug builds: a packet in a switch occupies space, and releases it once, after
// it has left or been dropped. For each ingress port, in bytes,
//
//  taken = released + claimed by packets in output queues,
//
// holds after each arrival has been processed. Nothing is claimed if no packet is in an output queue.
// Output queues and lines have accounts as well. A difference fails a CHECK.
//
// Without VERBATIM_CHECK_CONSERVATION the types are empty and the functions do nothing.
#pragma once

#include <cstdint>

#include "sim/core/check.h"

namespace verbatim::fabric {

#ifdef VERBATIM_CHECK_CONSERVATION
inline constexpr bool kChecksConservation = true;
#else
inline constexpr bool kChecksConservation = false;
#endif

// Bytes that enter and leave a place.
template <bool kChecks>
class ByteAccount;

template <>
class ByteAccount<true> {
 public:
  void enter(std::uint64_t bytes) { held_ += bytes; }
  void leave(std::uint64_t bytes) {
    CHECK(bytes <= held_);
    held_ -= bytes;
  }
  void expect(std::uint64_t held) const { CHECK(held_ == held); }
  std::uint64_t held() const { return held_; }

 private:
  std::uint64_t held_ = 0;
};

template <>
class ByteAccount<false> {
 public:
  void enter(std::uint64_t) {}
  void leave(std::uint64_t) {}
  void expect(std::uint64_t) const {}
  std::uint64_t held() const { return 0; }
};

using Bytes = ByteAccount<kChecksConservation>;

// Accounts of an ingress port.
struct InputBytes {
  [[no_unique_address]] Bytes space;    // taken and not released
  [[no_unique_address]] Bytes claimed;  // by packets in output queues
};

// Checks at the end of an arrival's processing: the packet's space is claimed or released.
class ArrivalCheck {
 public:
  explicit ArrivalCheck(const InputBytes& input) : input_(input) {}
  ArrivalCheck(const ArrivalCheck&) = delete;
  ArrivalCheck& operator=(const ArrivalCheck&) = delete;
  ~ArrivalCheck() { input_.space.expect(input_.claimed.held()); }

 private:
  const InputBytes& input_;
};

}  // namespace verbatim::fabric
