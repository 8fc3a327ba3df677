// Patterns: pairs of sender and receiver among the members of a workload, numbered from 0. Computed in
// integers, so that a seed gives the same flows on every machine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/rng.h"
#include "sim/core/time.h"
#include "sim/workload/size_distribution.h"

namespace verbatim::workload {

struct Pair {
  std::uint32_t from = 0, to = 0;
  friend bool operator==(const Pair&, const Pair&) = default;
};

// Each member sends to one other and receives from one other; all such permutations are equally likely. At
// least 2 members.
std::vector<Pair> permutation(std::uint32_t members, Rng& random);
// Each member sends to the one `distance` further, modulo the number of members. `distance` must not be a
// multiple of that number.
std::vector<Pair> shift(std::uint32_t members, std::uint32_t distance);
// The first `senders` members other than the receiver send to it.
std::vector<Pair> incast(std::uint32_t members, std::uint32_t receiver, std::uint32_t senders);
// Each member sends to every other, the next one first.
std::vector<Pair> all_to_all(std::uint32_t members);

// Destinations of random flows: with probability hot_share / hot_parts one of `hot`, otherwise any; never the
// sender. A sender that is the only hot member sends to any.
struct Destinations {
  std::uint32_t members = 2;
  std::span<const std::uint32_t> hot = {};
  std::uint64_t hot_share = 0, hot_parts = 1;
  std::uint32_t draw(std::uint32_t from, Rng& random) const;
};

}  // namespace verbatim::workload
