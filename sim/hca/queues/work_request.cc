#include "sim/hca/queues/work_request.h"

#include <algorithm>
#include <cstring>

namespace verbatim::hca {

using ib::WcStatus;
using protocol::WqeOpcode;

std::string_view name_of(WqeOpcode opcode) {
  switch (opcode) {
    case WqeOpcode::kSend:
      return "SEND";
    case WqeOpcode::kSendWithImm:
      return "SEND with immediate";
    case WqeOpcode::kSendWithInvalidate:
      return "SEND with invalidate";
    case WqeOpcode::kRdmaWrite:
      return "RDMA WRITE";
    case WqeOpcode::kRdmaWriteWithImm:
      return "RDMA WRITE with immediate";
    case WqeOpcode::kRdmaRead:
      return "RDMA READ";
    case WqeOpcode::kAtomicCompareSwap:
      return "compare and swap";
    case WqeOpcode::kAtomicFetchAdd:
      return "fetch and add";
    case WqeOpcode::kLocalInvalidate:
      return "local invalidate";
    case WqeOpcode::kBindMemoryWindow:
      return "bind memory window";
    case WqeOpcode::kAtomicWrite:
      return "ATOMIC WRITE";
  }
  return "unknown";
}

std::string_view name_of(ib::QpType type) {
  switch (type) {
    case ib::QpType::kUc:
      return "UC";
    case ib::QpType::kUd:
      return "UD";
    case ib::QpType::kRawPacket:
      return "raw packet";
    case ib::QpType::kXrcSend:
    case ib::QpType::kXrcReceive:
      return "XRC";
    default:
      return "RC";
  }
}

SendWork parse_send(std::span<const std::byte> entry, std::uint32_t number) {
  protocol::SendWqe wqe;
  std::memcpy(&wqe, entry.data(), sizeof(wqe));
  const std::span<const std::byte> rest = entry.subspan(sizeof(wqe));

  SendWork work;
  work.wr_id = wqe.wr_id;
  work.remote_va = wqe.remote_va;
  work.compare_add = wqe.compare_add;
  work.swap = wqe.swap;
  work.rkey = wqe.rkey;
  work.immediate = wqe.immediate;
  work.number = number;
  work.address_handle = wqe.address_handle;
  work.remote_qpn = wqe.remote_qpn & 0xffffff;
  work.remote_qkey = wqe.remote_qkey;
  work.remote_srqn = wqe.remote_srqn & 0xffffff;
  work.opcode = wqe.opcode;
  work.flags = wqe.flags;
  if (wqe.opcode > WqeOpcode::kAtomicWrite) {
    work.opcode = WqeOpcode::kSend;
    work.fault = WcStatus::kLocalQpOperationError;
    return work;
  }
  if (work.is_local()) return work;
  if (work.is_atomic_write()) {
    work.length = sizeof(work.swap);
    work.inline_data = ib::PayloadBuffer::copy_of(std::as_bytes(std::span(&work.swap, 1)));
    return work;
  }
  if (work.is_inline()) {
    if (wqe.inline_length > rest.size()) {
      work.fault = WcStatus::kLocalQpOperationError;
      return work;
    }
    work.length = wqe.inline_length;
    if (work.length > 0) work.inline_data = ib::PayloadBuffer::copy_of(rest.first(work.length));
    return work;
  }
  if (wqe.sge_count > rest.size() / sizeof(protocol::Sge)) {
    work.fault = WcStatus::kLocalQpOperationError;
    return work;
  }
  work.sges = ScatterList(rest.data(), wqe.sge_count);
  const std::uint64_t total = work.sges.total_bytes();
  if (total > UINT32_MAX) {
    work.fault = WcStatus::kLocalLengthError;
    return work;
  }
  work.length = static_cast<std::uint32_t>(total);
  return work;
}

std::uint32_t send_data_bytes(std::span<const std::byte> entry) {
  protocol::SendWqe wqe;
  std::memcpy(&wqe, entry.data(), sizeof(wqe));
  const std::uint64_t bytes =
      (wqe.flags & protocol::kWqeInline) != 0 ? wqe.inline_length : wqe.sge_count * sizeof(protocol::Sge);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, entry.size() - sizeof(wqe)));
}

std::optional<std::uint32_t> inline_bytes(std::span<const std::byte> entry) {
  protocol::SendWqe wqe;
  std::memcpy(&wqe, entry.data(), sizeof(wqe));
  if ((wqe.flags & protocol::kWqeInline) == 0) return std::nullopt;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(wqe.inline_length, entry.size() - sizeof(wqe)));
}

std::uint32_t recv_data_bytes(std::span<const std::byte> entry) {
  protocol::RecvWqe wqe;
  std::memcpy(&wqe, entry.data(), sizeof(wqe));
  const std::size_t room = (entry.size() - sizeof(wqe)) / sizeof(protocol::Sge);
  const std::size_t count = std::max<std::size_t>(1, std::min<std::size_t>(wqe.sge_count, room));
  return static_cast<std::uint32_t>(count * sizeof(protocol::Sge));
}

RecvWork parse_recv(std::span<const std::byte> entry, std::uint32_t number) {
  protocol::RecvWqe wqe;
  std::memcpy(&wqe, entry.data(), sizeof(wqe));
  const std::span<const std::byte> rest = entry.subspan(sizeof(wqe));
  RecvWork work;
  work.wr_id = wqe.wr_id;
  work.posted_ps = wqe.posted_ps;
  work.number = number;
  if (wqe.sge_count > rest.size() / sizeof(protocol::Sge)) {
    work.malformed = true;
    return work;
  }
  work.sges = ScatterList(rest.data(), wqe.sge_count);
  work.capacity = work.sges.total_bytes();
  return work;
}

}  // namespace verbatim::hca
