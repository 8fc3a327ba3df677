// Payload on its way from a received packet into program memory.
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
};

struct Adapter;

class PayloadWriter final : public host::DmaClient {
 public:
  explicit PayloadWriter(Adapter& adapter) : adapter_(adapter) {}

  // The pieces together are as long as the payload, and not empty.
  host::DmaWriteTimes write(Context& context, const ib::Payload& payload,
                            std::span<const MemoryPiece> pieces);

 private:
  struct Placement {
    Ref<Context> context;
    ib::Payload payload;
    MemoryPiece first;
    std::vector<MemoryPiece> more;  // all pieces when there are several
  };
  void on_dma_read(std::uint64_t, Instant) override {}
  void on_dma_write(std::uint64_t cookie) override;

  Adapter& adapter_;
  Ring<Placement> placing_;
};

}  // namespace verbatim::hca
