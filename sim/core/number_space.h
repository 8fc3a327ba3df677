// Numbers by which objects are known from outside, and the freedom that there is in giving them out.
#pragma once

#include <algorithm>
#include <cstdint>

namespace verbatim {

// Which number an object gets: the next in ascending order; one that has been given back, at once; one behind a gap.
enum class NumberChoice : std::uint32_t { kNext = 0, kReused, kBehindGap };
inline constexpr std::uint32_t kNumberChoices = 3;

// Numbers given out in ascending order. One that is given back comes again only when all have been used, or at once if freed
// numbers are reused; the lowest first.
class NumberSpace {
 public:
  NumberSpace(std::uint32_t first, std::uint32_t limit, bool reuse_freed = false)
      : limit_(limit), next_(first), lowest_freed_(limit), reuse_freed_(reuse_freed) {}

  // 0 when all are in use. `in_use(n)` tells. Numbers of a gap are as if they had been given back.
  template <class InUse>
  std::uint32_t take(InUse in_use, NumberChoice choice = NumberChoice::kNext) {
    constexpr std::uint32_t kGap = 7;
    const bool reuses = (reuse_freed_ || choice == NumberChoice::kReused) && lowest_freed_ < next_;
    if (choice == NumberChoice::kBehindGap && next_ + kGap < limit_) {
      give_back(next_);
      next_ += kGap;
    }
    if (next_ < limit_ && !reuses) return next_++;
    while (lowest_freed_ < next_) {
      const std::uint32_t number = lowest_freed_++;
      if (!in_use(number)) return number;
    }
    return next_ < limit_ ? next_++ : 0;
  }

  void give_back(std::uint32_t number) { lowest_freed_ = std::min(lowest_freed_, number); }
  // The number that was taken last was for nothing.
  void undo(std::uint32_t number) { number + 1 == next_ ? void(--next_) : give_back(number); }

 private:
  std::uint32_t limit_;
  std::uint32_t next_;          // none from here on was given yet
  std::uint32_t lowest_freed_;  // all below are in use, of those that were given
  bool reuse_freed_;
};

}  // namespace verbatim
