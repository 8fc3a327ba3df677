// The packet decoder: any bytes give a sentence or a packet. A decoded packet can be encoded, decodes to the
// same bytes again, and then has the right CRCs. The first byte selects the kind of frame.
#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/check.h"
#include "sim/ib/wire.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace verbatim;
  if (size == 0) return 0;
  const bool is_ethernet = (data[0] & 1) != 0;
  const auto decode = is_ethernet ? ib::decode_ethernet : ib::decode_infiniband;
  const ib::Decoded first = decode(std::as_bytes(std::span(data + 1, size - 1)));
  if (!first.problem.empty()) return 0;
  std::vector<std::byte> bytes, again;
  ib::encode(first.packet, bytes);
  CHECK(bytes.size() == size - 1);
  const ib::Decoded second = decode(bytes);
  CHECK(second.problem.empty() && second.icrc_matches && second.vcrc_matches == !is_ethernet);
  ib::encode(second.packet, again);
  CHECK(bytes == again);
  return 0;
}
