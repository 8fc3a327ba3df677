// Size classes for tables of flows: one for each size if there are few, else up to 1 KiB, up to 4 KiB and so
// on.
#pragma once

#include <cstdint>
#include <set>

namespace verbatim::cli {

class SizeClasses {
 public:
  static constexpr std::size_t kMostSizes = 8;

  // Call for all sizes before bound_of(). `bytes` must not be 0.
  void add(std::uint64_t bytes) {
    if (sizes_.size() <= kMostSizes) sizes_.insert(bytes);
  }
  bool are_exact() const { return sizes_.size() <= kMostSizes; }
  // Upper limit of the class that contains this size.
  std::uint64_t bound_of(std::uint64_t bytes) const {
    constexpr std::uint64_t kFirst = 1024, kFactor = 4;
    if (are_exact()) return bytes;
    std::uint64_t bound = kFirst;
    while (bound < bytes && bound <= UINT64_MAX / kFactor) bound *= kFactor;
    return bound < bytes ? UINT64_MAX : bound;
  }

 private:
  std::set<std::uint64_t> sizes_;
};

}  // namespace verbatim::cli
