// The adapter's view of one ring of work requests in the arena. Entry numbers count up modulo 2^32; the ring
// index is the number modulo `entries`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace verbatim::hca {

class WorkQueue {
 public:
  WorkQueue() = default;
  // `entries` is a power of two or 0.
  WorkQueue(std::span<std::byte> ring, std::uint32_t entries, std::uint32_t stride)
      : ring_(ring), entries_(entries), stride_(stride) {}

  std::uint32_t entries() const { return entries_; }
  std::uint32_t stride() const { return stride_; }
  std::uint64_t size_bytes() const { return std::uint64_t{entries_} * stride_; }

  std::uint32_t producer() const { return producer_; }  // one past the newest announced entry
  std::uint32_t fetched() const { return fetched_; }    // next entry to fetch
  std::uint32_t retired() const { return retired_; }    // oldest entry not completed

  std::uint32_t to_fetch() const { return producer_ - fetched_; }

  enum class Announcement { kNew, kOld, kImpossible };
  // Takes a producer number from the program. kImpossible: more entries than the ring has would be in use.
  // kOld: not ahead of the last one, because doorbells of two threads may overtake each other. Both change
  // nothing.
  Announcement announce(std::uint32_t producer) {
    const std::uint32_t ahead = producer - producer_;
    if (ahead == 0 || ahead >= (1u << 31)) return Announcement::kOld;
    if (producer - retired_ > entries_) return Announcement::kImpossible;
    producer_ = producer;
    return Announcement::kNew;
  }

  // Number of entries to fetch next that are contiguous in memory, at most `count`.
  std::uint32_t run_length(std::uint32_t count) const {
    return std::min({count, to_fetch(), entries_ - (fetched_ & (entries_ - 1))});
  }
  void fetch(std::uint32_t count) { fetched_ += count; }
  void retire() { ++retired_; }

  std::span<const std::byte> entry(std::uint32_t number) const {
    return ring_.subspan(std::size_t{number & (entries_ - 1)} * stride_, stride_);
  }

 private:
  std::span<std::byte> ring_;
  std::uint32_t entries_ = 0;
  std::uint32_t stride_ = 0;
  std::uint32_t producer_ = 0;
  std::uint32_t fetched_ = 0;
  std::uint32_t retired_ = 0;
};

}  // namespace verbatim::hca
