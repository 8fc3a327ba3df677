// Times at which bytes pass the sending end of a line. The bytes of one busy period are added up exactly
// and converted to time once, so that FDR's 440/3 ps per byte do not drift.
#pragma once

#include <cstdint>

#include "sim/core/check.h"
#include "sim/core/time.h"

namespace verbatim::fabric {

class LineClock {
 public:
  explicit LineClock(ByteTime byte_time) : byte_time_(byte_time) {
    CHECK(byte_time.ps_numerator > 0 && byte_time.denominator > 0);
  }

  // Earliest start of the next byte.
  Instant busy_until() const { return busy_until_; }

  // Start of the last busy period, which has no gap between bytes.
  Instant busy_since() const { return busy_since_; }

  // Starts a busy period at `start`, or continues the one that ends then; the times below count from there.
  void begin(Instant start) {
    CHECK(start >= busy_until_);
    if (start == busy_until_ && bytes_ != 0) return;
    busy_since_ = start;
    bytes_ = 0;
  }
  // Time at which the `bytes`-th further byte has left.
  Instant after(std::uint64_t bytes) const { return busy_since_ + byte_time_.time_for(bytes_ + bytes); }
  void pass(std::uint64_t bytes) {
    busy_until_ = after(bytes);
    bytes_ += bytes;
  }

 private:
  ByteTime byte_time_;
  Instant busy_since_{};     // start of the last busy period
  Instant busy_until_{};
  std::uint64_t bytes_ = 0;  // line bytes sent in it
};

}  // namespace verbatim::fabric
