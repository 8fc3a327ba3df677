// Values over equal parts of a period, added in the order of time. They are stored as runs of equal values;
// if there are too many runs, the resolution is halved. A short burst in a long, quiet period keeps its
// shape, and memory is bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace verbatim::cli {

class BinnedValues {
 public:
  // How values of one part are joined. With kLeast and kMost, -1 means no value.
  enum class Join : std::uint8_t { kSum, kLeast, kMost };
  // Number of parts at the finest resolution, and limit of the number of stored runs.
  static constexpr std::size_t kBins = std::size_t{1} << 20, kMostRuns = 32'768;

  struct Run {
    std::size_t bin = 0;  // the first part with this value
    std::int64_t value = 0;
    friend bool operator==(const Run&, const Run&) = default;
  };

  // `rest` is the value of parts to which nothing is added.
  explicit BinnedValues(Join join = Join::kSum, std::int64_t rest = 0) : join_(join), rest_(rest), runs_{{0, rest}} {}

  // Joins a value with that of the part `bin` of kBins, which must not be lower than in the previous call.
  void put(std::size_t bin, std::int64_t value);
  // With kMost: a level begins in this part and lasts until the next call.
  void begin_level(std::size_t bin, std::int64_t level);

  std::size_t bins() const { return kBins >> shift_; }
  // Adjacent runs have different values.
  std::vector<Run> runs() const;
  // Value of a part at the finest resolution.
  std::int64_t at(std::size_t bin) const;
  // The values at half the resolution; bins() must be above 1.
  BinnedValues halved() const;
  // One value for each of `count` parts; `count` is a power of two, at most bins().
  std::vector<std::int64_t> values(std::size_t count) const;

 private:
  void go_to(std::size_t bin);

  Join join_;
  std::int64_t rest_;
  unsigned shift_ = 0;
  std::size_t at_ = 0;     // the last part with an added value; no run begins after it
  std::vector<Run> runs_;  // not empty
};

}  // namespace verbatim::cli
