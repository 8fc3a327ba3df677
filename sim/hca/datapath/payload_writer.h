// Payload on its way from a received packet into program memory.
//
// What the bytes of one message do among themselves is open: they may be cut (never within an aligned 8
// bytes), land in any order and late (freedom.h). Nothing else is: before the first byte of another message,
// before a completion, and before the adapter reads memory, all of it has been handed to the DMA engine,
// which keeps its order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/ring.h"
#include "sim/hca/context.h"
#include "sim/host/dma_engine.h"
#include "sim/ib/payload.h"

namespace verbatim::hca {

// A contiguous run of bytes in a program.
struct MemoryPiece {
  host::ProgramAddress address = 0;
  std::uint32_t length = 0;
  std::uint32_t key = 0;  // through which it is reached, for fault reports
  Context* owner = nullptr;  // in whose program; lives as long as the opening
};

struct Adapter;

// Which packets bring the same message: those of one queue pair in one direction, from where release_held()
// was called to where it is called again.
using MessageStream = std::uint64_t;
constexpr MessageStream message_stream(std::uint32_t qpn, bool is_response) {
  return std::uint64_t{qpn} << 1 | (is_response ? 1 : 0);
}

class PayloadWriter final : public host::DmaClient {
 public:
  explicit PayloadWriter(Adapter& adapter);

  // The pieces together are as long as the payload, and not empty; their owners are of the opening of `context`.
  host::DmaWriteTimes write(Context& context, const ib::Payload& payload, std::span<const MemoryPiece> pieces,
                            MessageStream stream);
  // When the last byte that was handed to the DMA engine leaves, or has left, the adapter.
  Instant last_left() const { return last_left_; }
  // What is held back is handed to the DMA engine now.
  void release_held();

 private:
  struct Placement {
    Ref<Context> context;
    ib::Payload payload;
    MemoryPiece first;
    std::vector<MemoryPiece> more;  // all pieces when there are several
  };
  // Writes the pieces in the adapter's own memory, or in a program's, as far as the context still lives.
  void apply(const Placement& placement, bool on_adapter);
  host::DmaWriteTimes place_whole(Context& context, const ib::Payload& payload,
                                  std::span<const MemoryPiece> pieces);
  host::DmaWriteTimes place(Placement placement);
  host::DmaWriteTimes hand_over(std::span<const host::DmaPiece> pieces);
  // Into parts that begin at multiples of the granule.
  std::vector<Placement> cut(Context& context, const ib::Payload& payload,
                             std::span<const MemoryPiece> pieces, std::uint32_t granule) const;
  void shuffle(std::vector<Placement>& parts);
  void on_dma_read(std::uint64_t, Instant) override {}
  void on_dma_write(std::uint64_t cookie) override;

  Adapter& adapter_;
  Ring<Placement> placing_;
  std::vector<Placement> held_;  // each of one piece
  MessageStream held_stream_ = 0;
  Timer hold_timer_;
  Instant last_left_{};
};

}  // namespace verbatim::hca
