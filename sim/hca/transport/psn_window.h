// A bitmap of the PSNs that have arrived behind a missing one. Its window begins with the first missing PSN.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/core/check.h"
#include "sim/ib/psn.h"

namespace verbatim::hca {

class PsnWindow {
 public:
  // `psns` is a power of two, or 0: the window has no room.
  void start(std::uint32_t psns, ib::Psn base) {
    CHECK((psns & (psns - 1)) == 0);
    bits_.assign(psns, false);
    base_ = base;
  }

  // Moves the beginning of the window forward to `base`, and forgets the PSNs before it.
  void advance(ib::Psn base) {
    const std::int64_t passed = distance(base_, base);
    if (passed >= size()) bits_.assign(bits_.size(), false);
    for (std::int64_t i = 0; i < passed && passed < size(); ++i) bits_[slot(base_ + static_cast<std::uint32_t>(i))] = false;
    if (passed > 0) base_ = base;
  }

  bool covers(ib::Psn psn) const {
    const std::int32_t place = distance(base_, psn);
    return place >= 0 && place < size();
  }
  bool has(ib::Psn psn) const { return covers(psn) && bits_[slot(psn)]; }
  // False when the PSN is in the bitmap, or outside of the window.
  bool add(ib::Psn psn) {
    if (!covers(psn) || bits_[slot(psn)]) return false;
    bits_[slot(psn)] = true;
    return true;
  }
  // The first PSN in the bitmap behind a missing one; nullopt: none.
  std::optional<ib::Psn> first_behind_gap() const {
    bool is_behind = false;
    for (std::uint32_t i = 0; i < bits_.size(); ++i) {
      const bool is_in = bits_[slot(base_ + i)];
      if (is_in && is_behind) return base_ + i;
      if (!is_in) is_behind = true;
    }
    return std::nullopt;
  }

 private:
  std::int64_t size() const { return static_cast<std::int64_t>(bits_.size()); }
  std::size_t slot(ib::Psn psn) const { return psn.value & (bits_.size() - 1); }

  std::vector<bool> bits_;  // by the low bits of the PSN
  ib::Psn base_;
};

}  // namespace verbatim::hca
