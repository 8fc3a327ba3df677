// Conservation of bytes in debug builds: a packet that has come into a switch has space there, and gives it back once, when it
// has left or is dropped. For each ingress port, bytes
//
//   taken = given back + claimed by packets that are to leave by some output,
//
// whenever the switch has finished with an arrival. Nothing is claimed when no packet waits for an output. Output queues and
// lines have accounts as well. A difference fails a CHECK.
//
// Builds without VERBATIM_CHECK_CONSERVATION have none of it: the types are empty and the functions do nothing.
#pragma once

#include <cstdint>

#include "sim/core/check.h"

namespace verbatim::fabric {

#ifdef VERBATIM_CHECK_CONSERVATION
inline constexpr bool kChecksConservation = true;
#else
inline constexpr bool kChecksConservation = false;
#endif

// Bytes that come into a place and leave it.
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
  [[no_unique_address]] Bytes space;    // taken and not given back
  [[no_unique_address]] Bytes claimed;  // by packets in output queues
};

// At its end an arrival has been dealt with: what came in is claimed, or its space is given back.
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
