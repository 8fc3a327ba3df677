// Operations on an SRQ's list of tagged receives (ibv_post_srq_ops(3)): entries of a ring that the adapter
// fetches on a doorbell. A call takes the time of a post of as many sends.
#include "verbs_shim/verbs/objects.h"

namespace verbatim::verbs {
namespace {

int encode(Srq& srq, ibv_ops_wr& wr) {
  TagQueue& tags = srq.tags;
  if (tags.posted - srq.record->operations_done.load(std::memory_order_acquire) >= tags.entries) {
    return refuse_with(ENOMEM, "ibv_post_srq_ops: all of max_ops %u are under way", tags.entries);
  }
  const bool adds = wr.opcode == IBV_WR_TAG_ADD;
  if ((!adds && wr.opcode != IBV_WR_TAG_DEL && wr.opcode != IBV_WR_TAG_SYNC) ||
      (wr.flags & ~(IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC)) != 0) {
    return refuse_with(EINVAL, "ibv_post_srq_ops: opcode %d, flags %#x", static_cast<int>(wr.opcode),
                       static_cast<unsigned>(wr.flags));
  }
  const std::size_t room = (tags.stride - sizeof(protocol::TagOperationWqe)) / sizeof(protocol::Sge);
  if (adds && (wr.tm.add.num_sge < 0 || static_cast<std::size_t>(wr.tm.add.num_sge) > room)) {
    return refuse_with(EINVAL, "ibv_post_srq_ops: num_sge %d, tm_caps has max_sge %zu", wr.tm.add.num_sge, room);
  }
  if (adds && tags.added - srq.record->tags_left.load(std::memory_order_acquire) >= tags.max_num_tags) {
    return refuse_with(ENOMEM, "ibv_post_srq_ops: all of max_num_tags %u are in the list", tags.max_num_tags);
  }
  if (adds) wr.tm.handle = ++tags.added;
  protocol::TagOperationWqe header{};
  header.wr_id = wr.wr_id;
  header.handle = wr.tm.handle;
  header.unexpected_count = wr.tm.unexpected_cnt;
  header.opcode = static_cast<protocol::TagOpcode>(wr.opcode);
  header.flags = static_cast<std::uint8_t>(wr.flags);
  if (wr.opcode == IBV_WR_TAG_SYNC) header.flags |= protocol::kTagSync;
  std::byte* slot = tags.ring + std::size_t{tags.posted & (tags.entries - 1)} * tags.stride;
  if (adds) {
    header.recv_wr_id = wr.tm.add.recv_wr_id;
    header.tag = wr.tm.add.tag;
    header.mask = wr.tm.add.mask;
    header.sge_count = static_cast<std::uint8_t>(wr.tm.add.num_sge);
    for (std::size_t i = 0; i < header.sge_count; ++i) {
      const ibv_sge& from = wr.tm.add.sg_list[i];
      const protocol::Sge sge{from.addr, from.length, from.lkey};
      std::memcpy(slot + sizeof(header) + i * sizeof(sge), &sge, sizeof(sge));
    }
  }
  std::memcpy(slot, &header, sizeof(header));
  ++tags.posted;
  return 0;
}

}  // namespace

int post_srq_ops(ibv_srq* handle, ibv_ops_wr* wr, ibv_ops_wr** bad_wr) {
  auto* srq = object<Srq>(handle);
  const protocol::CallCosts& costs = shim::costs();
  if (srq == nullptr || srq->tags.entries == 0) {
    *bad_wr = wr;
    return refuse_with(EINVAL, "ibv_post_srq_ops: the SRQ is none of type TM");
  }
  VERBATIM_ENTER_VERB();
  // Time passes first: operations that the adapter completes meanwhile release their slots.
  shim::spend(costs.post_send_ps);
  int error = 0;
  std::uint32_t count = 0;
  for (; wr != nullptr && error == 0; ++count) {
    error = encode(*srq, *wr);
    if (error != 0) break;
    wr = wr->next;
  }
  if (error != 0) *bad_wr = wr;
  if (count == 0) return error;
  shim::ring_doorbell(count * costs.post_send_wqe_ps + costs.doorbell_ps, protocol::DoorbellKind::kTagOperations,
                      handle_of(handle->context), srq->number, srq->tags.posted);
  return error;
}

}  // namespace verbatim::verbs
