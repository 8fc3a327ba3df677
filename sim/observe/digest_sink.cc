#include "sim/observe/digest_sink.h"

#include <xxhash.h>

#include <bit>
#include <type_traits>

#include "sim/core/check.h"
#include "sim/observe/wide_hash.h"

namespace verbatim::observe {

// The record is hashed as it lies in memory: no padding, little endian.
static_assert(std::has_unique_object_representations_v<TraceRecord>);
static_assert(std::endian::native == std::endian::little);

DigestSink::DigestSink() : state_(XXH3_createState()) {
  CHECK(state_ != nullptr);
  CHECK(XXH3_128bits_reset(state_.get()) == XXH_OK);
}

DigestSink::~DigestSink() = default;

void DigestSink::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

void DigestSink::on_record(const TraceRecord& record, std::span<const std::byte> bytes) {
  static const HashUpdate update = widest_hash_update();
  update(state_.get(), &record, sizeof record);
  if (bytes.empty()) return;
  // The length goes in front, so that bytes can never be taken for the next record.
  const std::uint64_t length = bytes.size();
  update(state_.get(), &length, sizeof length);
  update(state_.get(), bytes.data(), bytes.size());
}

std::string DigestSink::hex() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
  std::string text;
  for (const std::uint64_t half : {hash.high64, hash.low64}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[half >> shift & 15];
  }
  return text;
}

}  // namespace verbatim::observe
