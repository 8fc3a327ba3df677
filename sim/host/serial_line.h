// A resource that carries bytes sequentially: one direction of a PCI Express link. Reservations are made in
// the order of the bytes; the bytes of a busy period are added up exactly and rounded to time once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/core/time.h"

namespace verbatim::host {

class SerialLine {
 public:
  explicit SerialLine(ByteTime byte_time) : byte_time_(byte_time) {}

  // A position in the sequence of bytes; its time is computed on demand.
  struct Mark {
    Instant busy_since{};
    std::uint64_t busy_bytes = 0;
  };

  Instant free_at() const { return free_at_; }
  // `behind` bytes before the end of all reserved bytes; the position must be within the last reservation.
  Mark mark(std::uint64_t behind) const { return {busy_since_, busy_bytes_ - behind}; }
  Instant time_of(const Mark& mark) const { return mark.busy_since + byte_time_.time_for(mark.busy_bytes); }

  // Reserves `bytes` that may start at `earliest`; returns when the last byte has passed.
  Instant reserve(Instant earliest, std::uint64_t bytes) {
    if (earliest > free_at_) {
      busy_since_ = earliest;
      busy_bytes_ = 0;
    }
    busy_bytes_ += bytes;
    free_at_ = busy_since_ + byte_time_.time_for(busy_bytes_);
    return free_at_;
  }

 private:
  ByteTime byte_time_;
  Instant busy_since_{};
  std::uint64_t busy_bytes_ = 0;
  Instant free_at_{};
};

}  // namespace verbatim::host
