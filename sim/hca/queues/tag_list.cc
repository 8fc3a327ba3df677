#include "sim/hca/queues/tag_list.h"

#include <endian.h>
#include <infiniband/tm_types.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace verbatim::hca {

namespace {

static_assert(sizeof(ibv_tmh) == TagList::kHeaderBytes);
static_assert(sizeof(ibv_tmh) + sizeof(ibv_rvh) == TagList::kRendezvousBytes);

// None: the message is shorter than a header.
std::optional<ibv_tmh> header_of(std::span<const std::byte> payload) {
  ibv_tmh header;
  if (payload.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, payload.data(), sizeof(header));
  return header;
}

bool has_tag(const std::optional<ibv_tmh>& header) {
  return header && (header->opcode == IBV_TMH_EAGER || header->opcode == IBV_TMH_RNDV);
}

}  // namespace

TagOperation parse_tag_operation(std::span<const std::byte> entry) {
  protocol::TagOperationWqe wqe;
  std::memcpy(&wqe, entry.data(), sizeof(wqe));
  const std::span<const std::byte> rest = entry.subspan(sizeof(wqe));
  TagOperation operation{wqe.wr_id,  wqe.recv_wr_id,       wqe.tag,    wqe.mask,
                         wqe.handle, wqe.unexpected_count, wqe.opcode, wqe.flags};
  if (wqe.opcode > protocol::TagOpcode::kSync || wqe.sge_count > rest.size() / sizeof(protocol::Sge)) {
    operation.malformed = true;
  } else if (wqe.opcode == protocol::TagOpcode::kAdd) {
    operation.sges = ScatterList(rest.data(), wqe.sge_count);
  }
  return operation;
}

ib::WcStatus TagList::execute(TagOperation&& operation) {
  if ((operation.flags & protocol::kTagSync) != 0) {
    dealt_with_ = operation.unexpected_count;
    if (is_synchronized()) {
      for (Entry& entry : entries_) entry.is_enabled = true;
    }
  }
  switch (operation.opcode) {
    case protocol::TagOpcode::kAdd:
      if (entries_.size() >= max_entries_) return ib::WcStatus::kTagMatchingError;
      entries_.push_back({operation.recv_wr_id, operation.tag, operation.mask, operation.handle, is_synchronized(),
                          std::move(operation.sges)});
      return ib::WcStatus::kSuccess;
    case protocol::TagOpcode::kDelete: {
      const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                      [&](const Entry& entry) { return entry.handle == operation.handle; });
      if (entry == entries_.end()) return ib::WcStatus::kTagMatchingError;
      entries_.erase(entry);
      ++left_;
      return ib::WcStatus::kSuccess;
    }
    case protocol::TagOpcode::kSync:
      break;
  }
  return ib::WcStatus::kSuccess;
}

std::optional<RecvWork> TagList::take(std::span<const std::byte> payload, bool ends_message, bool can_read) {
  const std::optional<ibv_tmh> header = header_of(payload);
  if (!has_tag(header)) return std::nullopt;
  const std::uint64_t tag = be64toh(header->tag);
  const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.is_enabled && (tag & entry.mask) == entry.tag;
  });
  if (entry == entries_.end()) return std::nullopt;
  RecvWork work;
  work.wr_id = entry->wr_id;
  TagMatch match{ib::WcOpcode::kTagReceive, ib::kWcTagMatch, true, tag, header->app_ctx, kHeaderBytes, {}};
  if (header->opcode == IBV_TMH_RNDV) {
    ibv_rvh announced;
    if (!ends_message || payload.size() < kRendezvousBytes || payload.size() > kMaxRendezvousBytes) return std::nullopt;
    std::memcpy(&announced, &payload[kHeaderBytes], sizeof(announced));
    const std::uint32_t length = be32toh(announced.len);
    if (can_read && length <= entry->sges.total_bytes()) {
      match.consumed = static_cast<std::uint32_t>(payload.size());
      match.rendezvous = Rendezvous{be64toh(announced.va), be32toh(announced.rkey), length, std::move(entry->sges)};
      work.capacity = match.consumed;
    } else {
      // The program reads the message: the announcement is placed in the tagged receive.
      if (payload.size() > entry->sges.total_bytes()) return std::nullopt;
      match.consumed = 0;
      match.is_incomplete = true;
      match.flags |= ib::kWcTagDataValid;
      work.sges = std::move(entry->sges);
      work.capacity = work.sges.total_bytes();
    }
  } else {
    match.flags |= ib::kWcTagDataValid;
    work.sges = std::move(entry->sges);
    work.capacity = work.sges.total_bytes() + match.consumed;
  }
  work.match = std::make_unique<TagMatch>(std::move(match));
  entries_.erase(entry);
  ++left_;
  return work;
}

TagMatch TagList::take_unmatched(std::span<const std::byte> payload) {
  TagMatch match;
  if (!has_tag(header_of(payload))) return match;
  ++unexpected_;
  match.opcode = ib::WcOpcode::kTagReceive;
  return match;
}

}  // namespace verbatim::hca
