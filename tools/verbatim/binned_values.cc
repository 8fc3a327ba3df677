#include "tools/verbatim/binned_values.h"

#include <algorithm>
#include <limits>

#include "sim/core/check.h"

namespace verbatim::cli {

namespace {

std::int64_t joined(std::int64_t a, std::int64_t b, BinnedValues::Join join) {
  switch (join) {
    case BinnedValues::Join::kSum: {
      std::int64_t sum = 0;
      return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
    }
    case BinnedValues::Join::kMost: return std::max(a, b);
    case BinnedValues::Join::kLeast: return a < 0 ? b : b < 0 ? a : std::min(a, b);
  }
  return 0;
}

void append(std::vector<BinnedValues::Run>& runs, std::size_t bin, std::int64_t value) {
  if (runs.empty() || runs.back().value != value) runs.push_back({bin, value});
}

}  // namespace

void BinnedValues::go_to(std::size_t bin) {
  if (runs_.size() > kMostRuns) *this = halved();
  bin >>= shift_;
  CHECK(bin >= at_ && bin < bins());
  if (bin == at_) return;
  append(runs_, at_ + 1, rest_);
  at_ = bin;
}

void BinnedValues::put(std::size_t bin, std::int64_t value) {
  go_to(bin);
  const std::int64_t both = joined(runs_.back().value, value, join_);
  if (both == runs_.back().value) return;
  if (runs_.back().bin == at_) runs_.back().value = both;
  else runs_.push_back({at_, both});
}

void BinnedValues::begin_level(std::size_t bin, std::int64_t level) {
  CHECK(join_ == Join::kMost);
  put(bin, level);
  rest_ = level;
}

std::vector<BinnedValues::Run> BinnedValues::runs() const {
  std::vector<Run> all;
  for (const Run& run : runs_) append(all, run.bin, run.value);
  if (at_ + 1 < bins()) append(all, at_ + 1, rest_);
  return all;
}

std::int64_t BinnedValues::at(std::size_t bin) const {
  const std::size_t own = bin >> shift_;
  if (own > at_) return rest_;
  return std::prev(std::ranges::upper_bound(runs_, own, {}, &Run::bin))->value;
}

BinnedValues BinnedValues::halved() const {
  CHECK(bins() > 1);
  const std::vector<Run> all = runs();
  BinnedValues half = *this;
  half.runs_.clear();
  ++half.shift_;
  half.at_ = at_ / 2;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t end = i + 1 < all.size() ? all[i + 1].bin : bins();
    const std::int64_t value = all[i].value;
    std::size_t bin = all[i].bin;
    // Of two different neighbours, the second was joined with the first.
    if (bin % 2 != 0) ++bin;
    if (bin + 1 < end) append(half.runs_, bin / 2, joined(value, value, join_));
    if (end % 2 != 0 && end > bin && i + 1 < all.size()) append(half.runs_, end / 2, joined(value, all[i + 1].value, join_));
  }
  if (half.runs_.size() > 1 && half.runs_.back().bin > half.at_) half.runs_.pop_back();
  return half;
}

std::vector<std::int64_t> BinnedValues::values(std::size_t count) const {
  if (count < bins()) return halved().values(count);
  CHECK(count == bins());
  const std::vector<Run> all = runs();
  std::vector<std::int64_t> list;
  for (std::size_t i = 0; i < all.size(); ++i) list.resize(i + 1 < all.size() ? all[i + 1].bin : count, all[i].value);
  return list;
}

}  // namespace verbatim::cli
