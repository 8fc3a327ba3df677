#include "sim/bundle/checksum.h"

#include <xxhash.h>

#include <charconv>
#include <cinttypes>
#include <cstdio>

#include "sim/core/check.h"

namespace verbatim::bundle {

Checksum checksum_of(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

std::string checksum_text(Checksum checksum) {
  char digits[33];
  std::snprintf(digits, sizeof digits, "%016" PRIx64 "%016" PRIx64, checksum.high, checksum.low);
  return digits;
}

Checksum checksum_from(std::string_view digits) {
  Checksum checksum;
  if (digits.size() != 32) return checksum;
  std::from_chars(digits.data(), digits.data() + 16, checksum.high, 16);
  std::from_chars(digits.data() + 16, digits.data() + 32, checksum.low, 16);
  return checksum;
}

void RunningChecksum::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

RunningChecksum::RunningChecksum() : state_(XXH3_createState()) {
  CHECK(state_ != nullptr && XXH3_128bits_reset(state_.get()) == XXH_OK);
}

RunningChecksum::~RunningChecksum() = default;

void RunningChecksum::add(std::string_view bytes) {
  XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
}

Checksum RunningChecksum::value() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
  return {hash.high64, hash.low64};
}

}  // namespace verbatim::bundle
