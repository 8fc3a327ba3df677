#include "sim/observe/digest_sink.h"

#include <bit>
#include <type_traits>

#include "sim/observe/record_hash.h"
#include "sim/observe/wide_hash.h"

namespace verbatim::observe {

namespace {

// The hash covers the memory: no padding, little endian. Records with bytes are longer than those without, so
// none equals another.
struct RecordWithBytes {
  TraceRecord record;
  std::uint64_t length = 0;
  std::uint64_t hash_low = 0, hash_high = 0;  // XXH3-128 of the bytes
};
static_assert(std::has_unique_object_representations_v<RecordWithBytes>);
static_assert(std::endian::native == std::endian::little);

RecordHash hash_of(const TraceRecord& record, std::span<const std::byte> bytes) {
  const XXH128_hash_t of_bytes = widest_hash()(bytes.data(), bytes.size());
  const RecordWithBytes whole{record, bytes.size(), of_bytes.low64, of_bytes.high64};
  const XXH128_hash_t hash = XXH3_128bits(&whole, sizeof whole);
  return {hash.low64, hash.high64};
}

}  // namespace

void DigestSink::on_record(const TraceRecord& record, std::span<const std::byte> bytes) {
  const RecordHash hash = bytes.empty() ? hash_of(record) : hash_of(record, bytes);
  low_ += hash.low;
  high_ += hash.high + (low_ < hash.low ? 1 : 0);
}

std::string DigestSink::hex() const {
  std::string text;
  for (const std::uint64_t half : {high_, low_}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[half >> shift & 15];
  }
  return text;
}

}  // namespace verbatim::observe
