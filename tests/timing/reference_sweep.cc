#include <cstdlib>

#include "tests/timing/reference_agreement.h"

namespace verbatim::timing {
namespace {

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(ReferenceSweep, agrees_on_every_start_and_arrival_of_random_fabrics) {
  expect_agreement(setting("VERBATIM_REFERENCE_SEED", 100'001), setting("VERBATIM_REFERENCE_CASES", 20'000));
}

TEST(ReferenceSweep, agrees_with_buffers_of_one_packet) {
  expect_agreement(setting("VERBATIM_REFERENCE_SEED", 100'001), setting("VERBATIM_REFERENCE_CASES", 20'000) / 10,
                   Buffers::kLeast);
}

TEST(ReferenceSweep, agrees_on_every_frame_drop_and_mark_without_credits) {
  expect_agreement(setting("VERBATIM_REFERENCE_SEED", 100'001), setting("VERBATIM_REFERENCE_CASES", 20'000),
                   Buffers::kWithoutCredits);
}

TEST(ReferenceSweep, agrees_on_every_access_to_memory_of_random_transfers) {
  expect_dma_agreement(setting("VERBATIM_REFERENCE_SEED", 100'001), setting("VERBATIM_REFERENCE_CASES", 50'000));
}

}  // namespace
}  // namespace verbatim::timing
