#include "sim/hca/datapath/received_frame.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "sim/hca/datapath/adapter.h"
#include "sim/hca/datapath/payload_memory.h"
#include "sim/hca/datapath/queue_pair.h"
#include "sim/ib/bytes.h"
#include "sim/ib/frame.h"

namespace verbatim::hca {

namespace {

constexpr std::size_t kTagAt = 12;  // behind the two addresses

// Bytes behind a frame of `length` bytes in the scatter entry in which it ends.
std::uint64_t room_behind(const ScatterList& list, std::uint32_t length) {
  std::uint64_t room = 0;
  list.visit(length - 1, 1, [&](const protocol::Sge& sge, std::uint32_t skip, std::uint32_t) {
    room = sge.length - skip - 1;
    return true;
  });
  return room;
}

// Writes that end within a cache line are padded to its end, as far as the scatter entry has room.
std::uint32_t padding_behind(QueuePair& qp, const ScatterList& list, std::uint32_t length) {
  if ((qp.frame_options & kPadWrites) == 0 || length == 0) return 0;
  const FoundPieces found = find_pieces(qp.adapter, list, length - 1, 1, qp.memory_owner(), qp.receive_pd());
  if (!found.is_allowed) return 0;
  const std::uint64_t line = qp.adapter.profile.cache_line_bytes;
  const std::uint64_t end = found.pieces.back().address + 1;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>((line - end % line) % line, room_behind(list, length)));
}

}  // namespace

std::optional<std::uint16_t> tag_to_strip(const ib::Packet& frame, std::uint32_t options) {
  return (options & kStripVlan) != 0 ? ib::parse_frame(frame.payload.bytes()).outer.vlan : std::nullopt;
}

std::uint32_t placed_bytes(const ib::Packet& frame, std::uint32_t options) {
  const std::uint32_t tag = tag_to_strip(frame, options) ? ib::kVlanTagBytes : 0;
  const std::uint32_t check = (options & kScatterFrameCheck) != 0 ? ib::kFrameCheckBytes : 0;
  return frame.payload.length - tag + check;
}

ib::Payload placed_payload(QueuePair& qp, const ScatterList& list, const ib::Packet& frame) {
  const bool loses_tag = tag_to_strip(frame, qp.frame_options).has_value();
  const std::uint32_t length = placed_bytes(frame, qp.frame_options);
  const std::uint32_t padding = padding_behind(qp, list, length);
  if (length + padding == frame.payload.length && !loses_tag) return frame.payload;
  const std::span<const std::byte> bytes = frame.payload.bytes();
  ib::PayloadBuffer buffer = ib::PayloadBuffer::allocate(length + padding);
  const std::span<std::byte> to = buffer.fill();
  std::memset(to.data(), 0, to.size());
  const std::size_t cut = loses_tag ? ib::kVlanTagBytes : 0;
  const std::size_t body = bytes.size() - cut - kTagAt;
  std::memcpy(to.data(), bytes.data(), kTagAt);
  std::memcpy(&to[kTagAt], &bytes[kTagAt + cut], body);
  if ((qp.frame_options & kScatterFrameCheck) != 0) {
    ib::put_frame_check(bytes, to.subspan(kTagAt + body).first<ib::kFrameCheckBytes>());
  }
  return {buffer, 0, buffer.size()};
}

}  // namespace verbatim::hca
