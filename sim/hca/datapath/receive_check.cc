#include "sim/hca/datapath/receive_check.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "sim/hca/adapter_base.h"
#include "sim/hca/adapter_memory.h"
#include "verbs_shim/protocol/post_notes.h"

namespace verbatim::hca {

namespace {

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace

std::shared_ptr<ReceiveCheck> ReceiveCheck::of(QueuePair& qp, host::ProgramAddress note_at, const RecvWork& work, Instant now) {
  Context& owner = qp.memory_owner();
  if (work.sges.entries().empty() || work.match != nullptr || owner.program.memory == nullptr) return nullptr;
  // The ring entry has not enough bits for later times.
  if (static_cast<std::uint64_t>(to_ps(now)) > protocol::RecvWqe::kPostedMask) return nullptr;
  const protocol::Sge& first = work.sges.entries()[0];
  if (is_on_adapter(first.va)) return nullptr;
  auto check = std::make_shared<ReceiveCheck>();
  check->qp_ = qp.self;
  check->owner_ = owner.self;
  check->note_ = note_at;
  check->buffer_ = first.va;
  check->length_ = std::min(first.length, protocol::kReceiveBytesSeen);
  check->posted_ = instant_from_ps(static_cast<std::int64_t>(work.posted_ps));
  return check;
}

void ReceiveCheck::look(const AdapterBase& adapter) {
  is_due_ = false;
  Context* const owner = owner_.get();
  if (qp_.get() == nullptr || owner == nullptr || adapter.has_failed) return;
  host::ProgramMemory& memory = *owner->program.memory;
  protocol::PostNote note{};
  if (!memory.read(note_, bytes_of(note)) || note.value == 0) return;
  std::array<std::uint64_t, protocol::kReceiveBytesSeen / sizeof(std::uint64_t)> words{};
  if (!memory.read(buffer_, std::as_writable_bytes(std::span(words)).first(length_))) return;
  const auto count = static_cast<std::uint32_t>((length_ + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
  if (protocol::fingerprint_of(protocol::hash_words(1, words.data(), count)) == note.value) return;
  if (memory.placed.may_have_written_since(buffer_, length_, posted_)) return;
  const auto written = protocol::ReceiveNote::kWritten;
  memory.write(note_ + offsetof(protocol::PostNote, receive), std::as_bytes(std::span(&written, 1)));
}

}  // namespace verbatim::hca
