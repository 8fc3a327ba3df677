// The event models of links, flow control, arbitration and switches, and of PCI Express, compared to the
// clocked references.
#include "tests/timing/reference_agreement.h"

namespace verbatim::timing {
namespace {

constexpr int kFabrics = 100;  // the sweep has all seeds

class Reference : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Reference, agrees_on_every_start_and_arrival_of_random_fabrics) {
  expect_agreement(GetParam(), kFabrics);
}

// With pauses, without flow control, with shared memory and marks.
TEST_P(Reference, agrees_on_every_frame_drop_and_mark_without_credits) {
  expect_agreement(GetParam(), kFabrics, Buffers::kWithoutCredits);
}

TEST(ReferenceWithLeastBuffers, agrees_on_every_start_and_arrival) { expect_agreement(1, 200, Buffers::kLeast); }

TEST(DmaReference, agrees_on_every_access_to_memory_of_random_transfers) { expect_dma_agreement(1, 3'000); }

INSTANTIATE_TEST_SUITE_P(Seeds, Reference, testing::Values(1, 501, 1'001, 1'501));

}  // namespace
}  // namespace verbatim::timing
