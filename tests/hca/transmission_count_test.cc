// The number of transmissions of a PSN equals that of a list which counts each transmission.
#include "sim/hca/transport/transmission_count.h"

#include <gtest/gtest.h>

#include <map>

#include "sim/core/rng.h"

namespace verbatim::hca {
namespace {

TEST(TransmissionCountTest, counts_as_a_list_of_all_transmissions_would) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed, "transmissions");
    TransmissionCount count;
    const ib::Psn first{0xfffff0};  // the test crosses the wrap
    count.start(first);
    std::map<std::uint32_t, std::uint32_t> sent;  // by distance from the first PSN
    std::uint32_t next = 0, unacknowledged = 0;
    for (int step = 0; step < 200; ++step) {
      if (rng.next() % 6 == 0 && next > unacknowledged) {
        unacknowledged += static_cast<std::uint32_t>(rng.next() % (next - unacknowledged));
        next = unacknowledged;
        count.go_back(first + next);
        continue;
      }
      const auto psns = static_cast<std::uint32_t>(1 + rng.next() % 3);  // a READ takes several PSNs
      ASSERT_EQ(count.on_transmit(first + next, psns), sent[next]) << "seed " << seed << " step " << step;
      for (std::uint32_t i = 0; i < psns; ++i) ++sent[next + i];
      next += psns;
    }
  }
}

}  // namespace
}  // namespace verbatim::hca
