// Real time after which a running thread pokes itself, so that its loop is analysed (parking.h).
#pragma once

#include <algorithm>
#include <cstdint>

namespace verbatim::supervisor {

class SpinPoke {
 public:
  // The thread was found spinning. It probably spins again in the next slices and pokes itself in them.
  void spin_found() { expected_ = kSlicesAfterSpin; }
  // The poke found no loop. The interval doubles, which limits the disturbance of a long computation.
  void spin_not_found() { after_us_ = std::min(after_us_ * 2, kLongestUs); }
  // A slice begins.
  void start_slice(std::int64_t period_us) {
    after_us_ = expected_ > 0 ? static_cast<std::uint32_t>(period_us) : 0;
    if (expected_ > 0) --expected_;
  }
  // Microseconds of real time; 0: never.
  std::uint32_t after_us() const { return after_us_; }

 private:
  static constexpr int kSlicesAfterSpin = 64;
  static constexpr std::uint32_t kLongestUs = 100'000;

  int expected_ = 0;  // number of slices in which a spin is expected
  std::uint32_t after_us_ = 0;
};

}  // namespace verbatim::supervisor
