// Payload on its way from a received packet into program memory.
//
// What the bytes of one message do among themselves is open: they may be cut (within an aligned 8 bytes only by a quirk), land in
// any order and late (freedom.h), also behind what other queue pairs bring. What is held back has been handed to the DMA engine,
// which keeps its order, before anything that says so or depends on it: the next message of its stream, what the queue pair
// answers (an acknowledgement, too) and completes, a write or read of the same bytes, by whomever, and a command of the program.
// The same bytes at another address are not known as such.
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
  std::uint32_t key = 0;  // through which it is reached, for fault reports
  Context* owner = nullptr;  // in whose program; lives as long as the opening
};

struct AdapterBase;
class AdapterMemory;
class KeyTable;
class Notifier;
class ReceiveCheck;

// Which packets bring the same message: those of one queue pair in one direction, from where release() of it was called to where
// it is called again.
using MessageStream = std::uint64_t;
constexpr MessageStream message_stream(std::uint32_t qpn, bool is_response) {
  return std::uint64_t{qpn} << 1 | (is_response ? 1 : 0);
}

class PayloadWriter final : public host::DmaClient, public host::PlacementClient {
 public:
  PayloadWriter(AdapterBase& adapter, host::DmaEngine& dma, AdapterMemory& memory, KeyTable& keys, Notifier& notifier);

  // The pieces together are as long as the payload, and not empty; their owners are of the opening of `context`. A payload
  // without bytes takes the same time and changes no memory.
  host::DmaWriteTimes write(Context& context, const ib::Payload& payload, std::span<const MemoryPiece> pieces,
                            MessageStream stream);
  // What write() is given until the next call of this are the first bytes of a message, for a receive that is to be looked at
  // before.
  void look_before(std::shared_ptr<ReceiveCheck> check) { check_ = std::move(check); }
  // When the last byte that was handed to the DMA engine leaves, or has left, the adapter.
  Instant last_left() const { return last_left_; }
  bool holds_any() const { return !held_.empty(); }
  // What is held back is handed to the DMA engine now: all of it; of one stream; of a queue pair; of the bytes at an address; in
  // memory of this program, or of who shares its opening.
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
    Placement placement;  // of one piece
    MessageStream stream;
    Instant until;
    bool has_any(host::ProgramAddress address, std::uint64_t length) const {
      const MemoryPiece& piece = placement.first;
      return piece.address < address + length && address < piece.address + piece.length;
    }
  };
  // Writes the pieces in the adapter's own memory, or in a program's, as far as the context still lives.
  void apply(const Placement& placement, bool on_adapter);
  void tell_placement(const MemoryPiece& piece, MessageStream stream);
  host::DmaWriteTimes place_whole(Context& context, const ib::Payload& payload,
                                  std::span<const MemoryPiece> pieces, MessageStream stream);
  host::DmaWriteTimes place(Placement placement);
  host::DmaWriteTimes hand_over(std::span<const host::DmaPiece> pieces);
  // Into parts that begin at multiples of the granule.
  std::vector<Placement> cut(Context& context, const ib::Payload& payload,
                             std::span<const MemoryPiece> pieces, std::uint32_t granule, MessageStream stream) const;
  void shuffle(std::vector<Placement>& parts);
  template <class Matches>
  void release(Matches matches);
  // What has been taken from what is held.
  void place_held(std::vector<Placement> parts);
  void on_hold_over();
  host::Touch touch_of(std::uint64_t cookie, std::vector<host::TouchedBytes>& bytes) const override;
  void on_dma_read(std::uint64_t, Instant) override {}
  void on_dma_write(std::uint64_t cookie) override;
  // `cookie`: the number of the context, and below it the key.
  void on_placement_fault(std::uint64_t cookie, host::ProgramAddress address, std::uint32_t length) override;

  AdapterBase& adapter_;
  host::DmaEngine& dma_;
  AdapterMemory& memory_;
  KeyTable& keys_;
  Notifier& notifier_;
  Ring<Placement> placing_;
  std::uint64_t first_placing_ = 0;  // number of its front
  std::vector<Held> held_;  // in order of arrival
  Timer hold_timer_;        // until the first of them goes on
  Instant last_left_{};
  std::shared_ptr<ReceiveCheck> check_;  // of what is being written; null: none
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
