#include "sim/ib/segmentation.h"

#include "sim/core/check.h"

namespace verbatim::ib {

namespace {

struct KindRow {
  Operation first, middle, last, only;
};

constexpr KindRow kKinds[] = {
    {Operation::kSendFirst, Operation::kSendMiddle, Operation::kSendLast, Operation::kSendOnly},
    {Operation::kSendFirst, Operation::kSendMiddle, Operation::kSendLastImm, Operation::kSendOnlyImm},
    {Operation::kSendFirst, Operation::kSendMiddle, Operation::kSendLastInvalidate,
     Operation::kSendOnlyInvalidate},
    {Operation::kWriteFirst, Operation::kWriteMiddle, Operation::kWriteLast, Operation::kWriteOnly},
    {Operation::kWriteFirst, Operation::kWriteMiddle, Operation::kWriteLastImm, Operation::kWriteOnlyImm},
    {Operation::kReadResponseFirst, Operation::kReadResponseMiddle, Operation::kReadResponseLast,
     Operation::kReadResponseOnly},
};

}  // namespace

Segment next_segment(Transport transport, MessageKind kind, std::uint32_t length, std::uint32_t offset,
                     std::uint32_t mtu) {
  CHECK(mtu > 0 && offset % mtu == 0 && (offset == 0 || offset < length));
  const std::uint32_t rest = length - offset;
  Segment segment;
  segment.offset = offset;
  segment.begins_message = offset == 0;
  segment.ends_message = rest <= mtu;
  segment.length = segment.ends_message ? rest : mtu;
  const KindRow& row = kKinds[static_cast<std::size_t>(kind)];
  const Operation operation = segment.begins_message ? (segment.ends_message ? row.only : row.first)
                                                     : (segment.ends_message ? row.last : row.middle);
  segment.opcode = make_opcode(transport, operation);
  CHECK(info(segment.opcode).defined);
  return segment;
}

}  // namespace verbatim::ib
