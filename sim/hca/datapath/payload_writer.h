// Writes of payload from received packets into program memory.
//
// The order in which the bytes of one message reach memory is unspecified: choices may cut the payload into
// parts (of less than an aligned 8 bytes only by a quirk), which are written in any order and late
// (freedom.h), even after payload of other queue pairs. A held part is handed to the DMA engine, which keeps
// its order, before anything that depends on it: the next message of its stream, answers (including
// acknowledgements) and completions of its queue pair, a write or read of the same bytes, and a command of
// the program. Aliases of the bytes at other addresses are not recognized. A later WRITE may be placed before
// held parts of earlier ones if their region was registered with IBV_ACCESS_RELAXED_ORDERING, or by a quirk;
// acknowledgements wait for these parts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
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
  std::uint32_t key = 0;  // L_Key or R_Key, for fault reports
  Context* owner = nullptr;  // its program; lives as long as the opening
};

struct AdapterBase;
class AdapterMemory;
class KeyTable;
class Notifier;
class ReceiveCheck;

// The packets of one queue pair in one direction, requests or responses. release_stream() is called between
// messages.
using MessageStream = std::uint64_t;
constexpr MessageStream message_stream(std::uint32_t qpn, bool is_response) {
  return std::uint64_t{qpn} << 1 | (is_response ? 1 : 0);
}

// Order of the bytes of a message and of those of later WRITEs of the same queue pair: kept; free, because the region
// was registered with IBV_ACCESS_RELAXED_ORDERING (ibv_reg_mr(3)); free by Quirk::kUnorderedWrites.
enum class WriteOrder : std::uint8_t { kKept, kRelaxed, kQuirk };

class PayloadWriter final : public host::DmaClient, public host::PlacementClient {
 public:
  PayloadWriter(AdapterBase& adapter, host::DmaEngine& dma, AdapterMemory& memory, KeyTable& keys, Notifier& notifier);

  // Writes the payload to the pieces, or holds it. The pieces are not empty and together as long as the
  // payload; their owners belong to the opening of `context`. A payload whose bytes are not modelled takes
  // the same time and changes no memory.
  host::DmaWriteTimes write(Context& context, const ib::Payload& payload, std::span<const MemoryPiece> pieces,
                            MessageStream stream, WriteOrder order = WriteOrder::kKept);
  // A request message begins: held parts of earlier ones are handed to the DMA engine, unless it is a WRITE that
  // overtakes them.
  void begin_message(MessageStream stream, bool is_write) {
    if (held_.empty()) [[likely]] return;
    if (!is_write || !overtakes(stream)) release_stream(stream);
  }
  // Latest time until which a part of the stream that a WRITE may overtake is held; 0: there is no such part.
  Instant overtakable_until(MessageStream stream) const {
    Instant until{};
    for (const Held& held : held_) {
      if (held.stream == stream && held.order != WriteOrder::kKept) until = std::max(until, held.until);
    }
    return until;
  }
  // Sets the check that examines the receive buffer before the payload of the next writes is written; null:
  // none.
  void check_before_writes(std::shared_ptr<ReceiveCheck> check) { check_ = std::move(check); }
  // Time, past or future, at which the last byte that was handed to the DMA engine leaves the adapter.
  Instant last_left() const { return last_left_; }
  bool holds_any() const { return !held_.empty(); }
  // Hands parts that are held back to the DMA engine now: all parts; those of a stream; of a queue pair; of
  // the bytes at an address; in memory of this program or of programs that share its opening (null: all).
  void release_held() {
    if (!held_.empty()) [[unlikely]] release([](const Held&) { return true; });
  }
  void release_stream(MessageStream stream) {
    if (!held_.empty()) [[unlikely]] release([stream](const Held& held) { return held.stream == stream; });
  }
  void release_of(std::uint32_t qpn) {
    if (!held_.empty()) [[unlikely]] release([qpn](const Held& held) { return held.stream >> 1 == qpn; });
  }
  void release_bytes(host::ProgramAddress address, std::uint64_t length) {
    if (!held_.empty()) [[unlikely]] release([=](const Held& held) { return held.has_any(address, length); });
  }
  void release_for(const Context* program);

 private:
  struct Placement {
    Ref<Context> context;
    ib::Payload payload;
    MemoryPiece first;
    std::vector<MemoryPiece> more;  // all pieces when there are several
    MessageStream stream;
    std::shared_ptr<ReceiveCheck> check = nullptr;
  };
  struct Held {
    Placement placement;  // has one piece
    MessageStream stream;
    Instant until;
    WriteOrder order = WriteOrder::kKept;
    bool has_any(host::ProgramAddress address, std::uint64_t length) const {
      const MemoryPiece& piece = placement.first;
      return piece.address < address + length && address < piece.address + piece.length;
    }
  };
  // Writes the pieces that are in the adapter's own memory, or those in programs, unless the context has
  // ended.
  void apply(const Placement& placement, bool on_adapter);
  void report_placement(const MemoryPiece& piece, MessageStream stream);
  host::DmaWriteTimes place_whole(Context& context, const ib::Payload& payload,
                                  std::span<const MemoryPiece> pieces, MessageStream stream);
  host::DmaWriteTimes place(Placement placement);
  host::DmaWriteTimes hand_over(std::span<const host::DmaPiece> pieces);
  // Cuts payload into parts that begin at multiples of the granule.
  std::vector<Placement> cut(Context& context, const ib::Payload& payload,
                             std::span<const MemoryPiece> pieces, std::uint32_t granule, MessageStream stream) const;
  void shuffle(std::vector<Placement>& parts);
  bool overtakes(MessageStream stream);
  template <class Matches>
  void release(Matches matches);
  // Places parts that have been taken from held_.
  void place_held(std::vector<Placement> parts);
  void on_hold_over();
  host::Touch touch_of(std::uint64_t cookie, std::vector<host::TouchedBytes>& bytes) const override;
  void on_dma_read(std::uint64_t, Instant) override {}
  void on_dma_write(std::uint64_t cookie) override;
  // `cookie`: the number of the context in the upper 32 bits, the key in the lower.
  void on_placement_fault(std::uint64_t cookie, host::ProgramAddress address, std::uint32_t length) override;

  AdapterBase& adapter_;
  host::DmaEngine& dma_;
  AdapterMemory& memory_;
  KeyTable& keys_;
  Notifier& notifier_;
  Ring<Placement> placing_;
  std::uint64_t first_placing_ = 0;  // number of its front
  std::vector<Held> held_;  // in order of arrival
  Timer hold_timer_;        // runs until the first of them is released
  Instant last_left_{};
  std::shared_ptr<ReceiveCheck> check_;  // set by check_before_writes()
};

template <class Matches>
void PayloadWriter::release(Matches matches) {
  const auto first = std::stable_partition(held_.begin(), held_.end(), [&](const Held& held) { return !matches(held); });
  if (first == held_.end()) return;
  std::vector<Placement> parts;
  for (auto it = first; it != held_.end(); ++it) parts.push_back(std::move(it->placement));
  held_.erase(first, held_.end());
  place_held(std::move(parts));
}

}  // namespace verbatim::hca
