#include "verbs_shim/verbs/checks.h"

#include <cstdarg>
#include <cstdio>
#include <span>
#include <utility>

#include "verbs_shim/verbs/objects.h"

namespace verbatim::verbs {
namespace {

using protocol::Check;

bool has_translated = false;  // per process, never reset: a region has other addresses in work requests than in the program

constexpr std::int64_t kInCall = INT64_MAX;

// Only the beginning and the end of a long buffer are hashed.
constexpr std::uint32_t kPart = 128;
constexpr unsigned kMostEntries = 4;

// Continues `hash` with bytes of program memory; false: they are not mapped.
bool add_bytes(std::uint64_t address, std::uint32_t length, std::uint64_t* hash) {
  std::uint64_t words[2 * kPart / sizeof(std::uint64_t)] = {};
  if (!shim::copy_program_bytes(words, reinterpret_cast<const void*>(address), length)) return false;
  *hash = protocol::hash_words(*hash, words, (length + 7) / 8);
  return true;
}

const protocol::SendWqe& wqe_of(const SendQueue& queue, std::uint32_t number) {
  return *reinterpret_cast<const protocol::SendWqe*>(queue.ring + std::size_t{number & (queue.entries - 1)} * queue.stride);
}

bool sends_buffers(const protocol::SendWqe& wqe) {
  return wqe.opcode <= protocol::WqeOpcode::kRdmaWriteWithImm && wqe.sge_count != 0 && (wqe.flags & protocol::kWqeInline) == 0;
}

// Whether the request is fenced, or queued behind a fenced one: it may send data that a READ brings
// meanwhile.
bool is_behind_fence(Qp& qp, std::uint32_t number, const protocol::SendWqe& wqe) {
  if ((wqe.flags & protocol::kWqeFence) != 0) qp.fence_end = number + 1;
  const std::uint32_t reclaimed = qp.send.reclaimed;
  return qp.fence_end - 1 - reclaimed <= number - reclaimed;
}

// Without retransmission a buffer has been read before any acknowledgement arrives, polled or not.
bool sends_again(ibv_qp_type type) { return type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND; }

// 0: a buffer cannot be read.
std::uint32_t fingerprint(const protocol::SendWqe& wqe) {
  std::uint64_t hash = 1;
  for (unsigned i = 0; i < wqe.sge_count && i < kMostEntries; ++i) {
    protocol::Sge sge;
    std::memcpy(&sge, reinterpret_cast<const std::byte*>(&wqe + 1) + i * sizeof sge, sizeof sge);
    const bool is_long = sge.length > 2 * kPart;
    if (!add_bytes(sge.va, is_long ? kPart : sge.length, &hash)) return 0;
    if (is_long && !add_bytes(sge.va + sge.length - kPart, kPart, &hash)) return 0;
  }
  return protocol::fingerprint_of(hash);
}

// The same for a receive.
std::uint32_t receive_fingerprint(const ReceiveQueue& queue, std::uint32_t number) {
  const std::byte* const entry = queue.ring + std::size_t{number & (queue.entries - 1)} * queue.stride;
  protocol::RecvWqe wqe;
  std::memcpy(&wqe, entry, sizeof wqe);
  if (wqe.sge_count == 0) return 0;
  protocol::Sge sge;
  std::memcpy(&sge, entry + sizeof wqe, sizeof sge);
  std::uint64_t hash = 1;
  const std::uint32_t length = sge.length < protocol::kReceiveBytesSeen ? sge.length : protocol::kReceiveBytesSeen;
  return length != 0 && add_bytes(sge.va, length, &hash) ? protocol::fingerprint_of(hash) : 0;
}

}  // namespace

namespace {

// Fills the return addresses of the function that called the last entered verb and of those around it, as far as the
// program keeps frame pointers.
void find_outer_callers(const protocol::ThreadSlot& slot, std::span<std::uint64_t> outer) {
  // A frame pointer points to a higher stack address, which holds the caller's frame pointer and the return address.
  constexpr std::uint64_t kGreatestFrames = 1 << 20;
  std::uint64_t below = address_of(&below);
  std::uint64_t frame = slot.verb_frame;
  for (std::uint64_t& caller : outer) {
    std::uint64_t saved[2] = {};
    const bool is_frame = frame > below && frame - below < kGreatestFrames && frame % 8 == 0;
    if (!is_frame || !shim::copy_program_bytes(saved, reinterpret_cast<const void*>(frame), sizeof saved)) return;
    caller = saved[1];
    below = frame;
    frame = saved[0];
  }
}

// The first of them; 0: unknown.
std::uint64_t outer_caller(const protocol::ThreadSlot& slot) {
  std::uint64_t outer = 0;
  find_outer_callers(slot, {&outer, 1});
  return outer;
}

}  // namespace

void report_place(protocol::PlacedCall call, std::uint32_t context, std::uint32_t number, std::uint64_t wr_id) {
  protocol::ThreadSlot* slot = verbatim_thread_slot;
  if (slot == nullptr) return;
  protocol::CallNote note{shim::now_ps(), wr_id, slot->verb_caller, {}, number, context, call, 0};
  find_outer_callers(*slot, note.outer);
  slot->calls[slot->call_count++ % protocol::kMaxCallNotes] = note;
}

void note_translated_region() { has_translated = true; }
bool has_translated_regions() { return has_translated; }

void note_sends(Qp& qp, std::uint32_t first, std::uint32_t end, std::uint64_t caller) {
  const std::uint32_t outstanding = end - qp.send.reclaimed;
  if (outstanding > qp.record->send_most) qp.record->send_most = outstanding;
  if (reports_places()) [[unlikely]] {
    for (std::uint32_t number = first; number != end; ++number) {
      report_place(protocol::PlacedCall::kPostSend, handle_of(public_qp(&qp)->context), public_qp(&qp)->qp_num,
                   wqe_of(qp.send, number).wr_id);
    }
  }
  if (qp.fingerprints == nullptr) return;
  const bool looks = is_checked(Check::kSendBuffer) && !has_translated && sends_again(public_qp(&qp)->qp_type);
  const protocol::ThreadSlot* const slot = verbatim_thread_slot;
  const std::uint64_t outer = slot != nullptr && slot->verb_caller == caller ? outer_caller(*slot) : 0;
  for (std::uint32_t number = first; number != end; ++number) {
    const protocol::SendWqe& wqe = wqe_of(qp.send, number);
    const bool is_kept = !is_behind_fence(qp, number, wqe) && looks && sends_buffers(wqe);
    qp.fingerprints[number & (qp.send.entries - 1)] = {is_kept ? fingerprint(wqe) : 0, protocol::ReceiveNote::kNone, caller,
                                                       outer};
  }
}

void check_sends(Qp& qp, std::uint32_t to) {
  if (qp.fingerprints == nullptr || !is_checked(Check::kSendBuffer) || has_translated) return;
  if (to - qp.send.reclaimed > qp.send.producer - qp.send.reclaimed) return;
  for (std::uint32_t number = qp.send.reclaimed; number != to; ++number) {
    const PostNote& before = qp.fingerprints[number & (qp.send.entries - 1)];
    if (before.value == 0) continue;
    const protocol::SendWqe& wqe = wqe_of(qp.send, number);
    const std::uint32_t now = fingerprint(wqe);
    if (now == before.value || now == 0) continue;
    found_of_request(Check::kSendBuffer, before.caller, 0, {before.caller, before.outer},
          "QP %u: the buffer of the send with wr_id %llu was changed between ibv_post_send and the poll of its completion",
          public_qp(&qp)->qp_num, static_cast<unsigned long long>(wqe.wr_id));
  }
}

PostNote* allocate_notes(std::uint32_t entries) {
  constexpr std::uint32_t kNeeding =
      check_bit(Check::kMemoryGone) | check_bit(Check::kReceiveBuffer) | check_bit(Check::kLateReceive);
  if (entries == 0 || (shim::checks() & kNeeding) == 0) return nullptr;
  return static_cast<PostNote*>(shim::allocate(entries * sizeof(PostNote)));
}

std::uint64_t notes_for_adapter(const PostNote* notes) {
  return is_checked(Check::kReceiveBuffer) ? reinterpret_cast<std::uint64_t>(notes) : 0;
}

void note_receives(ReceiveQueue& queue, std::uint32_t first, std::uint32_t end) {
  if (queue.notes == nullptr) return;
  const protocol::ThreadSlot* const slot = verbatim_thread_slot;
  const std::uint64_t caller = slot == nullptr ? 0 : slot->verb_caller, outer = slot == nullptr ? 0 : outer_caller(*slot);
  const bool looks = is_checked(Check::kReceiveBuffer) && !has_translated;
  for (std::uint32_t number = first; number != end; ++number) {
    const std::uint32_t value = looks && protocol::is_receive_seen(number) ? receive_fingerprint(queue, number) : 0;
    queue.notes[number & (queue.entries - 1)] = {value, protocol::ReceiveNote::kOutstanding, caller, outer};
  }
}

void end_receive(ReceiveQueue& queue, std::uint32_t number, std::uint32_t qp_number, bool is_polled) {
  if (queue.notes == nullptr) return;
  const std::uint32_t slot = number & (queue.entries - 1);
  PostNote& note = queue.notes[slot];
  if (note.receive == protocol::ReceiveNote::kWritten && is_polled && is_checked(Check::kReceiveBuffer)) [[unlikely]] {
    const std::byte* const entry = queue.ring + std::size_t{slot} * queue.stride;
    protocol::RecvWqe wqe;
    protocol::Sge sge;
    std::memcpy(&wqe, entry, sizeof wqe);
    std::memcpy(&sge, entry + sizeof wqe, sizeof sge);
    found_of_request(Check::kReceiveBuffer, note.caller, sge.va, {note.caller, note.outer},
                     "QP %u: the program wrote to the buffer of the receive with wr_id %llu between ibv_post_recv and the message for it",
                     qp_number, static_cast<unsigned long long>(wqe.wr_id));
  }
  note.receive = protocol::ReceiveNote::kNone;
}

void check_first_receive(Qp& qp) {
  const ReceiveQueue& queue = qp.receive;
  if (queue.notes == nullptr || qp.record->first_receive_late == 0 || !is_checked(Check::kLateReceive)) return;
  protocol::RecvWqe wqe;
  std::memcpy(&wqe, queue.ring, sizeof wqe);
  found_of_request(Check::kLateReceive, queue.notes[0].caller, 0, {queue.notes[0].caller, queue.notes[0].outer},
                   "QP %u: its first receive (wr_id %llu) was posted after the change to RTR, and the peer could not know of it before it sent: "
                   "the message may arrive first, and the peer's rnr_retry is limited",
                   public_qp(&qp)->qp_num, static_cast<unsigned long long>(wqe.wr_id));
}

void check_failed(const ibv_wc* completions, int count, std::uint64_t failed, std::uint64_t caller) {
  if (!is_checked(Check::kUndefinedField) || verbatim_thread_slot == nullptr) return;
  // Only the first reports of each call site, while the table has room.
  constexpr std::uint32_t kMostPlaces = 64, kMostTimes = 3;
  static struct {
    std::uint64_t caller;
    std::uint32_t times;
  } places[kMostPlaces];
  auto* place = places;
  while (place != places + kMostPlaces && place->caller != 0 && place->caller != caller) ++place;
  if (place == places + kMostPlaces || place->times == kMostTimes) return;
  place->caller = caller;
  ++place->times;
  const protocol::FieldUseAnswer use = shim::use_of_failed(completions, static_cast<std::uint32_t>(count), failed);
  constexpr unsigned kFields = sizeof protocol::kUndefinedFields / sizeof protocol::kUndefinedFields[0];
  if (use.instruction == 0 || use.field >= kFields || use.completion >= static_cast<unsigned>(count)) return;
  const ibv_wc& wc = completions[use.completion];
  // `found` expects a return address, which is behind the instruction.
  found(Check::kUndefinedField, use.instruction + 1,
        "thread %u decides by %s of a failed completion of QP %u (wr_id %llu, %s), in which only wr_id, status, qp_num and vendor_err "
        "are defined",
        own_virtual_tid(), protocol::kUndefinedFields[use.field].name, wc.qp_num, static_cast<unsigned long long>(wc.wr_id),
        ibv_wc_status_str(wc.status));
}

void check_full(Qp& qp, std::uint32_t number, std::uint64_t caller) {
  ++qp.record->send_full;
  if (!is_checked(Check::kUnsignaled) || public_qp(&qp)->state != IBV_QPS_RTS) return;
  for (std::uint32_t i = number; i != qp.send.reclaimed;) {
    if ((wqe_of(qp.send, --i).flags & protocol::kWqeSignaled) != 0) return;
  }
  if (waiting_completions(public_qp(&qp)->send_cq).any) return;  // one of them may report an error
  found(Check::kUnsignaled, caller,
        "QP %u: its send queue is full, and none of the %u work requests in it is signaled: no completion will free a slot",
        public_qp(&qp)->qp_num, number - qp.send.reclaimed);
}

void check_copy(std::uint32_t opener, const char* verb, const char* kind, std::uint32_t number, std::uint64_t caller) {
  static std::uint32_t reported_in;
  const std::uint32_t process = shim::process_id();
  if (!is_checked(Check::kForkedContext) || std::exchange(reported_in, process) == process) return;
  found(Check::kForkedContext, caller,
        "%s: %s %u belongs to process %u, from which this one was forked: verbs objects work only in the process that opened the device, "
        "so this call has no effect",
        verb, kind, number, opener);
}

void UseScope::enter(const char* kind, std::uint32_t number, std::uint64_t caller) {
  if (!is_checked(Check::kThreads)) return;
  kind_ = kind;
  number_ = number;
  caller_ = caller;
  begin_ps_ = shim::now_ps();
  before_ = use_;
  use_.thread = own_virtual_tid();
  use_.begin_ps = begin_ps_;
  use_.end_ps = kInCall;
}

void UseScope::leave() {
  const std::int64_t now = shim::now_ps();
  const std::uint32_t own = own_virtual_tid();
  if (before_.thread != 0 && before_.thread != own && begin_ps_ < before_.end_ps && now > before_.begin_ps) {
    found(Check::kThreads, caller_,
          "threads %u and %u use %s %u at once, although the program promised to use it from one thread at a time", before_.thread,
          own, kind_, number_);
  }
  use_.thread = own;
  use_.begin_ps = begin_ps_;
  use_.end_ps = now;
}

}  // namespace verbatim::verbs
