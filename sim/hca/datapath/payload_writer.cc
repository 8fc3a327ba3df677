#include "sim/hca/datapath/payload_writer.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/hca/adapter_base.h"
#include "sim/hca/adapter_memory.h"
#include "sim/hca/datapath/notifier.h"
#include "sim/hca/datapath/receive_check.h"
#include "sim/hca/freedom.h"

namespace verbatim::hca {

namespace {
constexpr std::uint32_t kMostParts = 16;      // approximate limit of parts of a packet
constexpr std::uint32_t kMostTornParts = 64;  // the same for parts of less than 8 bytes
}  // namespace

PayloadWriter::PayloadWriter(AdapterBase& adapter, host::DmaEngine& dma, AdapterMemory& memory, KeyTable& keys,
                             Notifier& notifier)
    : adapter_(adapter),
      dma_(dma),
      memory_(memory),
      keys_(keys),
      notifier_(notifier),
      hold_timer_(
          Timer::of<&PayloadWriter::on_hold_over>(adapter.engine, adapter.id, EventClass::kDma, this)) {}

host::DmaWriteTimes PayloadWriter::write(Context& context, const ib::Payload& payload,
                                         std::span<const MemoryPiece> pieces, MessageStream stream, WriteOrder order) {
  CHECK(!pieces.empty());
  if (!held_.empty()) [[unlikely]] {
    release([&](const Held& held) {
      const bool is_free = held.stream != stream || held.order != WriteOrder::kKept;
      return is_free && std::ranges::any_of(pieces, [&held](const MemoryPiece& piece) {
               return held.has_any(piece.address, piece.length);
             });
    });
  }
  Choices& choices = adapter_.choices;
  const bool may_tear = (adapter_.profile.quirks & bit_of(Quirk::kTorn8)) != 0;
  const auto granules = may_tear ? static_cast<std::uint32_t>(freedom::kPlacementGranules.size()) : freedom::kWholeWordGranules;
  const std::uint32_t granule = freedom::kPlacementGranules[choices.choose(freedom::kPlacementPieces, adapter_.id, granules)];
  if (granule == 0) return place_whole(context, payload, pieces, stream);
  std::vector<Placement> parts = cut(context, payload, pieces, granule, stream);
  shuffle(parts);
  host::DmaWriteTimes times{adapter_.engine.now(), adapter_.engine.now()};
  const std::size_t before = held_.size();
  for (Placement& part : parts) {
    if (choices.choose(freedom::kPlacementHold, adapter_.id, 2) == 0) {
      times = place(std::move(part));
    } else {
      held_.push_back({std::move(part), stream, {}, order});
    }
  }
  if (held_.size() == before) return times;
  const Instant until = adapter_.engine.now() + freedom::kPlacementDelay.choose(choices, adapter_.id);
  for (std::size_t i = before; i < held_.size(); ++i) held_[i].until = until;
  if (!hold_timer_.scheduled() || until < hold_timer_.when()) hold_timer_.reschedule_at(until);
  return times;
}

host::DmaWriteTimes PayloadWriter::place_whole(Context& context, const ib::Payload& payload,
                                               std::span<const MemoryPiece> pieces, MessageStream stream) {
  if (pieces.size() == 1 && !is_on_adapter(pieces[0].address)) [[likely]] {
    CHECK(pieces[0].length == payload.length);
    const host::DmaPiece piece(pieces[0].length, pieces[0].address);
    if (!payload.has_bytes() && check_ == nullptr && !adapter_.has_failed) {
      const host::DmaWriteTimes times = dma_.write_length({&piece, 1});
      last_left_ = times.left_adapter;
      adapter_.tracer.record_at(times.visible, adapter_.id, TraceEvent::kDmaWrite, pieces[0].owner->program.process,
                                pieces[0].address, pieces[0].length, 0);
      return times;
    }
    Placement& placement = placing_.extend();
    placement.context = context.self;
    placement.payload = payload;
    placement.first = pieces[0];
    placement.more.clear();
    placement.stream = stream;
    placement.check = check_;
    return hand_over({&piece, 1});
  }
  Placement placement{context.self, payload, pieces[0], {}, stream, check_};
  if (pieces.size() == 1) return place(std::move(placement));
  placement.more.assign(pieces.begin(), pieces.end());
  std::vector<host::DmaPiece> parts;
  std::uint32_t total = 0;
  for (const MemoryPiece& piece : pieces) {
    if (!is_on_adapter(piece.address)) parts.emplace_back(piece.length, piece.address);
    total += piece.length;
  }
  CHECK(total == payload.length);
  if (parts.size() < pieces.size()) apply(placement, true);
  if (parts.empty()) return {adapter_.engine.now(), adapter_.engine.now()};
  placing_.push_back(std::move(placement));
  return hand_over(parts);
}

host::DmaWriteTimes PayloadWriter::hand_over(std::span<const host::DmaPiece> pieces) {
  const host::DmaWriteTimes times = dma_.write(pieces, *this, first_placing_ + placing_.size() - 1);
  last_left_ = times.left_adapter;
  return times;
}

host::DmaWriteTimes PayloadWriter::place(Placement placement) {
  if (is_on_adapter(placement.first.address)) {
    apply(placement, true);
    return {adapter_.engine.now(), adapter_.engine.now()};
  }
  const host::DmaPiece piece(placement.first.length, placement.first.address);
  placing_.push_back(std::move(placement));
  return hand_over({&piece, 1});
}

std::vector<PayloadWriter::Placement> PayloadWriter::cut(Context& context, const ib::Payload& payload,
                                                         std::span<const MemoryPiece> pieces,
                                                         std::uint32_t granule, MessageStream stream) const {
  granule = std::max(granule, std::bit_ceil(payload.length / (granule < sizeof(std::uint64_t) ? kMostTornParts : kMostParts)));
  std::vector<Placement> parts;
  ib::Payload rest = payload;
  for (MemoryPiece piece : pieces) {
    while (piece.length > 0) {
      const auto to_edge = static_cast<std::uint32_t>(granule - piece.address % granule);
      const std::uint32_t length = std::min(piece.length, to_edge);
      parts.push_back(
          {context.self, {rest.buffer, rest.offset, length}, {piece.address, length, piece.key, piece.owner}, {}, stream,
           check_});
      rest.offset += length;
      rest.length -= length;
      piece.address += length;
      piece.length -= length;
    }
  }
  CHECK(rest.length == 0);
  return parts;
}

void PayloadWriter::shuffle(std::vector<Placement>& parts) {
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    const auto left = static_cast<std::uint32_t>(parts.size() - i);
    std::swap(parts[i], parts[i + adapter_.choices.choose(freedom::kPlacementOrder, adapter_.id, left)]);
  }
}

bool PayloadWriter::overtakes(MessageStream stream) {
  bool is_quirk = false, has_any = false;
  for (const Held& held : held_) {
    if (held.stream != stream) continue;
    if (held.order == WriteOrder::kKept) return false;
    has_any = true;
    is_quirk = is_quirk || held.order == WriteOrder::kQuirk;
  }
  return has_any && adapter_.choices.choose(is_quirk ? freedom::kUnorderedWrites : freedom::kWriteOrder, adapter_.id, 2) != 0;
}

void PayloadWriter::place_held(std::vector<Placement> parts) {
  hold_timer_.cancel();
  if (!held_.empty()) hold_timer_.schedule_at(std::ranges::min(held_, {}, &Held::until).until);
  shuffle(parts);
  for (Placement& part : parts) place(std::move(part));
}

void PayloadWriter::release_for(const Context* program) {
  if (held_.empty()) [[likely]] return;
  release([program](const Held& held) {
    const Context* const owner = held.placement.context.get();
    if (program == nullptr || owner == nullptr) return true;
    return &owner->objects == &program->objects || owner->program.process == program->program.process;
  });
}

void PayloadWriter::on_hold_over() {
  release([now = adapter_.engine.now()](const Held& held) { return held.until <= now; });
}

host::Touch PayloadWriter::touch_of(std::uint64_t cookie, std::vector<host::TouchedBytes>& bytes) const {
  const Placement& placement = placing_[cookie - first_placing_];
  if (placement.context.get() == nullptr || adapter_.has_failed || !placement.payload.has_bytes()) return host::Touch::kUnseen;
  if (placement.check != nullptr && placement.check->is_due()) return host::Touch::kUnknown;
  const std::byte* from = placement.payload.bytes().data();
  const auto pieces = placement.more.empty() ? std::span(&placement.first, 1) : std::span(placement.more);
  for (const MemoryPiece& piece : pieces) {
    if (!is_on_adapter(piece.address)) bytes.push_back({piece.owner->program.memory, piece.address, piece.length, from});
    from += piece.length;
  }
  return host::Touch::kWrite;
}

void PayloadWriter::on_dma_write(std::uint64_t) {
  Placement& placement = placing_.front();
  if (placement.check != nullptr) [[unlikely]] {
    if (placement.check->is_due()) placement.check->look(adapter_);
    placement.check.reset();
  }
  apply(placement, false);
  placement.payload.buffer = {};  // the buffer is free for the next packet
  placing_.drop_front();
  ++first_placing_;
}

void PayloadWriter::report_placement(const MemoryPiece& piece, MessageStream stream) {
  const TraceRecord record{to_ps(adapter_.engine.now()), adapter_.id.value, TraceEvent::kDmaWrite,
                           {piece.owner->program.process, piece.address, piece.length, 0}};
  adapter_.tracer.report_placement(record, static_cast<std::uint32_t>(stream >> 1), (stream & 1) != 0);
}

void PayloadWriter::apply(const Placement& placement, bool on_adapter) {
  if (placement.context.get() == nullptr || adapter_.has_failed) return;
  const bool has_bytes = placement.payload.has_bytes();
  std::span<const std::byte> bytes = has_bytes ? placement.payload.bytes() : std::span<const std::byte>();
  const std::span<const MemoryPiece> pieces =
      placement.more.empty() ? std::span(&placement.first, 1) : std::span(placement.more);
  for (const MemoryPiece& piece : pieces) {
    const std::span<const std::byte> part = bytes.first(has_bytes ? piece.length : 0);
    bytes = bytes.subspan(part.size());
    if (is_on_adapter(piece.address) != on_adapter) continue;
    adapter_.tracer.record(adapter_.id, TraceEvent::kDmaWrite, piece.owner->program.process, piece.address,
                           piece.length, 0, part);
    if (!has_bytes) continue;
    if (adapter_.tracer.wants_facts()) [[unlikely]] report_placement(piece, placement.stream);
    if (!on_adapter) piece.owner->program.memory->placed.add(piece.address, piece.length, adapter_.engine.now());
    const std::uint64_t cookie = std::uint64_t{piece.owner->number} << 32 | piece.key;
    memory_.place(*piece.owner, piece.address, part, {this, cookie});
  }
}

void PayloadWriter::on_placement_fault(std::uint64_t cookie, host::ProgramAddress address, std::uint32_t length) {
  const auto key = static_cast<std::uint32_t>(cookie);
  const MemoryRegion* const region = keys_.find(key);
  if (region == nullptr || region->context->number != cookie >> 32) return;
  notifier_.dma_fault(*region->context, key, address, length);
}

}  // namespace verbatim::hca
