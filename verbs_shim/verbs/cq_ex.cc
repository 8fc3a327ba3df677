// The extended poll: start_poll … next_poll … end_poll, and a read function for every field.
//
// start_poll takes poll_empty_ps before it reads an entry, next_poll takes none; each completion found takes
// poll_cqe_ps. end_poll releases the slots to the adapter.
#include "verbs_shim/protocol/layout.h"
#include "verbs_shim/protocol/region.h"
#include "verbs_shim/runtime/poll_entry.h"
#include "verbs_shim/runtime/polls.h"
#include "verbs_shim/runtime/reported_call.h"
#include "verbs_shim/verbs/objects.h"

namespace verbatim::verbs {
namespace {

Cq& cq_of(ibv_cq_ex* cq) { return *reinterpret_cast<Cq*>(cq); }
const protocol::Cqe& current(ibv_cq_ex* cq) { return cq_of(cq).current; }

bool take_current(Cq& cq) {
  const protocol::Cqe* taken = take_completion(cq);
  if (taken == nullptr) return false;
  cq.current = *taken;
  cq.base.wr_id = cq.current.wr_id;
  cq.base.status = static_cast<ibv_wc_status>(cq.current.status);
  shim::spend(shim::costs().poll_cqe_ps);
  return true;
}

extern "C" __attribute__((visibility("hidden"), used)) int verbatim_start_poll(ibv_cq_ex* handle,
                                                                            ibv_poll_cq_attr* attributes) {
  auto* cq = object<Cq>(handle);
  if (cq == nullptr || (attributes != nullptr && attributes->comp_mask != 0)) return EINVAL;
  check_process(handle->context, "ibv_start_poll", "CQ", cq->number, poll_caller());
  enter_poll();
  shim::CallReport report(protocol::ReportedCallKind::kStartPoll, cq->number, reinterpret_cast<std::int64_t>(handle));
  cq->session.acquire();
  const protocol::Cqe* next = &cq->ring[cq->consumer & (cq->entries - 1)];
  shim::spend_on_start_poll(shim::costs().poll_empty_ps, handle_of(handle->context), cq->number, shim::arena_offset(next),
                            (cq->consumer >> cq->entries_log) + 1);
  if (take_current(*cq)) return report.ended(0);
  cq->session.release();
  return report.ended(ENOENT);
}

__attribute__((naked)) int start_poll(ibv_cq_ex*, ibv_poll_cq_attr*) { POLL_ENTRY(start_poll, "verbatim_start_poll"); }

int next_poll(ibv_cq_ex* cq) {
  shim::CallReport report(protocol::ReportedCallKind::kNextPoll, cq_of(cq).number, reinterpret_cast<std::int64_t>(cq));
  return report.ended(take_current(cq_of(cq)) ? 0 : ENOENT);
}

void end_poll(ibv_cq_ex* cq) {
  publish_consumer(cq_of(cq));
  cq_of(cq).session.release();
}

ibv_wc_opcode read_opcode(ibv_cq_ex* cq) { return static_cast<ibv_wc_opcode>(current(cq).opcode); }
std::uint32_t read_vendor_err(ibv_cq_ex* cq) { return current(cq).vendor_error; }
std::uint32_t read_byte_len(ibv_cq_ex* cq) { return current(cq).byte_length; }
__be32 read_imm_data(ibv_cq_ex* cq) { return current(cq).is_frame != 0 ? 0 : current(cq).immediate; }
std::uint32_t read_qp_num(ibv_cq_ex* cq) { return current(cq).qpn; }
std::uint32_t read_src_qp(ibv_cq_ex* cq) { return source_qp(current(cq)); }
unsigned read_wc_flags(ibv_cq_ex* cq) { return current(cq).flags; }
std::uint32_t read_slid(ibv_cq_ex* cq) { return current(cq).is_frame != 0 ? 0 : current(cq).source_lid; }
std::uint8_t read_sl(ibv_cq_ex* cq) { return current(cq).service_level; }
std::uint8_t read_dlid_path_bits(ibv_cq_ex* cq) { return current(cq).dlid_path_bits; }
std::uint64_t read_completion_ts(ibv_cq_ex* cq) { return current(cq).timestamp; }

// The adapter's ticks since virtual time 0, added to the wall clock at virtual time 0.
std::uint64_t read_completion_wallclock_ns(ibv_cq_ex* cq) {
  Context* context = context_of(cq->context);
  if (context == nullptr || context->core_clock_khz == 0) return 0;
  auto* region = reinterpret_cast<const protocol::RegionHeader*>(protocol::kRegionAddress);
  auto since_start =
      static_cast<unsigned __int128>(current(cq).timestamp) * 1'000'000u / context->core_clock_khz;
  return static_cast<std::uint64_t>(region->epoch_ns) + static_cast<std::uint64_t>(since_start);
}

// The VLAN tag stripped from the frame, and the tag of the flow rule that matched it; 0 if there is none.
std::uint16_t read_cvlan(ibv_cq_ex* cq) { return current(cq).is_frame != 0 ? current(cq).source_lid : 0; }
std::uint32_t read_flow_tag(ibv_cq_ex* cq) { return current(cq).is_frame != 0 ? current(cq).immediate : 0; }

void read_tm_info(ibv_cq_ex* cq, ibv_wc_tm_info* info) {
  const protocol::Cqe& cqe = current(cq);
  *info = {};
  if (cqe.queue != protocol::CqeQueue::kNone) return;
  info->tag = std::uint64_t{cqe.source_qp} << 32 | cqe.wqe_counter;
  info->priv = cqe.srq_number;
}

}  // namespace

void fill_readers(ibv_cq_ex* cq) {
  cq->start_poll = start_poll;
  cq->next_poll = next_poll;
  cq->end_poll = end_poll;
  cq->read_opcode = read_opcode;
  cq->read_vendor_err = read_vendor_err;
  cq->read_byte_len = read_byte_len;
  cq->read_imm_data = read_imm_data;
  cq->read_qp_num = read_qp_num;
  cq->read_src_qp = read_src_qp;
  cq->read_wc_flags = read_wc_flags;
  cq->read_slid = read_slid;
  cq->read_sl = read_sl;
  cq->read_dlid_path_bits = read_dlid_path_bits;
  cq->read_completion_ts = read_completion_ts;
  cq->read_cvlan = read_cvlan;
  cq->read_flow_tag = read_flow_tag;
  cq->read_tm_info = read_tm_info;
  cq->read_completion_wallclock_ns = read_completion_wallclock_ns;
}

}  // namespace verbatim::verbs
