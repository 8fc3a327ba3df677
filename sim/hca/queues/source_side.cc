#include "sim/hca/queues/source_side.h"

#include <cstddef>
#include <limits>

namespace verbatim::hca {

namespace {

ScatterList one_buffer(std::uint32_t length, std::uint32_t key) {
  protocol::Sge sge{};
  sge.length = length;
  sge.lkey = key;
  return ScatterList(reinterpret_cast<const std::byte*>(&sge), 1);
}

protocol::WqeOpcode opcode_of(SourceWork::Operation operation) {
  switch (operation) {
    case SourceWork::Operation::kWrite: return protocol::WqeOpcode::kRdmaWrite;
    case SourceWork::Operation::kSend: return protocol::WqeOpcode::kSend;
    case SourceWork::Operation::kRead: return protocol::WqeOpcode::kRdmaRead;
  }
  CHECK(false);
}

}  // namespace

std::uint32_t SourceSide::fetched_bytes(const HcaProfile& profile) {
  const WqeLayout& layout = profile.wqe_layout;
  return layout.line_bytes == 0 ? ring_entry_bytes() : layout.bytes_in_lines(layout.header_bytes + kScatterBytes);
}

SendWork SourceSide::next_work(std::uint32_t qpn, std::uint32_t number) const {
  const SourceWork wanted = source.next_work(qpn);
  SendWork work;
  work.opcode = opcode_of(wanted.operation);
  work.wr_id = number;
  work.number = number;
  work.length = wanted.length;
  work.flags = protocol::kWqeSignaled;
  work.sges = one_buffer(wanted.length, key);
  if (wanted.operation != SourceWork::Operation::kSend) work.rkey = peer_key;
  return work;
}

RecvWork SourceSide::take_receive() {
  RecvWork work;
  work.number = received++;
  work.wr_id = work.number;
  work.capacity = capacity;
  work.sges = one_buffer(static_cast<std::uint32_t>(capacity), key);
  return work;
}

protocol::QpAttributes attributes_of(const SourcePath& path) {
  protocol::QpAttributes to{};
  to.port_num = 1;
  to.pkey_index = path.pkey_index;
  to.qp_access_flags = SourceSide::kAccess;
  to.path = path.address;
  to.path_mtu = path.mtu;
  to.dest_qp_num = path.peer.number;
  to.rq_psn = to.sq_psn = path.first_psn;
  to.min_rnr_timer = path.min_rnr_timer;
  to.timeout = path.timeout;
  to.retry_cnt = path.retry_cnt;
  to.rnr_retry = path.rnr_retry;
  to.max_rd_atomic = to.max_dest_rd_atomic = path.reads;
  return to;
}

}  // namespace verbatim::hca
