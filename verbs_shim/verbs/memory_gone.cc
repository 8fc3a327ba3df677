// Check::kMemoryGone: memory of a registered region is taken away (munmap, mremap, brk, madvise, shmdt, free,
// realloc) while work requests name it. A request needs its memory until the completion that releases it has
// been polled, whatever the adapter has done by then. Queue pairs that have failed, or are in RESET or ERR,
// no longer access memory.
#include <cstdio>

#include "verbs_shim/verbs/objects.h"

namespace verbatim::verbs {
namespace {

using protocol::Check;

struct Range {
  std::uint64_t start, size;
  bool meets(std::uint64_t other, std::uint64_t other_size) const {
    return size != 0 && (start >= other ? start - other < other_size : other_size != 0 && other - start < size);
  }
};

// Requests affected by one call: the first one, and the total number.
struct Found {
  const char* kind = nullptr;
  const char* queue = nullptr;
  std::uint32_t number = 0;
  std::uint64_t wr_id = 0, posted = 0;
  std::uint32_t count = 0;

  void add(const char* of_kind, const char* of_queue, std::uint32_t of_number, std::uint64_t id, std::uint64_t from) {
    if (count++ == 0) *this = {of_kind, of_queue, of_number, id, from, 1};
  }
};

Mr* regions = nullptr;

bool names(const std::byte* entries, unsigned count, std::uint32_t lkey, const Range& gone) {
  for (unsigned i = 0; i < count; ++i) {
    protocol::Sge sge;
    std::memcpy(&sge, entries + i * sizeof sge, sizeof sge);
    if (sge.lkey == lkey && gone.meets(sge.va, sge.length)) return true;
  }
  return false;
}

void look_at_sends(Qp& qp, std::uint32_t lkey, const Range& gone, Found* found) {
  const SendQueue& queue = qp.send;
  for (std::uint32_t number = queue.reclaimed; number != queue.producer; ++number) {
    const std::uint32_t slot = number & (queue.entries - 1);
    protocol::SendWqe wqe;
    const std::byte* const entry = queue.ring + std::size_t{slot} * queue.stride;
    std::memcpy(&wqe, entry, sizeof wqe);
    if ((wqe.flags & protocol::kWqeInline) != 0 || !names(entry + sizeof wqe, wqe.sge_count, lkey, gone)) continue;
    const bool reads = wqe.opcode == protocol::WqeOpcode::kRdmaRead;
    found->add(reads ? "a READ" : "a send", "QP", public_qp(&qp)->qp_num, wqe.wr_id,
               qp.fingerprints == nullptr ? 0 : qp.fingerprints[slot].caller);
  }
}

void look_at_receives(const ReceiveQueue& queue, const char* name, std::uint32_t of, std::uint32_t lkey, const Range& gone,
                      Found* found) {
  if (queue.notes == nullptr) return;
  for (std::uint32_t number = queue.producer - queue.entries; number != queue.producer; ++number) {
    const std::uint32_t slot = number & (queue.entries - 1);
    if (queue.notes[slot].receive == protocol::ReceiveNote::kNone) continue;
    protocol::RecvWqe wqe;
    const std::byte* const entry = queue.ring + std::size_t{slot} * queue.stride;
    std::memcpy(&wqe, entry, sizeof wqe);
    if (names(entry + sizeof wqe, wqe.sge_count, lkey, gone)) found->add("a receive", name, of, wqe.wr_id, queue.notes[slot].caller);
  }
}

// Reports the first request of a queue pair, among those whose buffers must not change, that meets the condition.
template <class Meets>
void report_stored_send(Qp& qp, Meets meets) {
  if (qp.fingerprints == nullptr) return;
  for (std::uint32_t number = qp.send.reclaimed; number != qp.send.producer; ++number) {
    const std::uint32_t slot = number & (qp.send.entries - 1);
    protocol::PostNote& note = qp.fingerprints[slot];
    if (note.value == 0) continue;
    protocol::SendWqe wqe;
    const std::byte* const entry = qp.send.ring + std::size_t{slot} * qp.send.stride;
    std::memcpy(&wqe, entry, sizeof wqe);
    if (!meets(entry + sizeof wqe, wqe.sge_count)) continue;
    note.value = 0;  // reported
    return found_of_request(Check::kSendBuffer, note.caller, 0, {note.caller, note.outer},
                            "QP %u: the program wrote to the buffer of the send with wr_id %llu between ibv_post_send and the poll of its "
                            "completion",
                            public_qp(&qp)->qp_num, static_cast<unsigned long long>(wqe.wr_id));
  }
}

void look_at_requests(const Mr& mr, const Range& gone, Found* found) {
  Context* const context = context_of(mr.base.context);
  if (context == nullptr) return;
  for (Qp* qp : context->qps) {
    for (; qp != nullptr; qp = qp->next_in_bucket) {
      const ibv_qp_state state = public_qp(qp)->state;
      if (qp->record == nullptr || qp->has_failed || state == IBV_QPS_RESET || state == IBV_QPS_ERR) continue;
      look_at_sends(*qp, mr.base.lkey, gone, found);
      look_at_receives(qp->receive, "QP", public_qp(qp)->qp_num, mr.base.lkey, gone, found);
    }
  }
  for (const Srq* srq = context->srqs; srq != nullptr; srq = srq->next)
    look_at_receives(srq->receive, "SRQ", srq->number, mr.base.lkey, gone, found);
  for (const Wq* wq = context->wqs; wq != nullptr; wq = wq->next) {
    if (wq->base.state == IBV_WQS_RDY) look_at_receives(wq->receive, "WQ", wq->base.wq_num, mr.base.lkey, gone, found);
  }
}

void look_for_uses(std::uint64_t start, std::uint64_t size, const char* call, bool shows_shared) {
  if (has_translated_regions() || verbatim_thread_slot == nullptr) return;
  const Range gone{start, size};
  const std::uint32_t process = shim::process_id();
  Found found;
  for (const Mr* mr = regions; mr != nullptr; mr = mr->next) {
    // On-demand regions are translated at access time. A forked copy of the process has memory of its own.
    if ((mr->is_on_demand && shows_shared) || mr->process != process) continue;
    if (gone.meets(address_of(mr->base.addr), mr->base.length)) look_at_requests(*mr, gone, &found);
  }
  if (found.count == 0) return;
  std::uint64_t frames[protocol::kMostNoteFrames];
  shim::fill_frames(frames);
  char more[32] = "";
  if (found.count > 1) std::snprintf(more, sizeof more, " (as do %u more)", found.count - 1);
  found_of_request(Check::kMemoryGone, found.posted, shows_shared ? start : 0, frames,
                   "thread %u frees %llu bytes at %#llx by %s, but %s of %s %u with wr_id %llu, whose completion has not been polled, uses "
                   "memory there%s",
                   own_virtual_tid(), static_cast<unsigned long long>(size), static_cast<unsigned long long>(start), call,
                   found.kind, found.queue, found.number, static_cast<unsigned long long>(found.wr_id), more);
}

// Check::kSendBuffer, where stores trap: the program writes to the buffer of a send that is outstanding, perhaps the bytes
// that it holds already.
void look_at_store(std::uint64_t start, std::uint64_t size) {
  if (has_translated_regions() || verbatim_thread_slot == nullptr) return;
  const Range stored{start, size};
  const std::uint32_t process = shim::process_id();
  for (const Mr* mr = regions; mr != nullptr; mr = mr->next) {
    Context* const context = mr->process == process && stored.meets(address_of(mr->base.addr), mr->base.length)
                                 ? context_of(mr->base.context)
                                 : nullptr;
    if (context == nullptr) continue;
    for (Qp* qp : context->qps) {
      for (; qp != nullptr; qp = qp->next_in_bucket) report_stored_send(*qp, [&](const std::byte* entries, unsigned count) {
        return names(entries, count, mr->base.lkey, stored);
      });
    }
  }
}

}  // namespace

void add_region(Mr& mr) {
  mr.process = shim::process_id();
  mr.next = regions;
  if (regions != nullptr) regions->previous = &mr;
  regions = &mr;
  if (is_checked(Check::kSendBuffer)) shim::watch_stores(&look_at_store);
  if (!is_checked(Check::kMemoryGone)) return;
  shim::watch_memory(&look_for_uses);
  shim::watch_heap(&look_for_uses, address_of(mr.base.addr), mr.base.length);
}

void remove_region(Mr& mr) {
  (mr.previous == nullptr ? regions : mr.previous->next) = mr.next;
  if (mr.next != nullptr) mr.next->previous = mr.previous;
  if (regions == nullptr) shim::forget_heap();
}

}  // namespace verbatim::verbs
