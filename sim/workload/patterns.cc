#include "sim/workload/patterns.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/core/check.h"

namespace verbatim::workload {

std::vector<Pair> permutation(std::uint32_t members, Rng& random) {
  CHECK(members >= 2);
  std::vector<std::uint32_t> to(members);
  // On average one shuffle in e has no fixed point.
  const auto has_fixed_point = [&] {
    for (std::uint32_t i = 0; i < members; ++i) {
      if (to[i] == i) return true;
    }
    return false;
  };
  do {
    std::iota(to.begin(), to.end(), 0u);
    for (std::uint32_t i = members - 1; i > 0; --i) std::swap(to[i], to[random.below(std::uint64_t{i} + 1)]);
  } while (has_fixed_point());
  std::vector<Pair> pairs;
  pairs.reserve(members);
  for (std::uint32_t i = 0; i < members; ++i) pairs.push_back({i, to[i]});
  return pairs;
}

std::vector<Pair> shift(std::uint32_t members, std::uint32_t distance) {
  CHECK(members >= 2 && distance % members != 0);
  std::vector<Pair> pairs;
  pairs.reserve(members);
  for (std::uint32_t i = 0; i < members; ++i)
    pairs.push_back({i, static_cast<std::uint32_t>((std::uint64_t{i} + distance) % members)});
  return pairs;
}

std::vector<Pair> incast(std::uint32_t members, std::uint32_t receiver, std::uint32_t senders) {
  CHECK(receiver < members && senders < members);
  std::vector<Pair> pairs;
  pairs.reserve(senders);
  for (std::uint32_t i = 0; pairs.size() < senders; ++i) {
    if (i != receiver) pairs.push_back({i, receiver});
  }
  return pairs;
}

std::vector<Pair> all_to_all(std::uint32_t members) {
  CHECK(members >= 2);
  std::vector<Pair> pairs;
  pairs.reserve(std::uint64_t{members} * (members - 1));
  for (std::uint32_t i = 0; i < members; ++i) {
    for (std::uint32_t distance = 1; distance < members; ++distance) pairs.push_back({i, (i + distance) % members});
  }
  return pairs;
}

std::uint32_t Destinations::draw(std::uint32_t from, Rng& random) const {
  if (hot_share > 0 && random.chance(hot_share, hot_parts)) {
    const auto own = std::ranges::find(hot, from) - hot.begin();
    const bool is_hot = own != std::ssize(hot);
    if (const std::size_t others = hot.size() - (is_hot ? 1 : 0); others > 0) {
      const std::uint64_t drawn = random.below(others);
      return hot[drawn + (is_hot && drawn >= static_cast<std::uint64_t>(own) ? 1 : 0)];
    }
  }
  const auto to = static_cast<std::uint32_t>(random.below(members - 1));
  return to + (to >= from ? 1 : 0);
}

}  // namespace verbatim::workload
