// Numbers that identify objects to programs, and the freedom in assigning them.
#pragma once

#include <algorithm>
#include <cstdint>

namespace verbatim {

// The number that a new object gets: the next in ascending order; a freed one at once; one after a gap.
enum class NumberChoice : std::uint32_t { kNext = 0, kReused, kAfterGap };
inline constexpr std::uint32_t kNumberChoices = 3;

// Numbers assigned in ascending order. A freed number is assigned again only after all have been used, or
// at once if freed numbers are reused; the lowest first.
class NumberSpace {
 public:
  NumberSpace(std::uint32_t first, std::uint32_t limit, bool reuse_freed = false)
      : limit_(limit), next_(first), lowest_freed_(limit), reuse_freed_(reuse_freed) {}

  // Returns 0 if all numbers are in use, according to `in_use(n)`. Numbers in a gap count as freed.
  template <class InUse>
  std::uint32_t take(InUse in_use, NumberChoice choice = NumberChoice::kNext) {
    constexpr std::uint32_t kGap = 7;
    const bool reuses = (reuse_freed_ || choice == NumberChoice::kReused) && lowest_freed_ < next_;
    if (choice == NumberChoice::kAfterGap && next_ + kGap < limit_) {
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
  // Takes back the last call of take(), whose number was not used.
  void undo(std::uint32_t number) { number + 1 == next_ ? void(--next_) : give_back(number); }

 private:
  std::uint32_t limit_;
  std::uint32_t next_;          // all numbers from here on are unused
  std::uint32_t lowest_freed_;  // lower bound of the freed numbers
  bool reuse_freed_;
};

}  // namespace verbatim
