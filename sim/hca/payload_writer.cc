#include "sim/hca/payload_writer.h"

#include "sim/hca/adapter.h"

namespace verbatim::hca {

host::DmaWriteTimes PayloadWriter::write(Context& context, const ib::Payload& payload,
                                         std::span<const MemoryPiece> pieces) {
  CHECK(!pieces.empty());
  Placement placement{context.self, payload, pieces[0], {}};
  if (pieces.size() == 1) {
    CHECK(pieces[0].length == payload.length);
    placing_.push_back(std::move(placement));
    return adapter_.dma.write(payload.length, *this, 0);
  }
  placement.more.assign(pieces.begin(), pieces.end());
  placing_.push_back(std::move(placement));
  std::vector<std::uint32_t> lengths;
  std::uint32_t total = 0;
  for (const MemoryPiece& piece : pieces) {
    lengths.push_back(piece.length);
    total += piece.length;
  }
  CHECK(total == payload.length);
  return adapter_.dma.write(lengths, *this, 0);
}

void PayloadWriter::on_dma_write(std::uint64_t) {
  const Placement placement = placing_.pop_front();
  Context* context = placement.context.get();
  if (context == nullptr) return;
  std::span<const std::byte> bytes = placement.payload.bytes();
  const std::span<const MemoryPiece> pieces =
      placement.more.empty() ? std::span(&placement.first, 1) : std::span(placement.more);
  for (const MemoryPiece& piece : pieces) {
    const std::span<const std::byte> part = bytes.first(piece.length);
    bytes = bytes.subspan(piece.length);
    adapter_.tracer.record(adapter_.id, TraceEvent::kDmaWrite, context->program.process, piece.address,
                           piece.length, 0, part);
    if (!context->program.memory->write(piece.address, part)) {
      adapter_.notifier.dma_fault(*context, piece.key, piece.address, piece.length);
    }
  }
}

}  // namespace verbatim::hca
