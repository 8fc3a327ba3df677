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

}  // namespace

SendWork SourceSide::next_work(std::uint32_t qpn, std::uint32_t number) const {
  const SourceWork wanted = source.next_work(qpn);
  SendWork work;
  const bool is_write = wanted.operation == SourceWork::Operation::kWrite;
  work.opcode = is_write ? protocol::WqeOpcode::kRdmaWrite : protocol::WqeOpcode::kSend;
  work.wr_id = number;
  work.number = number;
  work.length = wanted.length;
  work.flags = protocol::kWqeSignaled;
  work.sges = one_buffer(wanted.length, key);
  if (is_write) work.rkey = peer_key;
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

}  // namespace verbatim::hca
