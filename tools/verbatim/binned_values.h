// Values over equal parts of a time, which arrive in the order of time. Kept as runs of equal values; when there are too many,
// the resolution is halved. A short burst in a long, quiet run keeps its shape, and memory is bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace verbatim::cli {

class BinnedValues {
 public:
  // What values become that meet in one part. Of kLeast and kMost -1 stands for a part without a value.
  enum class Join : std::uint8_t { kSum, kLeast, kMost };
  // Parts at the finest resolution, and runs that are kept at most.
  static constexpr std::size_t kBins = std::size_t{1} << 20, kMostRuns = 32'768;

  struct Run {
    std::size_t bin = 0;  // the first part with the value
    std::int64_t value = 0;
    friend bool operator==(const Run&, const Run&) = default;
  };

  // `rest`: the value of a part in which nothing arrives.
  explicit BinnedValues(Join join = Join::kSum, std::int64_t rest = 0) : join_(join), rest_(rest), runs_{{0, rest}} {}

  // Joins a value with what the part has. `bin`: of kBins, not below that of the call before.
  void put(std::size_t bin, std::int64_t value);
  // Of kMost: a level begins in this part, and lasts until another begins.
  void begin_level(std::size_t bin, std::int64_t level);

  std::size_t bins() const { return kBins >> shift_; }
  // Neighbours have different values.
  std::vector<Run> runs() const;
  // Of a part at the finest resolution.
  std::int64_t at(std::size_t bin) const;
  // At half the resolution; bins() is above 1.
  BinnedValues halved() const;
  // One value for each of `count` parts, a power of two not above bins().
  std::vector<std::int64_t> values(std::size_t count) const;

 private:
  void go_to(std::size_t bin);

  Join join_;
  std::int64_t rest_;
  unsigned shift_ = 0;
  std::size_t at_ = 0;     // the last part that anything arrived in; no run begins behind it
  std::vector<Run> runs_;  // not empty
};

}  // namespace verbatim::cli
